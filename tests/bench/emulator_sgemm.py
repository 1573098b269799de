"""How fast the emulator is: 256^3 tiled SGEMM, plain and under the race check, as one JSON line (milliseconds, best and median of 9).

Run it with `python tests/bench/emulator_sgemm.py`; the goal for `plain` is at most 150 ms.
"""

from __future__ import annotations

import json
import statistics
import struct
import time
from pathlib import Path

import numpy as np

from runners.device import BoundLaunch
from runners.emulator import build_and_load, races
from runners.host_device import HostDevice

SOURCE = Path(__file__).resolve().parents[1] / "data" / "emulator" / "sgemm.cu"
N = 256


def main() -> None:
    a, b = np.random.default_rng(1).standard_normal((2, N, N), dtype=np.float32)
    c = np.zeros((N, N), np.float32)
    args = tuple(struct.pack("<Q", array.ctypes.data) for array in (a, b, c)) + (struct.pack("<i", N),) * 3
    device, report = HostDevice(seed=1), {}
    for name, watched in (("plain", False), ("race_check", True)):
        library = build_and_load(SOURCE, block=256, instrument=watched).library
        launch = BoundLaunch(library, "sgemm", (N // 16, N // 16, 1), (16, 16, 1), 0, args)
        times = [_milliseconds(device, launch, watched) for _ in range(9 if not watched else 1)]
        report[name] = {"best": round(min(times), 1), "median": round(statistics.median(times), 1)}
    report["numpy"] = {"largest_difference": float(np.abs(c - a @ b).max())}
    print(json.dumps(report))


def _milliseconds(device: HostDevice, launch: BoundLaunch, watched: bool) -> float:
    began = time.perf_counter()
    if watched:
        assert races.check(device, [launch]) == ()
    else:
        device.run([launch])
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()

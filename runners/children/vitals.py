"""Outside the sandbox and without a repository's code: says how one card is, as JSON on stdout."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from runners import machine
from runners.machine import Card
from runners.vitals import Vitals

DRM = Path("/sys/class/drm")
KFD_PROCESSES = Path("/sys/class/kfd/kfd/proc")


def main(device: str) -> None:
    card = machine.find(device)
    print(json.dumps(asdict(amd(card) if device.startswith("hip") else nvidia(card))))


def nvidia(card: Card) -> Vitals:
    """From NVML; nothing is known where its library or the card's address is not to be had."""
    if not card.bus:
        return Vitals()
    import pynvml

    from runners.watch_nvidia import NvidiaWatcher

    try:
        watcher = NvidiaWatcher(card.bus)
        watcher.begin()
        (sample,) = watcher.samples
        used = None if sample.vram_mib is None else int(sample.vram_mib * 2**20)
        major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(watcher.card)
        return Vitals(used, tuple(map(str, watcher.processes())), tuple(sorted(sample.reasons)), f"sm_{major}{minor}")
    except pynvml.NVMLError:
        return Vitals()


def amd(card: Card, drm: Path = DRM, processes: Path = KFD_PROCESSES) -> Vitals:
    """From the kernel's own files: memory in use, and processes that hold some of it."""
    used = _number(drm / f"renderD{card.minor}" / "device" / "mem_info_vram_used")
    holders = sorted(file.parent.name for file in processes.glob(f"*/vram_{card.gpu_id}") if _number(file))
    return Vitals(used, tuple(f"process {name}" for name in holders))


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


if __name__ == "__main__":
    main(sys.argv[1])

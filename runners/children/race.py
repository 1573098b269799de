"""In the sandbox: runs one side's cases as instrumented code on the emulator; tells what its shadow memory found and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kernels import storage
from kernels.spec import Buffer, Plan, read
from runners.children.channel import Channel
from runners.children.frame import Bound, Frame, arenas, frame_bytes, scratch_bytes
from runners.children.patience import answer_each
from runners.device import BoundLaunch
from runners.emulator import counts, races
from runners.host_device import HostDevice
from runners.protocol import Count, Race


def main() -> None:
    channel = Channel()
    device = HostDevice()
    answer_each(channel, lambda item: told(*check_case(device, item)))


def told(races: tuple[Race, ...], counted: tuple[Count, ...] | None) -> dict[str, Any]:
    """What was found and counted as an answer."""
    return {"races": [asdict(race) for race in races], "counts": None if counted is None else [asdict(count) for count in counted]}


def check_case(device: HostDevice, item: Mapping[str, Any]) -> tuple[tuple[Race, ...], tuple[Count, ...] | None]:
    """All launches of one case, in order, with each of the asked wave sizes until something is found; the first is counted."""
    buffers, plan = read(tuple[Buffer, ...], item["buffers"], "buffers"), read(Plan, item["plan"], "plan")
    modules = {name: device.load(Path(path)) for name, path in item["modules"].items()}
    arena, scratch = arenas(device, frame_bytes(buffers, [plan]), scratch_bytes(plan))
    frame = Frame(arena, buffers)
    frame.place(storage.draw_all(buffers, item["seed"]))
    bound = Bound(frame, scratch, plan, modules)
    runs = []
    for wave in item["waves"]:
        device.device = replace(device.device, wave=wave)
        frame.fill()
        bound.fill()
        runs.append(_run(device, [*bound.launches("prepare"), *bound.launches("run")]))
        if runs[-1][0]:
            break
    device.release()
    return runs[-1][0], runs[0][1]


def _run(device: HostDevice, launches: list[BoundLaunch]) -> tuple[tuple[Race, ...], tuple[Count, ...] | None]:
    """What was found and counted; no counts if one of the launches could not be counted."""
    counted: list[tuple[Count, ...] | None] = []
    found = races.check(device, launches, lambda library: counted.append(counts.take(library)))
    known = [launch for launch in counted if launch is not None]
    return found, counts.added(count for launch in known for count in launch) if len(known) == len(launches) else None


if __name__ == "__main__":
    main()

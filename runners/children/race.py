"""In the sandbox: runs one side's cases as instrumented code on the emulator; tells what its shadow memory found and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kernels import storage
from kernels.spec import Buffer, Plan, read
from runners.children.channel import Channel
from runners.children.frame import Arena, Bound, Frame, frame_bytes, scratch_bytes
from runners.children.patience import at_most
from runners.device import BoundLaunch, LaunchError
from runners.emulator import counts, races
from runners.host_device import HostDevice
from runners.protocol import Count, Race


def main() -> None:
    channel = Channel()
    device = HostDevice()
    for item in channel.request["items"]:
        channel.say(start=item["index"])
        with at_most(channel.request["patience"]):
            try:
                found, counted = check_case(device, item)
            except LaunchError as error:
                channel.say(index=item["index"], **{error.told_as: str(error)})
                return
        told = None if counted is None else [asdict(count) for count in counted]
        channel.say(index=item["index"], races=[asdict(race) for race in found], counts=told)


def check_case(device: HostDevice, item: Mapping[str, Any]) -> tuple[tuple[Race, ...], tuple[Count, ...] | None]:
    """All launches of one case, in order, with each of the asked wave sizes until something is found; the first is counted."""
    buffers, plan = read(tuple[Buffer, ...], item["buffers"], "buffers"), read(Plan, item["plan"], "plan")
    modules = {name: device.load(Path(path)) for name, path in item["modules"].items()}
    frame = Frame(Arena(device, frame_bytes(buffers, [plan])), buffers)
    frame.place(storage.draw_all(buffers, item["seed"]))
    bound = Bound(frame, Arena(device, scratch_bytes(plan)), plan, modules)
    runs = []
    for wave in item["waves"]:
        device.device = replace(device.device, wave=wave)
        frame.fill()
        bound.fill()
        runs.append(_run(device, [*bound.launches("prepare"), *bound.launches("run")]))
        if runs[-1][0]:
            break
    return runs[-1][0], runs[0][1]


def _run(device: HostDevice, launches: list[BoundLaunch]) -> tuple[tuple[Race, ...], tuple[Count, ...] | None]:
    """What was found and counted; no counts if one of the launches could not be counted."""
    counted: list[tuple[Count, ...] | None] = []
    found = races.check(device, launches, lambda library: counted.append(counts.take(library)))
    known = [launch for launch in counted if launch is not None]
    return found, counts.added(count for launch in known for count in launch) if len(known) == len(launches) else None


if __name__ == "__main__":
    main()

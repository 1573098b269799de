"""What a device can do at least, measured by loops of ours: once for each device, driver and compiler, then kept with the date."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import platform
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from runners import cache
from runners.accuracy import device_limits
from runners.answers import Reached, answer_of
from runners.child import Room, ask
from runners.children.roofline import BLOCK
from runners.probing import compile_own
from runners.protocol import NodeInfo, ProtocolError, Roofline, dump, load
from runners.telemetry import disturbance
from runners.toolchains import CompileError
from runners.vitals import Unfit

KIND = "roofline"
SECONDS = 60.0
EXTRA = ("psutil",)
log = logging.getLogger(__name__)


def roofline(device: str, info: NodeInfo, room: Room, work: Path) -> Roofline | None:
    """The kept one, else a measured one; None where the device was disturbed each time or gave no answer."""
    name = f"{_key(device, info)}.json"
    with contextlib.suppress(ProtocolError):
        return load(Roofline, cache.read(KIND, name) or b"")
    try:
        found = measure(device, info, room, compile_own("roofline", BLOCK, info.target, work / "roofline").path)
    except (CompileError, Unfit) as error:
        log.warning("%s: no roofline: %s", device, error)
        return None
    with contextlib.suppress(OSError):  # a cache that can't be written costs time only
        cache.write(KIND, name, dump(found))
    return found


def measure(device: str, info: NodeInfo, room: Room, code: Path) -> Roofline:
    """What our loops reach now; raises Unfit where the device is disturbed or gives no answer, twice."""
    try:
        return _measure(device, info, room, code)
    except Unfit:
        return _measure(device, info, room, code)


def _measure(device: str, info: NodeInfo, room: Room, code: Path) -> Roofline:
    request = {"device": room.device, "code": f"/code/{code.name}"}
    mounts, limits = {"/code": code.parent}, device_limits(device, [SECONDS])
    reply = ask("roofline", request, room, read=mounts, limits=limits, extra=EXTRA, on_device=True)
    said = answer_of(Reached, reply.lines[0]) if reply.lines else Reached(crashed=reply.trouble or "no answer")
    if why := said.trouble or disturbance(said.telemetry):
        raise Unfit(why)
    return Roofline(said.f32, said.f16, said.read, said.copy, said.cached, info.driver, datetime.now(UTC).date().isoformat())


def _key(device: str, info: NodeInfo) -> str:
    """Which device of which machine, through what; and the loops themselves."""
    loops = [files("runners.children").joinpath(f"roofline.{kind}").read_bytes() for kind in ("cu", "py")]
    parts = (platform.node(), device, info.device, info.target, info.backend, info.driver, info.toolchain, loops)
    return hashlib.sha256(repr(parts).encode()).hexdigest()

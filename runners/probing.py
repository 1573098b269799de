"""Whether a device is fit for a job: it opens, is what it was, is idle, and answers a question whose answer is known."""

from __future__ import annotations

import hashlib
import shutil
import threading
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np

from kernels.spec import Build, Device, read
from runners import machine, sandbox, toolchains, vitals
from runners.accuracy import device_limits
from runners.answers import Probed
from runners.child import ask
from runners.children.probe import BLOCK, WORDS
from runners.protocol import NodeInfo
from runners.room import room_for
from runners.sandbox import SandboxError
from runners.toolchains import CodeObject, CompileError, CompileRequest, ToolchainMissing
from runners.vitals import Unfit

SECONDS = 50.0
PAGEABLE = (
    "kernels could read the host's pageable memory: write `options nvidia_uvm uvm_disable_hmm=1` to "
    "/etc/modprobe.d/kernelgate.conf and load the module anew"
)
FOLDER = "kernels"


def probe(device: str, stop: threading.Event, node: str = "local") -> tuple[NodeInfo, Device]:
    """What the device is, asked in a throw-away process; SandboxError where it can't be opened."""
    said = _opened(device, stop)
    return _info(device, said, node), said.device


def _opened(device: str, stop: threading.Event, known: Path | None = None) -> Probed:
    room = room_for(device, stop)
    request = {"device": room.device, "known": f"/known/{known.name}" if known else ""}
    mounts = {"/known": known.parent} if known else {}
    reply = ask("probe", request, room, read=mounts, limits=device_limits(device, [SECONDS]), on_device=True)
    if not reply.lines:
        raise SandboxError(f"the device {device} can't be opened: {reply.trouble or 'no answer'}")
    try:
        return read(Probed, dict(reply.lines[0]))
    except ValueError as error:
        raise SandboxError(f"the device {device} can't be opened: {error}") from error


def _info(device: str, said: Probed, node: str) -> NodeInfo:
    try:
        compiler = toolchains.for_target(said.device.target).version()
    except ValueError as error:  # a target that nothing compiles for
        raise SandboxError(f"the device {device} can't be opened: {error}") from error
    return NodeInfo(node, said.device.name, said.device.target, said.backend, said.driver, compiler, version("kernelgate"))


@dataclass
class Prober:
    """Of one device; remembers what it was the first time. `state` is where our own kernel is compiled, once."""

    device: str
    node: str
    state: Path
    idle_bytes: int | None = None
    _first: Probed | None = None
    _known: Path | None = None

    def check(self, stop: threading.Event) -> tuple[NodeInfo, Probed]:
        """What it is, if it is fit; raises Unfit."""
        try:
            return self._check(stop)
        except (SandboxError, ToolchainMissing, CompileError, OSError) as error:
            raise Unfit(str(error)) from error

    def _check(self, stop: threading.Event) -> tuple[NodeInfo, Probed]:
        if left := sandbox.survivors():
            raise Unfit(f"processes of an earlier job hang in the kernel: {', '.join(map(str, left))}")
        self._idle()
        said = _opened(self.device, stop, self._known)
        info = _info(self.device, said, self.node)
        if self._known is None:
            self._known = compile_known(said.device.target, self.state / "known")
            said = _opened(self.device, stop, self._known)
        self._judge(said)
        return info, said

    def _idle(self) -> None:
        found = vitals.look(self.device)
        if found.used_bytes is not None:
            self.idle_bytes = min(found.used_bytes, self.idle_bytes or found.used_bytes)
        if why := vitals.complaint(found, self.idle_bytes):
            raise Unfit(why)

    def _judge(self, said: Probed) -> None:
        self._first = self._first or said
        is_now, was, listed = said.device.target, self._first.device.target, machine.find(self.device).target
        if is_now != (listed or was) or is_now != was:
            raise Unfit(f"the card says it is {is_now}, and was {listed or was}")
        if said.pageable:
            raise Unfit(PAGEABLE)
        if said.known != expected():
            raise Unfit("the card gives a wrong answer to a kernel whose answer is known")


def compile_known(target: str, place: Path) -> Path:
    """The code object of the kernel whose answer is known."""
    return compile_own("known", BLOCK, target, place).path


def compile_own(name: str, block: int, target: str, place: Path) -> CodeObject:
    """A kernel of our own beside the children, compiled afresh below `place`."""
    shutil.rmtree(place, ignore_errors=True)
    source, out = place / "src" / FOLDER / name, place / "out"
    for folder in (source, out):
        folder.mkdir(parents=True)
    (source / f"{name}.cu").write_bytes(files("runners.children").joinpath(f"{name}.cu").read_bytes())
    request = CompileRequest(place / "src", f"{FOLDER}/{name}", Build(f"{name}.cu", block), target, out)
    return toolchains.for_target(target).compile(request)


def expected() -> str:
    """What `known.cu` has to leave, by NumPy: every step of it is exact in 32 bits."""
    x = np.arange(WORDS, dtype=np.uint32) * np.uint32(1664525) + np.uint32(1013904223)
    row = x ^ ((x >> np.uint32(12)).astype(np.float32) * np.float32(0.5) + np.float32(1)).astype(np.uint32)
    return hashlib.sha256(row.reshape(-1, BLOCK)[:, ::-1].astype("<u4").tobytes()).hexdigest()

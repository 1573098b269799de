"""A host code object in this process: launches a kernel's grid and says why it could not end."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from runners.emulator import description

MAX_THREADS = 1024
MAX_GROUPS = 8


class Status(IntEnum):
    """Mirrors runtime.h."""

    DONE = 0
    DEADLOCK = 1
    NO_MEMORY = 2
    STUCK = 3


class Wait(IntEnum):
    NONE = 0
    BARRIER = 1
    WARP = 2
    RUNNING = 4


class _Range(ctypes.Structure):
    _fields_ = [("begin", ctypes.c_uint64), ("size", ctypes.c_uint64)]


class _Group(ctypes.Structure):
    _fields_ = [("site", ctypes.c_uint64), *((name, ctypes.c_int32) for name in ("wait", "threads", "first_thread", "reserved"))]


class _Request(ctypes.Structure):
    """Mirrors LaunchRequest of runtime.h."""

    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("wave", ctypes.c_uint32),
        ("dynamic_shared", ctypes.c_uint32),
        ("shared_count", ctypes.c_uint32),
        ("argument_count", ctypes.c_uint32),
        ("seed", ctypes.c_uint64),
        ("kernel", ctypes.c_uint64),
        ("shared", ctypes.POINTER(_Range)),
        ("arguments", ctypes.POINTER(ctypes.c_uint64)),
        ("is_float", ctypes.POINTER(ctypes.c_uint8)),
        ("kept", ctypes.POINTER(_Range)),
        ("kept_count", ctypes.c_uint64),
        ("block_index", ctypes.c_uint32 * 3),
        ("group_count", ctypes.c_int32),
        ("groups", _Group * MAX_GROUPS),
    ]


@dataclass(frozen=True)
class Waiting:
    """Threads that wait for others at one call; `site` is its return address in the file."""

    site: int
    wait: Wait
    threads: int
    first_thread: int


@dataclass(frozen=True)
class Stopped:
    """Why a launch ended before its end."""

    status: Status
    block: tuple[int, int, int]
    waiting: tuple[Waiting, ...]


@dataclass(frozen=True)
class Call:
    """One launch of one kernel; `arguments` are the packed bytes of each, as the plan's order has them."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[bytes, ...]
    dynamic_shared: int = 0
    wave: int = 32
    seed: int = 0


class Library:
    """One loaded code object; two of the same name share nothing, since the runtime is inside each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.description = description.read(path)
        self.kernels = {kernel.name: kernel for kernel in self.description.kernels}
        self.handle = ctypes.CDLL(str(path))
        self.anchor = ctypes.cast(self.handle.kg_emu_anchor, ctypes.c_void_p).value or 0
        self.load_bias = self.anchor - self.description.anchor
        self._prepared: dict[Call, tuple[_Request, tuple[object, ...]]] = {}

    def launch(self, call: Call) -> Stopped | None:
        """Run the whole grid; None when every thread returned."""
        if call not in self._prepared:
            self._prepared[call] = self._request(call)
        request, _ = self._prepared[call]
        request.group_count = 0
        status = Status(self.handle.kg_emu_launch(ctypes.byref(request)))
        return None if status is Status.DONE else self._stopped(status, request)

    def ranges(self, kernel: str) -> Sequence[_Range]:
        """The kernel's static shared variables in this process."""
        return self._placed(self.kernels[kernel].shared)

    def _placed(self, variables: Sequence[description.Variable]) -> list[_Range]:
        return [_Range(self.anchor + variable.offset, variable.bytes) for variable in variables]

    def _request(self, call: Call) -> tuple[_Request, tuple[object, ...]]:
        """The C structure and what it points to, which must live as long."""
        kernel, ranges, count = self.kernels[call.kernel], self.ranges(call.kernel), len(call.arguments)
        shared = (_Range * max(len(ranges), 1))(*ranges)
        kept = self._placed(self.description.kept)
        globals_ = (_Range * max(len(kept), 1))(*kept)
        arguments = (ctypes.c_uint64 * max(count, 1))(*(int.from_bytes(value, "little") for value in call.arguments))
        floats = (ctypes.c_uint8 * max(count, 1))(*(parameter.is_float for parameter in kernel.parameters))
        address = ctypes.cast(self.handle[call.kernel], ctypes.c_void_p).value or 0
        three = ctypes.c_uint32 * 3
        sizes = (three(*call.grid), three(*call.block), call.wave, call.dynamic_shared, len(ranges), count)
        request = _Request(*sizes, call.seed, address, shared, arguments, floats, globals_, len(kept))
        return request, (shared, arguments, floats, globals_)

    def _stopped(self, status: Status, request: _Request) -> Stopped:
        groups = request.groups[: request.group_count]
        waiting = tuple(Waiting(g.site - self.load_bias, Wait(g.wait), g.threads, g.first_thread) for g in groups)
        x, y, z = request.block_index
        return Stopped(status, (x, y, z), waiting)

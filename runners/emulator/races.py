"""The race check: launches of instrumented code objects, and what their shadow memory found, line by line."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from runners.device import BoundLaunch
from runners.emulator.library import Call, Library, Status
from runners.emulator.lines import Lines, Place, describe_stop, first_place
from runners.host_device import HostDevice, launch_error
from runners.protocol import Race

MAX_FINDINGS = 64
RED_ZONE = 256  # what the toolchain leaves behind each shared variable of an instrumented build


class Fault(IntEnum):
    """Mirrors shadow.h; UNLIKE_MEETING is a warning, all others are findings."""

    READ_AFTER_WRITE = 1
    WRITE_AFTER_READ = 2
    WRITE_WRITE = 3
    OUT_OF_BOUNDS = 4
    UNINITIALISED = 5
    INACTIVE_LANE = 6
    UNLIKE_MEETING = 7
    MISALIGNED = 8


@dataclass(frozen=True)
class Finding:
    """One pair of source lines at fault; `variable` is the shared variable, `other` the access it collides with."""

    fault: Fault
    place: Place
    variable: str
    thread: int
    other: Place | None
    other_thread: int
    block: tuple[int, int, int]


class _Finding(ctypes.Structure):
    """Mirrors Finding of shadow.h."""

    _fields_ = [
        *((name, ctypes.c_int32) for name in ("fault", "thread", "other_thread", "times")),
        *((name, ctypes.c_uint64) for name in ("site", "other_site", "address")),
        ("block", ctypes.c_uint32 * 3),
        ("reserved", ctypes.c_uint32),
    ]


COLLISIONS = frozenset({Fault.READ_AFTER_WRITE, Fault.WRITE_AFTER_READ, Fault.WRITE_WRITE})
SAYS = {
    Fault.WRITE_WRITE: "thread {thread} writes {variable} where thread {other_thread} wrote at {other}, with no barrier between",
    Fault.READ_AFTER_WRITE: "thread {thread} reads {variable} where thread {other_thread} wrote at {other}, with no barrier between",
    Fault.WRITE_AFTER_READ: "thread {thread} writes {variable} where thread {other_thread} read at {other}, with no barrier between",
    Fault.OUT_OF_BOUNDS: "thread {thread} reaches outside {variable}",
    Fault.UNINITIALISED: "thread {thread} reads {variable} where its block has not written",
    Fault.INACTIVE_LANE: "thread {thread} takes a value from a lane that has ended or does not exist",
    Fault.MISALIGNED: "thread {thread} reads or writes several elements at once at an address that is not aligned to them",
    Fault.UNLIKE_MEETING: "threads meet at this line and at {other}",
}


def check(device: HostDevice, launches: Sequence[BoundLaunch], ran: Callable[[Library], object] = lambda _: None) -> tuple[Race, ...]:
    """Run `launches`, whose modules were built with `instrument`, in order; one Race per line and fault, collisions first.

    A launch that does not end is a Race too; `ran` is told of each that does. Raises OutOfMemory.
    """
    found: list[Finding] = []
    stop: list[Race] = []
    for launch in launches:
        library, call = device.bind(launch)
        stopped = library.launch(call)
        if stopped is not None and stopped.status is Status.NO_MEMORY:
            raise launch_error(library, call, stopped)
        found += findings(library, call)
        if stopped is not None:
            place = first_place(library.path, stopped)
            stop = [Race(place.file, place.line, describe_stop(library.path, call.kernel, stopped))]
            break
        ran(library)
    return (*_races(found), *stop)


def _races(found: Sequence[Finding]) -> tuple[Race, ...]:
    """Warnings left out, and an unwritten byte too where the line's collision already explains it."""
    colliding = {finding.place for finding in found if finding.fault in COLLISIONS}
    races: dict[tuple[Place, Fault], Race] = {}
    for finding in sorted(found, key=lambda finding: finding.fault):
        explained = finding.fault is Fault.UNINITIALISED and finding.place in colliding
        if finding.fault is not Fault.UNLIKE_MEETING and not explained:
            races.setdefault((finding.place, finding.fault), _race(finding))
    return tuple(races.values())


def findings(library: Library, call: Call) -> tuple[Finding, ...]:
    """What the last launch of an instrumented library was seen to do, warnings included."""
    raw = tuple(_take(library))
    lines = Lines(library.path) if raw else None
    made = [_finding(library, call, lines, item) for item in raw if lines is not None]
    return tuple(f for f in made if f.fault is not Fault.UNLIKE_MEETING or f.place != f.other)


def _take(library: Library) -> Iterator[_Finding]:
    room = (_Finding * MAX_FINDINGS)()
    count = library.handle.kg_emu_take_findings(room, MAX_FINDINGS)
    yield from room[:count]


def _finding(library: Library, call: Call, lines: Lines, raw: _Finding) -> Finding:
    place = lines.place(raw.site - library.load_bias)
    other = lines.place(raw.other_site - library.load_bias) if raw.other_site else None
    x, y, z = raw.block
    return Finding(Fault(raw.fault), place, _variable(library, call, raw.address), raw.thread, other, raw.other_thread, (x, y, z))


def _variable(library: Library, call: Call, address: int) -> str:
    """The shared variable at `address`, or the one before it: an overrun is the neighbour's."""
    offset = address - library.anchor
    before = [v for v in library.kernels[call.kernel].shared if v.offset <= offset < v.offset + v.bytes + RED_ZONE]
    return max(before, key=lambda v: v.offset).name if before else "the dynamic shared memory"


def _race(finding: Finding) -> Race:
    threads = {"thread": finding.thread, "other_thread": finding.other_thread}
    says = SAYS[finding.fault].format(variable=finding.variable, other=finding.other, **threads)
    return Race(finding.place.file, finding.place.line, f"{says} (block {finding.block})")

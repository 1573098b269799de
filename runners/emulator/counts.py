"""Counts per source line of an instrumented launch: bank conflicts, 32-byte sectors, barriers and shuffles."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from runners.emulator.library import Library
from runners.emulator.lines import Lines
from runners.protocol import BANK_MODELS, Access, Count

MOST_SITES = 1024
CODES = dict(enumerate(Access, 1))  # mirrors Access of counts.h


class _Counted(ctypes.Structure):
    """Mirrors Counted of counts.h."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("site", "times", "sectors", "worst_sectors")),
        *((name, ctypes.c_uint64 * len(BANK_MODELS)) for name in ("lost", "ways")),
        ("access", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


def take(library: Library) -> tuple[Count, ...] | None:
    """The last launch's counts by line; None if there is no room for them all.

    Of a long stretch between two meetings only a thread's first 32,768 events are counted.
    """
    room = (_Counted * MOST_SITES)()
    found = library.handle.kg_emu_take_counts(room, MOST_SITES)
    if found < 0:
        return None
    lines = _lines(library.path)
    return added(_count(library, lines, item) for item in room[:found] if item.times)


@lru_cache(maxsize=16)
def _lines(path: Path) -> Lines:
    """Of a code object, which never changes: reading them takes longer than a small launch."""
    return Lines(path)


def added(counts: Iterable[Count]) -> tuple[Count, ...]:
    """One count per line and kind of access, in the order of the source."""
    sums: dict[tuple[str, int, Access], Count] = {}
    for count in counts:
        key = (count.file, count.line, count.access)
        sums[key] = sums[key].plus(count) if key in sums else count
    return tuple(sums[key] for key in sorted(sums))


def _count(library: Library, lines: Lines, item: _Counted) -> Count:
    place = lines.place(item.site - library.load_bias)
    figures = (item.times, item.sectors, item.worst_sectors, tuple(item.lost), tuple(item.ways))
    return Count(place.file, place.line, CODES[item.access], *figures)

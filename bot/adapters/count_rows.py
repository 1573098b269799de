"""Rows of what the emulator counted, as far as head changed it: per kernel and kind of access, and line by line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pydantic import TypeAdapter, ValidationError

from bot.adapters.inert import code
from bot.core.report import CaseReport
from runners.protocol import Access, Count, CountPair, SourceCounts

SOURCE = "source"  # the key of a case's counts
SHARED = (Access.SHARED_LOAD, Access.SHARED_STORE)
GLOBAL = (Access.GLOBAL_LOAD, Access.GLOBAL_STORE)
Row = tuple[str, ...]
Key = tuple[str, int, str, int, Access]


def kernel_rows(cases: Iterable[CaseReport]) -> Iterable[Row]:
    """(kernel, access, base, head, worst line of base, of head) where a kernel's cases together count differently."""
    pairs = _pairs(cases)
    for kernel, access in sorted({(kernel, _access(pair)) for kernel, pair in pairs}):
        mine = [pair for name, pair in pairs if name == kernel and _access(pair) is access]
        base, head = ([count for count in side if count] for side in zip(*((p.base, p.head) for p in mine), strict=True))
        old, new = _told(base), _told(head)
        if old != new:
            yield code(kernel), access.value, old, new, _worst(base), _worst(head)


def line_rows(cases: Iterable[CaseReport]) -> Iterable[Row]:
    """(line of base, line of head, access, base, head) of every line that counts differently, summed over the cases."""
    lines: dict[Key, CountPair] = {}
    for _, pair in _pairs(cases):
        key = _key(pair)
        lines[key] = _added(lines[key], pair) if key in lines else pair
    for _, pair in sorted(lines.items()):
        old, new = _told([pair.base] if pair.base else []), _told([pair.head] if pair.head else [])
        if old != new:
            yield _place(pair.base), _place(pair.head), _access(pair).value, old, new


def _pairs(cases: Iterable[CaseReport]) -> list[tuple[str, CountPair]]:
    found = []
    for case in cases:
        try:
            counts = TypeAdapter(SourceCounts).validate_python(case.counts.get(SOURCE) or {"compiler": "", "lines": ()})
        except ValidationError:  # of a node with another harness
            continue
        found += [(case.kernel, pair) for pair in counts.lines if pair.base or pair.head]
    return found


def _told(counts: Sequence[Count]) -> str:
    """The figures of one side; bank models one after another where they differ."""
    if not counts:
        return "–"
    count = reduce(Count.plus, counts)
    if count.access in SHARED:
        return f"{_models(count.ways)}-way, {_models(count.lost)} cycles lost in {count.times}"
    if count.access in GLOBAL:
        return f"{count.sectors} sectors in {count.times}, at most {count.worst_sectors}"
    return str(count.times)


def _models(values: tuple[int, ...]) -> str:
    return str(values[0]) if len(set(values)) == 1 else "/".join(map(str, values))


def _worst(counts: Sequence[Count]) -> str:
    """Where most cycles or sectors go."""
    return _place(max(counts, key=lambda count: (max(count.ways), max(count.lost), count.sectors, count.times), default=None))


def _place(count: Count | None) -> str:
    return code(f"{count.file}:{count.line}") if count else "–"


def _access(pair: CountPair) -> Access:
    known = pair.head or pair.base
    assert known is not None
    return known.access


def _key(pair: CountPair) -> Key:
    head, base = pair.head, pair.base
    first = (head.file, head.line) if head else ("", 0)
    return (*first, *((base.file, base.line) if base else ("", 0)), _access(pair))


def _added(one: CountPair, other: CountPair) -> CountPair:
    return CountPair(_both(one.base, other.base), _both(one.head, other.head))


def _both(one: Count | None, other: Count | None) -> Count | None:
    return one.plus(other) if one and other else one or other

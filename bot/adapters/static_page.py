"""The static gate as one HTML page: figures of both sides, and the difference of their listings folded below each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff

from bot.adapters import rendering
from bot.core.report import StaticReport
from bot.core.static_gate import compare, pairs
from runners.protocol import KernelResources, StaticEntry

MOST_LINES = 2000  # of one row's difference
TAGS = {"+": "ins", "-": "del", "@": "em"}
HEADERS = (
    "Target", "Kernel", "Row", "Registers", "Shared", "Spill / local", "Blocks / waves", "Limiter", "Code bytes", "Instructions",
    "Compile s", "Verdict", "Change",
)  # fmt: skip

Listing = Callable[[str], Sequence[str] | None]  # of a code hash
Line = tuple[str, str]  # HTML tag and text


@dataclass(frozen=True)
class Row:
    """One row of the page; `diff` is None where a side has no listing, `cut` counts the lines left out of it."""

    cells: tuple[str, ...]
    title: str
    change: str
    log: str
    same: bool
    diff: tuple[Line, ...] | None = ()
    cut: int = 0


def page(entries: Sequence[StaticEntry], listing: Listing) -> str:
    """A page that needs nothing else."""
    rows = [_row(base, head, report, listing) for (base, head), report in zip(pairs(entries), compare(entries), strict=True)]
    return rendering.static_page(HEADERS, rows)


def cells(report: StaticReport, base: KernelResources | None = None) -> tuple[str, ...]:
    """A row of a table under HEADERS, with base's figures where they differ."""
    return (
        report.target,
        report.kernel,
        report.row,
        _both(base, report, lambda one: str(one.registers)),
        _both(base, report, lambda one: str(one.static_shared + one.dynamic_shared)),
        _both(base, report, lambda one: f"{one.spill_bytes} / {one.local_bytes}"),
        _both(base, report, lambda one: f"{one.blocks_per_unit} / {one.waves_per_simd}"),
        report.limiter,
        _both(base, report, lambda one: str(one.code_bytes)),
        _both(base, report, lambda one: " ".join(f"{kind} {count}" for kind, count in one.instructions.items())),
        f"{report.seconds:.2f}",
        report.verdict.value,
        report.change,
    )


def _both(base: KernelResources | None, head: StaticReport, figure: Callable[[KernelResources | StaticReport], str]) -> str:
    old, new = figure(base) if base else "", figure(head)
    return f"{old} → {new}" if old and old != new else new


def _row(base: StaticEntry | None, head: StaticEntry, report: StaticReport, listing: Listing) -> Row:
    same = not report.log and (base is None or base.hash == head.hash)
    diff = () if same or base is None else _diff(base, head, listing)
    shown = cells(report, base.resources if base else None)
    cut = max(len(diff or ()) - MOST_LINES, 0)
    title = f"{head.target} {head.kernel} {head.row}"
    return Row(shown, title, report.change, report.log, same, diff and diff[:MOST_LINES], cut)


def _diff(base: StaticEntry, head: StaticEntry, listing: Listing) -> tuple[Line, ...] | None:
    old, new = listing(base.hash), listing(head.hash)
    return tuple(_tagged(old, new)) if old and new else None


def _tagged(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    lines = unified_diff(old, new, lineterm="")
    for line in list(lines)[2:]:  # less the two lines that name files
        yield TAGS.get(line[0], "span"), line

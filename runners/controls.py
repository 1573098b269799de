"""A run's own A/A controls: a few rows with equal code on both sides, timed as the others are, to show what the node does to times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runners.protocol import Control, Side
from runners.rows import Row

MOST = 2


def controls_for(timed: Sequence[Row], known: Sequence[Row]) -> list[Row]:
    """At most two rows, and no more than are timed: of those that compile to identical code, else the timed rows' base against itself.

    Of middle size: neither the noisiest nor the dearest. `known` are all rows of the job.
    """
    identical = [row for row in known if row.identical and all(row.sides[side].runnable for side in Side)]
    ordered = sorted(identical or timed, key=lambda row: (row.case.flops or row.case.bytes, row.case.id))
    count = min(MOST, len(timed), len(ordered))
    first, index = (len(ordered) - count) // 2, max((row.index for row in known), default=0) + 1
    return [_control(row, index + number) for number, row in enumerate(ordered[first : first + count])]


def _control(row: Row, index: int) -> Row:
    base = row.sides[Side.BASE]
    head = row.sides[Side.HEAD] if row.identical else base
    sides = {Side.BASE: replace(base), Side.HEAD: replace(head)}
    return Row(index, row.kernel, row.case, row.buffers, row.asked, control=True, sides=sides, identical=row.identical)


def told(row: Row) -> Control:
    """A control as it travels."""
    return Control(row.case.id, row.identical, tuple(row.sessions), "; ".join(failure.message for failure in row.trouble)[:300])

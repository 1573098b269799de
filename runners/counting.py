"""Counts of both sides, line by line: lines that kept their text belong together wherever they moved to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from runners import git
from runners.protocol import Count, CountPair
from runners.trees import Trees, inside

MOST_BYTES = 1 << 20
SECONDS = 1.5  # git's, for one file; a cancelled job has to end within 2 s
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def paired(trees: Trees, base: Sequence[Count], head: Sequence[Count]) -> tuple[CountPair, ...]:
    """Every count of either side once, in the order of head's source; what only base has comes last."""
    files = sorted({count.file for count in (*base, *head)})
    moved = {(file, old): new for file in files for old, new in _moved(trees.base, trees.head, file)}
    left = {(count.file, moved.get((count.file, count.line), -count.line), count.access): count for count in base}
    pairs = [CountPair(left.pop((count.file, count.line, count.access), None), count) for count in head]
    return (*pairs, *(CountPair(base=count) for count in left.values()))


@lru_cache(maxsize=64)
def _moved(base: Path, head: Path, file: str) -> tuple[tuple[int, int], ...]:
    """Base's line numbers with head's: equal lines, and runs of lines that were replaced by as many; none where git takes too long."""
    old, new = _own(base, file), _own(head, file)
    if old is None or new is None:
        return ()
    words = ["diff", "--no-index", "--unified=0", "--text", "--no-ext-diff", "--no-textconv", "--no-color", str(old), str(new)]
    try:
        told = git.output(None, words, check=False, seconds=SECONDS).decode(errors="replace")
    except git.CheckoutError:
        return ()
    return tuple(_matches(HUNK.findall(told), old.read_bytes().count(b"\n") + 1))


def _matches(hunks: Sequence[tuple[str, ...]], lines: int) -> Iterator[tuple[int, int]]:
    """From the places of `diff --unified=0`; a hunk without lines on one side names the line before it."""
    old = new = 1
    for hunk in hunks:
        a, b, c, d = (int(figure or 1) for figure in hunk)
        first, other = a + (b == 0), c + (d == 0)
        yield from zip(range(old, first), range(new, other), strict=True)
        if b == d:
            yield from zip(range(first, first + b), range(other, other + d), strict=True)
        old, new = first + b, other + d
    yield from ((line, line - old + new) for line in range(old, lines + 1))


def _own(checkout: Path, file: str) -> Path | None:
    """None of a file that is not the checkout's own, or too large: the name comes out of a process that ran the repository's code."""
    try:
        path = inside(checkout, file).resolve()
        own = path.is_relative_to(checkout.resolve()) and path.is_file() and path.stat().st_size <= MOST_BYTES
    except (ValueError, OSError):
        return None
    return path if own else None

"""Deliveries that GitHub could not bring: which of them to ask for again, and when."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

KEPT = 3 * 86400.0  # seconds for which GitHub delivers again
FIRST_WAIT = 5.0
FACTOR = 4
MOST_TRIES = 8


@dataclass(frozen=True)
class Attempt:
    """One failed attempt to deliver, `at` seconds since the epoch; `guid` is the delivery's, the same in every attempt."""

    id: int
    guid: str
    event: str
    at: float


def to_ask_again(failed: Sequence[Attempt], known: Collection[str], asked: Mapping[str, float], now: float) -> list[Attempt]:
    """The newest attempt of each delivery that never came in, oldest first; the waits grow, and the eighth failure is the last.

    A ping asks for nothing, so it is let go. `asked` says when each delivery was last asked for.
    """
    tries: dict[str, list[Attempt]] = {}
    for one in failed:
        if one.guid not in known and one.event != "ping":
            tries.setdefault(one.guid, []).append(one)
    newest = [(max(each, key=lambda one: (one.at, one.id)), len(each)) for each in tries.values() if len(each) < MOST_TRIES]
    due = [one for one, count in newest if now >= max(one.at, asked.get(one.guid, 0.0)) + FIRST_WAIT * FACTOR ** (count - 1)]
    return sorted(due, key=lambda one: (one.at, one.id))

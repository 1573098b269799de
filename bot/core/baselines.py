"""Whether a pool still measures: a dead-man's alarm for one that had no good baseline for a day, as nobody else would notice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runners.protocol import Ending, Outcome
from runners.sampling import beyond

DAY = 24 * 3600.0


@dataclass(frozen=True)
class Barren:
    """A pool without a good baseline for a day, and how many jobs ended there meanwhile."""

    pool: str
    jobs: int


def is_good(outcome: Outcome | None) -> bool:
    """Whether a job had base in hand to its end, on a machine on which equal code took equal time."""
    return outcome is not None and outcome.ending is Ending.COMPLETED and not any(beyond(one.sessions) for one in outcome.controls)


def barren(pool: str, lately: Iterable[Outcome | None]) -> Barren | None:
    """What is to be told of a pool whose jobs of the last day ended so; None where one of them was good."""
    jobs = 0
    for outcome in lately:
        if is_good(outcome):
            return None
        jobs += 1
    return Barren(pool, jobs)

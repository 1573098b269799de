"""How long a job is likely to take until its end, by what others took before it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

FEWEST = 3  # of fewer jobs nothing is foretold


def seconds_left(took: Sequence[float], place: int, running: Sequence[float], nodes: int, since: float | None = None) -> float | None:
    """Seconds until a job ends: one that has run `since` so long, or one at `place` of its queue behind others, each of which runs
    for as long as `running` says on one of so many live `nodes`. None where nobody can tell, or it takes longer than they `took`."""
    if len(took) < FEWEST:
        return None
    typical = median(took)
    if since is not None:
        return typical - since if since < typical else None
    if nodes < 1 or place < 1:
        return None
    ahead = typical * (place - 1) + sum(max(typical - seconds, 0.0) for seconds in running)
    idle = len(running) + place - 1 < nodes
    return typical + (0.0 if idle else ahead / nodes)

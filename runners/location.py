"""A session's samples as one number with its error: robust, pure, in plain arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runners.protocol import Session

TRIM = 0.2
FEWEST = 5
SHORTEST, LONGEST = 1e-6, 1e12  # µs that can be a time: 1 ps to eleven days; ratios of what lies between stay numbers

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Location:
    """Trimmed mean of a session's log ratios, its standard error, and the scatter of one quad."""

    middle: float
    error: float
    scatter: float


def location(values: Values) -> Location:
    """The 20 % trimmed mean with the Winsorised standard error (Tukey & McLaughlin 1963).

    From five values on, at least one is cut at each end, so no single outlier counts.
    """
    count, cut = len(values), int(TRIM * len(values))
    ordered = np.sort(values)
    kept = ordered[cut : count - cut]
    spread = float(np.std(np.clip(ordered, kept[0], kept[-1]), ddof=1)) / (1 - 2 * cut / count)
    return Location(float(np.mean(kept)), spread / math.sqrt(count), spread)


def log_ratios(quads: Values, order: NDArray[np.int64]) -> Values:
    """Per quad in launch order, the mean of log base time minus the mean of log head time; `order` 0 is A B B A."""
    logs = np.log(quads)
    outer, inner = (logs[:, 0] + logs[:, 3]) / 2, (logs[:, 1] + logs[:, 2]) / 2
    return np.where(order == 0, outer - inner, inner - outer)


def real(times: Values) -> bool:
    """Whether all of them can be times."""
    return bool(np.all((times >= SHORTEST) & (times <= LONGEST)))


def session_values(session: Session) -> Values | None:
    """The session's log ratios; None unless it is undisturbed, its times real, and its quads enough."""
    times = np.asarray(session.quads, dtype=np.float64)
    if session.disturbed or len(times) < FEWEST or len(session.order) != len(times):
        return None
    if not real(times):
        return None
    return log_ratios(times, np.asarray(session.order, dtype=np.int64))

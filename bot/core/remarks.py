"""What the raw times of a comparison show beside its verdict: two modes, drift, clocks that drop. None of it changes a verdict.

Times are logs. *Two modes*: in half of all samples (one side of one session each) the split that leaves the least variance (Otsu
1979) parts two groups, each of a tenth at least, whose means lie 1 % and 4.5 of their own spreads apart (Ashman's D: a normal
sample has 2.7, an even one 3.5). *Drift*: within a session, each side less its median, Spearman's rank correlation of time and
place is not 0 at 0.1 % shared among the sessions, and the line through them rises or falls by 1 % or more. *Clock drops*: the
lowest SM clock seen lies 5 % below the median of the sessions' clocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import median

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass
from scipy.special import stdtr
from scipy.stats import rankdata

from runners.location import real
from runners.protocol import Session
from runners.sampling import Values

LOOKED_AT = 4096  # times of a session, evenly chosen: more show nothing more
FEWEST = 20
SHARE = 0.1
APART = 0.01
SPREADS = 4.5
DRIFT_ALPHA = 0.001
CLOCK_DROP = 0.05
SHOWN = {"sm_mhz": "SM clock {:.0f} to {:.0f} MHz", "celsius": "{:.0f} to {:.0f} °C", "watts": "{:.0f} to {:.0f} W"}


class Kind(StrEnum):
    TWO_MODES = "two modes"
    DRIFT = "drift"
    CLOCK_DROPS = "clock drops"


@dataclass(frozen=True)
class Remark:
    """`size`: how far the modes lie apart, a session drifts or the clock drops, as a fraction; `seen` is telemetry's range by name."""

    kind: Kind
    size: float
    seen: dict[str, tuple[float, float]]

    @property
    def text(self) -> str:
        shown = "".join(f", {SHOWN[name].format(*bounds)}" for name, bounds in self.seen.items() if name in SHOWN)
        return f"{self.kind.value} ({100 * self.size:.1f} %{shown})"


def remarks_on(
    times: Sequence[Values], orders: Sequence[NDArray[np.int64]], telemetry: Sequence[Mapping[str, object]] = ()
) -> list[Remark]:
    """Remarks on sessions of quads in launch order, `order` 0 for A B B A."""
    sides = [_sides(one, order) for one, order in zip(times, orders, strict=True)]
    modes = modes_apart([logs[where == side] for logs, where in sides for side in (False, True)])
    drift = largest_drift([_level(logs, where) for logs, where in sides])
    seen = _seen(telemetry)
    found = ((Kind.TWO_MODES, modes), (Kind.DRIFT, drift), (Kind.CLOCK_DROPS, clock_drop(telemetry)))
    return [Remark(kind, size, seen) for kind, size in found if size]


def remarks_of(sessions: Sequence[Session]) -> list[Remark]:
    """Remarks on the undisturbed sessions of real times."""
    good = [one for one in sessions if not one.disturbed and one.quads and real(np.asarray(one.quads, dtype=np.float64))]
    orders = [np.asarray(one.order, dtype=np.int64) for one in good]
    return remarks_on([np.asarray(one.quads, dtype=np.float64) for one in good], orders, [one.telemetry for one in good])


def modes_apart(samples: Sequence[Values]) -> float:
    """How far two modes lie apart in half of the samples or more, as a fraction; 0 where there is one."""
    large = [one for one in samples if len(one) >= FEWEST]
    gaps = [gap for one in large if (gap := _gap(np.sort(one)))]
    return math.expm1(median(gaps)) if gaps and 2 * len(gaps) >= len(large) else 0.0


def _gap(ordered: Values) -> float:
    """Between the means of the two groups that a sorted sample falls into; 0 if these are not apart."""
    count, least = len(ordered), math.ceil(SHARE * len(ordered))
    cuts = np.arange(least, count - least + 1)
    sums = np.cumsum(ordered - ordered[0])
    low, high = sums[cuts - 1] / cuts, (sums[-1] - sums[cuts - 1]) / (count - cuts)
    best = int(np.argmax(cuts * (count - cuts) * (high - low) ** 2))
    cut, gap = int(cuts[best]), float(high[best] - low[best])
    spread = math.sqrt((float(np.var(ordered[:cut])) + float(np.var(ordered[cut:]))) / 2)
    return gap if gap > max(math.log1p(APART), SPREADS * spread) else 0.0


def largest_drift(logs: Sequence[Values]) -> float:
    """The largest change along one session, as a fraction; 0 where none is beyond chance and 1 %."""
    sizes = [abs(_slope(one)) for one in logs if len(one) >= FEWEST and _p_of_trend(one) < DRIFT_ALPHA / len(logs)]
    size = math.expm1(max(sizes, default=0.0))
    return size if size >= APART else 0.0


def clock_drop(telemetry: Sequence[Mapping[str, object]]) -> float:
    """How far the lowest clock lies below the median of the sessions' medians; 0 below 5 %, or where no clock is known."""
    usual, lowest = _numbers(telemetry, "sm_mhz"), _numbers(telemetry, "sm_mhz_min")
    if not usual or not lowest or median(usual) <= 0:
        return 0.0
    drop = 1 - min(lowest) / median(usual)
    return drop if drop >= CLOCK_DROP else 0.0


def _slope(logs: Values) -> float:
    """Least squares' change from the first time to the last."""
    place = np.linspace(-0.5, 0.5, len(logs))
    return float(place @ logs / (place @ place))


def _p_of_trend(logs: Values) -> float:
    """Two-sided p of Spearman's rank correlation with the place, by Student's t."""
    count = len(logs)
    rho = float(np.corrcoef(rankdata(logs), np.arange(count))[0, 1]) if np.ptp(logs) > 0 else 0.0
    if abs(rho) >= 1:
        return 0.0
    return 2 * float(stdtr(count - 2, -abs(rho) * math.sqrt((count - 2) / (1 - rho * rho))))


def _sides(times: Values, order: NDArray[np.int64]) -> tuple[Values, NDArray[np.bool_]]:
    """Log times in launch order, and for each whether it is the base's."""
    step = max(1, -(-4 * len(times) // LOOKED_AT))
    some, turned = times[::step], order[::step]
    return np.log(some).ravel(), np.repeat(turned == 0, 4) == np.tile([True, False, False, True], len(turned))


def _level(logs: Values, base: NDArray[np.bool_]) -> Values:
    """Each side less its own median."""
    if not len(logs):
        return logs
    return np.where(base, logs - np.median(logs[base]), logs - np.median(logs[~base]))


def _seen(telemetry: Sequence[Mapping[str, object]]) -> dict[str, tuple[float, float]]:
    ranges = {name: (_numbers(telemetry, f"{name}_min"), _numbers(telemetry, f"{name}_max")) for name in SHOWN}
    return {name: (min(low), max(high)) for name, (low, high) in ranges.items() if low and high}


def _numbers(telemetry: Sequence[Mapping[str, object]], name: str) -> list[float]:
    return [float(value) for one in telemetry if isinstance(value := one.get(name), (int, float)) and math.isfinite(value)]

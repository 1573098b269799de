"""What sessions say of base time over head time as one number with its interval, and the numbers it is judged by.

Between sessions the variance is moderated (Smyth 2004): the sessions' own variance is pooled with a prior, so that two
sessions that happen to agree never look certain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from scipy.special import stdtrit

from runners.location import Values, location, session_values
from runners.protocol import Session, Stage


@dataclass(frozen=True)
class Prior:
    """Between-session standard deviation of log ratios: the larger of `least` and `share` of the quads' scatter,
    believed as much as `df` degrees of freedom."""

    df: float
    share: float
    least: float


# Fitted as Smyth (2004) fits his prior, to sessions of 10 to 25 quads of six kernels on an H200, slowed by 0 to 10 %, by
# `kernelgate bench prior`: 3.8 to 4.7 degrees of freedom; 0.25 of a quad's scatter makes the expected variance 20 % (10 quads)
# to 85 % (20) too large, never too small.
PUBLISHED = Prior(df=4.0, share=0.25, least=2.5e-4)


TOO_FAST = 10.0  # a speed-up above is looked into, not believed


@dataclass(frozen=True)
class Limits:
    """How much one comparison may ask for; `most_quads` for a floor of 1 % and above; below, as the square of what is missing."""

    first_quads: int = 10
    step_quads: int = 5
    most_quads: int = 20
    first_sessions: int = 2
    most_sessions: int = 6
    most_disturbed: int = 3  # sessions of a stage that are repeated


@dataclass(frozen=True)
class Rules:
    """The numbers a comparison is judged by. `suspects` share the job's part (`share`) of the run's confirmation alpha."""

    floor: float = 0.01
    harm: float = 0.03
    suspects: int = 1
    share: float = 1.0
    prior: Prior = PUBLISHED
    limits: Limits = Limits()


@dataclass(frozen=True)
class Estimate:
    """Base time over head time (above 1: head is faster) with its 95 % interval; `log` and `error` are on the log scale."""

    speedup: float
    lo: float
    hi: float
    log: float
    error: float
    df: float
    sessions: int
    quads: int

    def bounds(self, confidence: float) -> tuple[float, float]:
        """The two-sided interval of the log ratio."""
        reach = self.error * float(stdtrit(self.df, 0.5 + confidence / 2))
        return self.log - reach, self.log + reach

    @property
    def slowdown_at_most(self) -> float:
        """Upper end of the 90 % interval of the slow-down, as a fraction (0.016 is 1.6 %)."""
        return math.expm1(-self.bounds(0.90)[0])


def estimate_of(sessions: Sequence[Session], rules: Rules = Rules()) -> Estimate | None:
    """The estimate over all usable sessions; None below two."""
    return estimate_values(usable(sessions), rules)


def estimate_values(values: Sequence[Values], rules: Rules) -> Estimate | None:
    """Mean of the sessions' locations with the moderated error; None below two sessions."""
    if len(values) < 2:
        return None
    parts = [location(one) for one in values]
    prior, own = rules.prior, len(parts) - 1
    middle = fmean(part.middle for part in parts)
    expected = max(prior.least, prior.share * fmean(part.scatter for part in parts)) ** 2 + fmean(part.error**2 for part in parts)
    variance = (prior.df * expected + math.fsum((part.middle - middle) ** 2 for part in parts)) / (prior.df + own)
    error = math.sqrt(variance / len(parts))
    reach = error * float(stdtrit(prior.df + own, 0.975))
    ends = math.exp(middle - reach), math.exp(middle + reach)
    return Estimate(math.exp(middle), *ends, middle, error, prior.df + own, len(parts), sum(map(len, values)))


def of_stage(sessions: Sequence[Session], stage: Stage) -> list[Session]:
    """The undisturbed sessions of one stage."""
    return [session for session in sessions if session.stage is stage and not session.disturbed]


def usable(sessions: Sequence[Session]) -> list[Values]:
    """The log ratios of every undisturbed session of real times with enough quads for an outlier to be trimmed away."""
    return [values for session in sessions if (values := session_values(session)) is not None]

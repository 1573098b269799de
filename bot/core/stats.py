"""From the sessions of a comparison to its timing verdict: correction over the run's suspects, floor, harm."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bot.core.enums import CaseVerdict
from runners.protocol import Measurement, Session, Side, Stage
from runners.sampling import Estimate, Finding, Rules, conclude, estimate_of, harmful

VERDICTS = {
    Finding.SLOWER: CaseVerdict.SLOWER,
    Finding.FASTER: CaseVerdict.FASTER,
    Finding.SAME: CaseVerdict.SAME,
    Finding.UNDECIDED: CaseVerdict.INCONCLUSIVE,
}


@dataclass(frozen=True)
class Timing:
    """What the samples of one comparison say. `holds`: undecided, and a harmful slow-down is not ruled out."""

    verdict: CaseVerdict
    reason: str
    estimate: Estimate | None
    holds: bool = False

    @property
    def slowdown_at_most(self) -> float | None:
        return self.estimate.slowdown_at_most if self.estimate else None


def classify(sessions: Sequence[Session], rules: Rules) -> Timing:
    """The timing verdict of one comparison; too few good sessions are inconclusive and hold the run."""
    finding, estimate = conclude(sessions, rules)
    verdict = VERDICTS[finding]
    if estimate is None:
        return Timing(CaseVerdict.INCONCLUSIVE, "fewer than two usable sessions", None, holds=True)
    if verdict is not CaseVerdict.INCONCLUSIVE:
        return Timing(verdict, "", estimate)
    reason = "not confirmed" if _suspected(sessions) else "undecided"
    return Timing(verdict, reason, estimate, holds=harmful(estimate, rules))


def with_suspects(rules: Rules, measurements: Iterable[Measurement], share: float = 1.0) -> Rules:
    """`rules` with the confirmation alpha shared among the comparisons that went to confirmation."""
    suspects = sum(any(s.stage is Stage.CONFIRM for s in m.sessions) for m in measurements)
    return replace(rules, suspects=max(suspects, 1), share=share)


def times(sessions: Sequence[Session], side: Side) -> tuple[float, ...]:
    """Every time of one side in the undisturbed sessions, in µs and in the order taken."""
    taken: list[float] = []
    for session in sessions:
        if session.disturbed:
            continue
        for quad, order in zip(session.quads, session.order, strict=False):
            outer = (order == 0) is (side is Side.BASE)
            taken += (quad[0], quad[3]) if outer else (quad[1], quad[2])
    return tuple(taken)


def cycles(sessions: Sequence[Session], side: Side) -> float | None:
    """Median over sessions of one side's time times the SM clock seen in that session; None where none was seen."""
    clocked = [(one, clock) for one in sessions if isinstance(clock := one.telemetry.get("sm_mhz"), int | float) and not one.disturbed]
    found = [median(times([one], side)) * clock for one, clock in clocked]
    return median(found) if found else None


def median(values: Sequence[float]) -> float:
    """The median of real values; NaN where there are none."""
    real = [value for value in values if math.isfinite(value)]
    return statistics.median(real) if real else math.nan


def _suspected(sessions: Sequence[Session]) -> bool:
    screen = estimate_of([s for s in sessions if s.stage is Stage.SCREEN])
    return any(s.stage is Stage.CONFIRM for s in sessions) or (screen is not None and screen.hi < 1)

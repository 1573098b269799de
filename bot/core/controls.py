"""A node's A/A controls: where equal code lies against its fence, and what it means for the node's times if it lies beyond."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bot.core.report import ControlReport
from runners.protocol import Control, Failure, FailureKind, Measurement, Stage
from runners.sampling import Rules, beyond, estimate_of, fence


def report_of(control: Control, rules: Rules) -> ControlReport:
    """The control with its estimate over all sessions and the fence of its first ones; None where it has too few."""
    estimate, first = estimate_of(control.sessions, rules), fence(control.sessions, Stage.SCREEN, rules)
    if estimate is None or first is None:
        return ControlReport(control.case, control.identical, reason=control.trouble or "fewer than two usable sessions")
    inside = not beyond(control.sessions, rules)
    return ControlReport(control.case, control.identical, estimate.speedup, (estimate.lo, estimate.hi), math.expm1(first.reach), inside)


def doubted(measurements: Sequence[Measurement], controls: Sequence[ControlReport]) -> list[Measurement]:
    """Measurements whose times mean nothing where a control left its fence: that is the machine's trouble, not the head's."""
    bad = next((one for one in controls if one.inside is False), None)
    if bad is None:
        return list(measurements)
    failure = Failure(FailureKind.INFRASTRUCTURE, _message(bad))
    return [replace(m, failures=(*m.failures, failure)) if m.sessions else m for m in measurements]


def _message(bad: ControlReport) -> str:
    assert bad.speedup is not None and bad.fence is not None
    off, reach = 100 * (bad.speedup - 1), 100 * bad.fence
    return f"equal code of {bad.case} differs by {off:+.1f} %, where {reach:.1f} % is its fence: times of this node mean nothing now"

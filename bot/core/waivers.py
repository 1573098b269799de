"""Findings that a maintainer accepted: what a waiver covers, and whether it still does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.core.case_verdict import BAD
from bot.core.enums import CaseVerdict
from bot.core.errors import PlanError, nearest
from bot.core.report import CaseReport, Run, WaiverReport

JUDGE = "judge"
ACCEPTABLE = BAD | {CaseVerdict.SLOWER, CaseVerdict.SUSPICIOUS}
UNMET = {CaseVerdict.NEW: JUDGE, CaseVerdict.REMOVED: JUDGE}


@dataclass(frozen=True)
class Waiver:
    """`codes` holds by pool the finding and the head's code that it was given for, or the judge's digest under "".

    `own`: the author's own, since nobody else may write. Times are seconds since the epoch.
    """

    scope: str
    codes: Mapping[str, str]
    reason: str
    by: str
    own: bool
    at: float
    until: float


def codes_of(scope: str, run: Run) -> dict[str, str]:
    """What a waiver of this scope is bound to; PlanError says why there is nothing to accept."""
    if scope == JUDGE:
        if not run.changed_judge and not any(case.verdict in UNMET for case in run.cases):
            raise PlanError("the judge did not change")
        return {"": _judge_digest(run)}
    cases = [case for case in _named(scope, run.cases) if _is_finding(case)]
    if not cases:
        raise PlanError(_why_not(_named(scope, run.cases)[0]))
    return {case.pool: _finding(case, run.head) for case in cases}


def covered(waiver: Waiver, run: Run) -> tuple[str, ...]:
    """What of `run` a waiver covers: "judge", or CASE@POOL of each finding whose code is as it was."""
    if waiver.scope == JUDGE:
        return (JUDGE,) if waiver.codes.get("") == _judge_digest(run) else ()
    name = waiver.scope.partition("@")[0]
    return tuple(f"{c.id}@{c.pool}" for c in run.cases if c.id == name and _covers(waiver.codes.get(c.pool, ""), c, run.head))


def told(waiver: Waiver, run: Run) -> WaiverReport:
    """The waiver as the Run's JSON has it."""
    until = datetime.fromtimestamp(waiver.until, UTC).isoformat(timespec="seconds")
    return WaiverReport(waiver.scope, waiver.reason, waiver.by, until, waiver.own, covered(waiver, run))


def _named(scope: str, cases: Sequence[CaseReport]) -> list[CaseReport]:
    name, _, pool = scope.partition("@")
    those = [case for case in cases if case.id == name]
    if not those:
        raise PlanError(f"no case of the gate run is called {name}", _near(name, [case.id for case in cases]))
    if pool and pool not in {case.pool for case in those}:
        raise PlanError(f"{name} did not run on {pool}", nearest(pool, {case.pool for case in those}))
    return [case for case in those if pool in ("", case.pool)]


def _near(name: str, ids: Iterable[str]) -> str:
    """The nearest id, or the one of which the name is a part."""
    known = sorted({*ids, JUDGE})
    return nearest(name, known) or next((one for one in known if name and name in one), "")


def _is_finding(case: CaseReport) -> bool:
    return case.verdict in ACCEPTABLE or case.holds


def _why_not(case: CaseReport) -> str:
    if case.verdict in UNMET:
        return f"{case.id} is {case.verdict.value}: /waive judge accepts that"
    if case.verdict is CaseVerdict.NOT_MEASURED:
        return f"{case.id} was not measured: /retest tries again"
    return f"{case.id} is {case.verdict.value}, so there is nothing to accept"


def _finding(case: CaseReport, head: str, verdict: CaseVerdict | None = None) -> str:
    """Verdict and code; where nothing compiled, the head itself stands for the code."""
    built = case.build.head
    return f"{(verdict or case.verdict).value} {built.hash if built and built.hash else head}"


def _covers(accepted: str, case: CaseReport, head: str) -> bool:
    """The same finding in the same code; who accepts that it is slower accepts that it may be."""
    milder = case.verdict is CaseVerdict.INCONCLUSIVE and accepted == _finding(case, head, CaseVerdict.SLOWER)
    return _is_finding(case) and (milder or accepted == _finding(case, head))


def _judge_digest(run: Run) -> str:
    return run.judge_hash or run.head

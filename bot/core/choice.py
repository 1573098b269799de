"""The fixed order of run verdicts: one question each, asked until one has an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.core.case_verdict import BAD, FAILED, trouble_of
from bot.core.enums import CaseVerdict, RunVerdict
from bot.core.facts import JudgedPool, PoolFacts, RunFacts
from bot.core.report import CaseReport
from runners.protocol import Ending, Failure, Side

BAD_KINDS = frozenset(FAILED)
WAIVED_JUDGE = "judge"


def choose(judged: Sequence[JudgedPool], facts: RunFacts) -> tuple[RunVerdict, str]:
    if facts.cancelled:
        return RunVerdict.CANCELLED, ""
    for verdict, question in ORDER:
        reason = question(judged, facts)
        if reason:
            return verdict, reason
    return RunVerdict.PASS, ""


def _first(cases: Sequence[CaseReport]) -> str:
    """The first of the cases as a short fact, and how many more there are; "" for none."""
    if not cases:
        return ""
    more = f" (+{len(cases) - 1})" if len(cases) > 1 else ""
    return f"{cases[0].verdict.value}: {cases[0].id}@{cases[0].pool}{more}"


def _those(judged: Sequence[JudgedPool], wanted: Callable[[CaseReport], bool]) -> str:
    return _first([case for one in judged for case in one.counting if wanted(case)])


def _broken(judged: Sequence[JudgedPool], facts: RunFacts) -> str:
    compiled = [entry for one in judged for entry in one.static if entry.bad]
    found = _those(judged, lambda case: case.verdict in BAD and not case.base_failed) or _head_stopped(judged)
    return found or (f"static: {compiled[0].kernel} on {compiled[0].target}: {compiled[0].change}" if compiled else "")


def _head_stopped(judged: Sequence[JudgedPool]) -> str:
    """A whole job that ended because of the head's own code, such as a plan.py that can't be loaded."""
    stopped = [(one.facts.pool, failure) for one in judged if (failure := _failure(one)) and failure.side is Side.HEAD]
    return f"{stopped[0][0]}: {stopped[0][1].message}" if stopped else ""


def _failure(one: JudgedPool) -> Failure | None:
    """What ended the job early and is not the machine's trouble."""
    failure = one.facts.outcome.failure if one.facts.outcome else None
    return failure if failure and failure.kind in BAD_KINDS and failure.side else None


def _regressed(judged: Sequence[JudgedPool], facts: RunFacts) -> str:
    return _those(judged, lambda case: case.verdict is CaseVerdict.SLOWER)


def _infrastructure(judged: Sequence[JudgedPool], facts: RunFacts) -> str:
    for one in judged:
        outcome = one.facts.outcome
        if outcome is None or _failure(one) or not _needed(one, facts):
            continue
        if outcome.failure or outcome.ending is Ending.FAILED:
            return f"{one.facts.pool}: {outcome.failure.message if outcome.failure else 'the job failed'}"
    return _those([one for one in judged if _needed(one, facts)], lambda case: bool(trouble_of(case)))


def changed_judge(judged: Sequence[JudgedPool]) -> tuple[str, ...]:
    paths = [path for one in judged if one.facts.enumeration for path in one.facts.enumeration.changed_judge]
    return tuple(dict.fromkeys(paths))


def _judge_changed(judged: Sequence[JudgedPool], facts: RunFacts) -> str:
    if WAIVED_JUDGE in facts.waived:
        return ""
    paths = changed_judge(judged)
    return ", ".join(paths[:3]) or _those(judged, lambda case: case.verdict in (CaseVerdict.NEW, CaseVerdict.REMOVED))


def _suspicious(judged: Sequence[JudgedPool], facts: RunFacts) -> str:
    return _those(judged, lambda case: case.verdict is CaseVerdict.SUSPICIOUS)


def _inconclusive(judged: Sequence[JudgedPool], facts: RunFacts) -> str:
    fails_too = _those(judged, lambda case: case.verdict in BAD and case.base_failed)
    return f"base fails too: {fails_too}" if fails_too else _those(judged, lambda case: case.holds)


def _incomplete(judged: Sequence[JudgedPool], facts: RunFacts) -> str:
    needed = [one for one in judged if _needed(one, facts)]
    for one in needed:
        if absent(one.facts) or not one.cases:
            return f"{one.facts.pool}: {absent(one.facts) or 'no cases'}"
    if not any(one.cases for one in judged):
        return "no cases"
    return _those(needed, lambda case: case.verdict is CaseVerdict.NOT_MEASURED) or _those(needed, lambda case: _only_checked(case, facts))


def _needed(one: JudgedPool, facts: RunFacts) -> bool:
    """Whether this pool's result must be complete: the required ones of a gate run, every one of another run."""
    return one.facts.required or not facts.gate


def _only_checked(case: CaseReport, facts: RunFacts) -> bool:
    """`correct` never stands in for a case the gate times; where the base fails there is nothing to time against."""
    return facts.gate and case.verdict is CaseVerdict.CORRECT and not case.held_out and not case.base_failed


def absent(pool: PoolFacts) -> str:
    """Why a pool has no complete result; "" if it has."""
    if pool.outcome is None:
        return pool.missing or "no result"
    if pool.outcome.failure:
        return pool.outcome.failure.message or pool.outcome.failure.kind.value
    if pool.outcome.ending is not Ending.COMPLETED:
        return f"the job was {pool.outcome.ending.value}"
    return "" if pool.enumeration is not None else "no enumeration"


ORDER: tuple[tuple[RunVerdict, Callable[[Sequence[JudgedPool], RunFacts], str]], ...] = (
    (RunVerdict.BROKEN, _broken),
    (RunVerdict.REGRESSED, _regressed),
    (RunVerdict.INFRASTRUCTURE, _infrastructure),
    (RunVerdict.JUDGE_CHANGED, _judge_changed),
    (RunVerdict.SUSPICIOUS, _suspicious),
    (RunVerdict.INCONCLUSIVE, _inconclusive),
    (RunVerdict.INCOMPLETE, _incomplete),
)

"""Further rounds of a gate run: what /retest measures again, and how all rounds count as one. No valid sample is ever left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.core.case_verdict import trouble_of
from bot.core.enums import CaseVerdict
from bot.core.records import JobEnding, JobFacts, JobView
from bot.core.report import CaseReport, Run
from runners.protocol import Accuracies, Accuracy, Builds, Ending, Failure, FailureKind, Measurement, Outcome, Side
from runners.sampling import Rules, beyond

MOST_SESSIONS = 24  # of one comparison, after which another round would not change the answer
Key = tuple[str, str]


def wanting(report: Run, jobs: Sequence[JobView]) -> Mapping[str, tuple[str, ...]]:
    """For each pool that has something left to measure its cases, () for all of them; {} where all is decided."""
    found = {job.pool: _cases(report, job) for job in jobs}
    return {pool: cases for pool, cases in found.items() if cases is not None}


def _cases(report: Run, job: JobView) -> tuple[str, ...] | None:
    left = [case for case in report.cases if case.pool == job.pool and _left(case)]
    if any(case.held_out for case in left):
        return ()  # the next round draws other shapes
    if left:
        return tuple(dict.fromkeys(case.id for case in left))
    return () if _machine_failed(job) else None


def _left(case: CaseReport) -> bool:
    """Undecided, not measured, or slower: further sessions tell more. What is wrong stays wrong."""
    undecided = case.verdict is CaseVerdict.SLOWER or case.holds
    return case.verdict is CaseVerdict.NOT_MEASURED or (undecided and case.sessions < MOST_SESSIONS)


def _machine_failed(job: JobView) -> bool:
    if job.ending is not JobEnding.DONE or job.outcome is None:
        return True
    failure = job.outcome.failure
    return failure.kind is FailureKind.INFRASTRUCTURE if failure else job.outcome.ending is not Ending.COMPLETED


def joined(rounds: Sequence[JobFacts], floor: float) -> JobFacts:
    """One pool's rounds, oldest first, as if they were one job; a round that failed takes nothing from those that did not."""
    found: dict[Key, Measurement] = {}
    rounds = _believed(rounds, Rules(floor=floor))
    for number, one in enumerate(rounds):
        repeated = any(later.measurements for later in rounds[number + 1 :])
        for m in one.measurements:
            if not (repeated and m.held_out and trouble_of(m)):
                key = (m.case.id, repr(sorted(m.tunables.items())))
                found[key] = together(found[key], m) if key in found else m
    enumeration = next((one.enumeration for one in rounds if one.enumeration is not None), None)
    return JobFacts(_telling(rounds), enumeration, tuple(found.values()))


def _believed(rounds: Sequence[JobFacts], rules: Rules) -> list[JobFacts]:
    """Times are no samples where a control left its fence; if that is so of every round, the verdict says it."""
    doubtful = [
        any(beyond(one.sessions, rules) for one in facts.view.outcome.controls) if facts.view.outcome else False for facts in rounds
    ]
    return list(rounds) if all(doubtful) else [_timeless(one) if bad else one for one, bad in zip(rounds, doubtful, strict=True)]


def _timeless(one: JobFacts) -> JobFacts:
    """A round without its times, in which the machine failed the cases that had some."""
    failure = Failure(FailureKind.INFRASTRUCTURE, "equal code differed")
    measurements = tuple(replace(m, sessions=(), failures=(*m.failures, failure)) if m.sessions else m for m in one.measurements)
    return JobFacts(replace(one.view, outcome=None), one.enumeration, measurements)


def _telling(rounds: Sequence[JobFacts]) -> JobView:
    """The newest round that came to its end, else the newest."""
    complete = [one.view for one in rounds if one.view.outcome and _whole(one.view.outcome)]
    return (complete or [one.view for one in rounds])[-1]


def _whole(outcome: Outcome) -> bool:
    return outcome.ending is Ending.COMPLETED and outcome.failure is None


def together(earlier: Measurement, later: Measurement) -> Measurement:
    """Both rounds' facts of one comparison: all sessions, every fault found; trouble of the machine only where both had some."""
    sound = [m for m in (earlier, later) if _sound(m)]
    return replace(
        later,
        identical=earlier.identical or later.identical,
        build=Builds(later.build.base or earlier.build.base, later.build.head or earlier.build.head),
        accuracy=Accuracies(*(_worse(getattr(earlier.accuracy, side), getattr(later.accuracy, side)) for side in Side)),
        failures=(*_faults(earlier), *_faults(later), *(() if sound else _trouble(later))),
        races=tuple(dict.fromkeys((*earlier.races, *later.races))),
        sessions=(*earlier.sessions, *later.sessions),
        gpu_seconds=earlier.gpu_seconds + later.gpu_seconds,
        not_measured="" if sound else later.not_measured,
        counts=later.counts or earlier.counts,
    )


def _sound(m: Measurement) -> bool:
    return not m.not_measured and not _trouble(m)


def _trouble(m: Measurement) -> tuple[Failure, ...]:
    return tuple(failure for failure in m.failures if failure.kind is FailureKind.INFRASTRUCTURE)


def _faults(m: Measurement) -> tuple[Failure, ...]:
    return tuple(failure for failure in m.failures if failure.kind is not FailureKind.INFRASTRUCTURE)


def _worse(earlier: Accuracy | None, later: Accuracy | None) -> Accuracy | None:
    """A failed check is not outdone by one with other seeds that passed."""
    return earlier if later is None or (earlier is not None and not earlier.ok) else later

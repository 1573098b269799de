"""Further rounds of a run: what is measured again, and that nothing found before is ever left out."""

from dataclasses import replace

import pytest
from examples import examples
from facts_for_verdicts import accuracy, both, case, failed, measured, pool, run, session
from hypothesis import given
from hypothesis import strategies as st

from bot.core.records import JobEnding, JobFacts, JobStatus, JobView
from bot.core.rounds import MOST_SESSIONS, joined, together, wanting
from bot.core.verdict import CaseVerdict, RunVerdict, judge_run
from runners.protocol import Accuracies, Control, Ending, Enumeration, Failure, FailureKind, Measurement, Outcome, Side

SLOWER, GOOD = measured("slower", 0.9), measured("good")
VAGUE = measured("vague", sessions=(session(0.9, scatter=0.5), session(1.05, scatter=0.5)))
LEFT_OUT = measured("left", None, not_measured="beyond the budget")
LOST = replace(measured("lost", None), accuracy=Accuracies(), failures=(Failure(FailureKind.INFRASTRUCTURE, "the card fell off"),))
WRONG = failed(FailureKind.INCORRECT, Side.HEAD, case=case("wrong"))
DONE = Outcome(Ending.COMPLETED)


def view(ending: JobEnding | None = JobEnding.DONE, outcome: Outcome | None = DONE) -> JobView:
    return JobView("j", "mi50", JobStatus.ENDED, ending, 1, "", 0, 0, None, 1, outcome)


def names(*found: Measurement, job: JobView | None = None) -> list[str] | None:
    """The short names of what is measured again after a run of these; None for no further round."""
    report = judge_run(run(pool(*found)))
    left = wanting(report, [job or view()]).get("mi50")
    return None if left is None else [one.split("/")[2] for one in left]


def facts(*found: Measurement, ending: JobEnding = JobEnding.DONE, outcome: Outcome | None = DONE) -> JobFacts:
    return JobFacts(view(ending, outcome), Enumeration(tuple(m.case for m in found)), found)


def test_only_what_is_undecided_slower_or_missing_is_measured_again() -> None:
    assert names(GOOD, SLOWER, VAGUE, LEFT_OUT, LOST, WRONG) == ["slower", "vague", "left", "lost"]


@pytest.mark.parametrize("found", [GOOD, WRONG, failed(FailureKind.CRASHED, Side.BASE, Side.HEAD)])
def test_where_all_is_decided_there_is_no_further_round(found: Measurement) -> None:
    assert names(found) is None


def test_enough_sessions_are_enough() -> None:
    many = replace(SLOWER, sessions=tuple(session(0.9) for _ in range(MOST_SESSIONS)))
    assert judge_run(run(pool(many))).cases[0].verdict is not CaseVerdict.SAME
    assert names(many) is None


@pytest.mark.parametrize(
    "job",
    [
        view(JobEnding.LOST, None),
        view(JobEnding.WAITED_TOO_LONG, None),
        view(outcome=Outcome(Ending.FAILED, failure=Failure(FailureKind.INFRASTRUCTURE, "no git"))),
    ],
)
def test_a_job_that_the_machines_failed_is_repeated_whole(job: JobView) -> None:
    assert names(GOOD, job=job) == []
    assert names(GOOD, LEFT_OUT, job=job) == ["left"]


def test_a_job_that_the_heads_own_code_ended_is_not_repeated() -> None:
    assert names(GOOD, job=view(outcome=Outcome(Ending.FAILED, failure=Failure(FailureKind.BUILD_FAILED, "plan.py", Side.HEAD)))) is None


def test_a_held_out_shape_that_was_lost_asks_for_a_whole_round() -> None:
    assert names(replace(LOST, held_out=True)) == []
    later = facts(GOOD)
    assert [m.case.id for m in joined([facts(replace(LOST, held_out=True)), later], 0.01).measurements] == [GOOD.case.id]


def test_good_sessions_do_not_undo_a_confirmed_slow_down() -> None:
    fast = measured("slower", sessions=tuple(session(1.0) for _ in range(2)))
    for rounds in range(1, (MOST_SESSIONS - len(SLOWER.sessions)) // 2 + 1):
        found = joined([facts(SLOWER), *(facts(fast) for _ in range(rounds))], 0.01)
        report = judge_run(run(pool(*found.measurements)))
        assert report.verdict is not RunVerdict.PASS, rounds
        assert report.cases[0].sessions == 4 + 2 * rounds


def test_a_fault_found_once_stays_found() -> None:
    wrong = measured("x", None, accuracy=Accuracies(accuracy(), accuracy(ok=False)))
    for order in ((wrong, measured()), (measured(), wrong)):
        assert judge_run(run(pool(together(*order)))).verdict is RunVerdict.BROKEN


def test_trouble_of_the_machine_is_made_good_by_a_later_round_and_takes_nothing_from_an_earlier_one() -> None:
    lost = replace(LOST, case=GOOD.case)
    for order in ((lost, GOOD), (GOOD, lost)):
        assert judge_run(run(pool(together(*order)))).verdict is RunVerdict.PASS
    assert judge_run(run(pool(together(lost, lost)))).verdict is RunVerdict.INFRASTRUCTURE


def test_a_round_that_failed_leaves_the_outcome_of_the_one_that_did_not() -> None:
    broken = Outcome(Ending.FAILED, failure=Failure(FailureKind.INFRASTRUCTURE, "no git"))
    assert joined([facts(GOOD), facts(outcome=broken)], 0.01).view.outcome == DONE
    assert joined([facts(outcome=broken), facts(GOOD)], 0.01).view.outcome == DONE
    assert joined([facts(outcome=broken), facts(ending=JobEnding.LOST, outcome=None)], 0.01).view.ending is JobEnding.LOST


def test_times_of_a_round_whose_controls_left_their_fence_are_no_samples() -> None:
    doubtful = replace(DONE, controls=(Control("c", True, both(0.9)),))
    slow, fine = facts(SLOWER, outcome=doubtful), facts(measured("slower"))
    assert judge_run(run(pool(*joined([slow, fine], 0.01).measurements))).verdict is RunVerdict.PASS
    assert joined([fine, slow], 0.01).view.outcome == DONE
    assert joined([slow], 0.01) == slow


ONES = st.sampled_from([measured(), measured(speedup=0.9), measured(speedup=1.2), replace(LOST, case=case("x"))])


@examples()
@given(st.lists(ONES, min_size=1, max_size=5))
def test_every_session_of_every_round_counts(found: list[Measurement]) -> None:
    whole = joined([facts(one) for one in found], 0.01).measurements
    assert [m.case.id for m in whole] == [case("x").id]
    assert sorted(map(repr, whole[0].sessions)) == sorted(repr(s) for one in found for s in one.sessions)

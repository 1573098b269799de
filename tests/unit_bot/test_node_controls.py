"""What a node's controls do to its verdict, and how the answer tells of them."""

from dataclasses import replace

import pytest
from facts_for_verdicts import NODE, failed, measured, pool, run, session

from bot.adapters import rendering
from bot.core.report import dump, load
from bot.core.verdict import CaseVerdict, RunVerdict, judge_run
from runners.protocol import Control, Ending, FailureKind, Outcome, Side, Stage


def control(*speedups: float, name: str = "gemm/edge/c/m1/f32") -> Control:
    stages = (Stage.SCREEN, Stage.SCREEN, Stage.CONFIRM, Stage.CONFIRM)
    return Control(name, True, tuple(session(speedup, stage) for speedup, stage in zip(speedups, stages, strict=False)))


def judged(*controls: Control, speedup: float = 1.0, others=()):
    return judge_run(run(pool(measured(speedup=speedup), *others, outcome=Outcome(Ending.COMPLETED, NODE, controls=controls))))


GOOD, BAD = control(1.0001, 0.9999), control(1.02, 1.02, 1.02, 1.02)


def test_controls_within_their_fence_are_told_with_it():
    report = judged(GOOD, control(1.001, 1.001))
    assert report.verdict is RunVerdict.PASS and [one.inside for one in report.nodes[0].controls] == [True, True]
    assert "controls: 2 of 2 within ±0.3 %" in rendering.answer(report)
    assert load(dump(report)) == report


@pytest.mark.parametrize("speedup", [0.5, 1.0, 2.0])
def test_times_of_a_node_whose_control_left_its_fence_mean_nothing(speedup):
    report = judged(GOOD, BAD, speedup=speedup)
    assert report.verdict is report.nodes[0].verdict is RunVerdict.INFRASTRUCTURE
    (case,) = report.cases
    assert (case.verdict, case.speedup) == (CaseVerdict.NOT_MEASURED, None) and "+2.0 %, where 0.3 %" in case.reason
    assert "controls: 1 of 2 within ±0.3 %" in rendering.answer(report)


def test_a_head_that_is_wrong_is_wrong_whatever_the_controls_say():
    wrong = replace(failed(FailureKind.INCORRECT, Side.HEAD), case=replace(measured().case, id="gemm/edge/wrong/m1/f32"))
    assert judged(BAD, others=(wrong,)).verdict is RunVerdict.BROKEN


def test_cases_that_were_not_timed_do_not_need_controls():
    report = judged(BAD, others=(measured("y", speedup=None, identical=True),))
    assert report.cases[1].verdict is CaseVerdict.IDENTICAL


def test_a_control_that_gave_no_times_is_told_and_decides_nothing():
    report = judged(Control("gemm/edge/c/m1/f32", False, trouble="took longer than 60 s"))
    assert report.verdict is RunVerdict.PASS
    assert "controls: none could be measured" in rendering.answer(report)

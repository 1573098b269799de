"""Times faster than the device can be are suspicious; a large speed-up is believed once it was judged again."""

from dataclasses import replace

import pytest
from facts_for_verdicts import NODE, case, measured, pool, run

from bot.adapters.tables import rate
from bot.core.report import dump as dump_run
from bot.core.report import load
from bot.core.roofline import is_beyond, least_us
from bot.core.verdict import CaseRules, CaseVerdict, RunVerdict, judge_case, judge_run
from runners.protocol import Ending, Outcome, Roofline

LINE = Roofline(f32=1e12, f16=0.0, read=1e11, copy=2e11, cached=1e12, driver="1", measured="2026-12-01")
JUDGED = {"judged_again": 3}


def counted(flops: float = 0.0, moved: float = 0.0, **facts):
    return replace(case(), flops=flops, bytes=moved, **facts)


@pytest.mark.parametrize(
    ("what", "line", "us"),
    [
        (counted(1e9), LINE, 1000.0),
        (counted(1e9, dtype="f16"), LINE, 0.0),
        (counted(1e9, dtype="f16"), replace(LINE, f16=2e12), 500.0),
        (counted(1e9, dtype="q4_0"), LINE, 0.0),
        (counted(0, 1e9), LINE, 1000.0),
        (counted(0, 1e9, cold=True), LINE, 5000.0),
        (counted(1e9, 2e9), LINE, 2000.0),
        (counted(1e9, 1e6), replace(LINE, f32=0.0), 1.0),
    ],
)
def test_the_least_time_is_of_what_the_case_counts(what, line, us):
    assert least_us(what, line) == pytest.approx(us)
    assert is_beyond(0.7 * us, what, line) is (us > 0) and not is_beyond(0.9 * us, what, line)


@pytest.mark.parametrize(
    ("speedup", "flops", "counts", "line", "verdict", "reason"),
    [
        (2.0, 45e6, {}, LINE, CaseVerdict.FASTER, ""),  # base 100 µs, head 50
        (2.0, 80e6, {}, LINE, CaseVerdict.SUSPICIOUS, "faster than the measured roofline"),
        (2.0, 80e6, {}, None, CaseVerdict.FASTER, ""),
        (2.0, 200e6, {}, LINE, CaseVerdict.FASTER, ""),  # base is as impossible
        (0.5, 80e6, {}, LINE, CaseVerdict.SLOWER, ""),
        (20.0, 1e6, JUDGED, LINE, CaseVerdict.FASTER, "judged again on 3 further inputs"),
        (20.0, 1e6, {}, LINE, CaseVerdict.SUSPICIOUS, "not judged again"),
        (20.0, 1e6, JUDGED, None, CaseVerdict.SUSPICIOUS, "no roofline"),
        (20.0, 0.0, JUDGED, LINE, CaseVerdict.SUSPICIOUS, "no FLOP or byte count"),
        (20.0, 50e6, JUDGED, LINE, CaseVerdict.SUSPICIOUS, "faster than the measured roofline"),
    ],
)
def test_what_is_faster_than_the_device_is_not_believed(speedup, flops, counts, line, verdict, reason):
    report = judge_case(measured(speedup=speedup, case=counted(flops), counts=counts), CaseRules(roofline=line))
    assert report.verdict is verdict and reason in report.reason


def test_a_run_holds_its_cases_against_the_nodes_roofline_and_says_the_share():
    facts = pool(measured(speedup=2.0, case=counted(80e6)), outcome=Outcome(Ending.COMPLETED, NODE, roofline=LINE))
    judged = load(dump_run(judge_run(run(facts))))
    assert judged.verdict is RunVerdict.SUSPICIOUS and judged.nodes[0].roofline == LINE
    assert rate(judged.cases[0], 160.0) == "0.50 TFLOP/s (50 % of roofline)"
    assert judge_run(run(replace(facts, outcome=Outcome(Ending.COMPLETED, NODE)))).verdict is RunVerdict.PASS

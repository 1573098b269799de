"""Case and run verdicts: each outcome by name, and the order in which they are chosen."""

from dataclasses import replace

import pytest
from examples import examples
from facts_for_verdicts import accuracy, both, case, failed, measured, pool, run, session
from hypothesis import given
from hypothesis import strategies as st

from bot.core.report import dump, load
from bot.core.verdict import CaseRules, CaseVerdict, RunVerdict, conclusion, judge_case, judge_run
from runners.protocol import (
    Accuracies,
    BuildRecord,
    Builds,
    Ending,
    Enumeration,
    Failure,
    FailureKind,
    KernelResources,
    Outcome,
    Race,
    Side,
    Stage,
    StaticEntry,
)
from runners.sampling import Rules

V, R = CaseVerdict, RunVerdict
TROUBLE = Failure(FailureKind.INFRASTRUCTURE, "no sandbox")


@pytest.mark.parametrize(
    ("measurement", "verdict"),
    [
        (measured(), V.SAME),
        (measured(speedup=2.0), V.FASTER),
        (measured(speedup=0.5), V.SLOWER),
        (measured(speedup=None, sessions=(session(0.5), session(0.5))), V.INCONCLUSIVE),
        (measured(speedup=None, sessions=(session(0.5),)), V.INCONCLUSIVE),
        (measured(identical=True, speedup=None), V.IDENTICAL),
        (measured(held_out=True, speedup=None), V.CORRECT),
        (measured(speedup=None), V.NOT_MEASURED),
        (measured(speedup=None, not_measured="beyond the budget"), V.NOT_MEASURED),
        (measured(speedup=None, failures=(TROUBLE,)), V.NOT_MEASURED),
        (failed(FailureKind.BUILD_FAILED, Side.HEAD), V.BUILD_FAILED),
        (failed(FailureKind.CRASHED, Side.HEAD), V.CRASHED),
        (failed(FailureKind.TIMED_OUT, Side.HEAD), V.TIMED_OUT),
        (failed(FailureKind.INCORRECT, Side.HEAD), V.INCORRECT),
        (measured(build=Builds(BuildRecord(ok=True), BuildRecord(ok=False))), V.BUILD_FAILED),
        (measured(accuracy=Accuracies(accuracy(), accuracy(False))), V.INCORRECT),
        (measured(races=(Race("gemm.cu", 12, "unordered"),)), V.INCORRECT),
        (measured(speedup=20.0, case=replace(case(), flops=0.0, bytes=0.0)), V.SUSPICIOUS),
    ],
)
def test_case_verdicts(measurement, verdict):
    assert judge_case(measurement).verdict is verdict


def test_a_race_names_its_line_and_a_strangers_is_a_remark():
    racy = measured(races=(Race("fa_tile/fa_tile.cu", 88, "write and read without a barrier"),))
    assert judge_case(racy).reason.startswith("fa_tile/fa_tile.cu:88")
    remark = judge_case(racy, CaseRules(trusted=False))
    assert (remark.verdict, remark.races) == (V.SAME, racy.races)


@pytest.mark.parametrize(
    ("file", "line", "message", "told"),
    [
        ("k/k.cu", 4, "k/k.cu:4:35: error: no z", "k/k.cu:4:35: error: no z"),
        ("k/plan.py", 12, "k/plan.py: KeyError: 'n'", "k/plan.py:12: KeyError: 'n'"),
        ("k/plan.py", 0, "k/plan.py: grid: Field required", "k/plan.py: grid: Field required"),
        ("k/k.cu", 4, "no z", "k/k.cu:4: no z"),
        ("", 0, "ended by signal 11", "ended by signal 11"),
    ],
)
def test_a_failure_is_told_with_its_place_once(file, line, message, told):
    failure = Failure(FailureKind.BUILD_FAILED, message, Side.HEAD, file=file, line=line)
    assert judge_case(measured(failures=(failure,))).reason == told


@pytest.mark.parametrize("kind", [FailureKind.INCORRECT, FailureKind.CRASHED, FailureKind.BUILD_FAILED])
def test_the_speed_of_a_failing_kernel_is_never_shown(kind):
    report = judge_case(replace(failed(kind, Side.HEAD), sessions=both(2.0)))
    assert (report.speedup, report.interval, report.time_us.base, report.time_us.head) == (None, None, None, None)


def test_a_base_that_fails_too_is_said_so():
    report = judge_case(failed(FailureKind.INCORRECT, Side.BASE, Side.HEAD))
    assert (report.verdict, report.base_failed) == (V.INCORRECT, True)


def test_identical_code_that_is_wrong_is_wrong_on_both_sides():
    report = judge_case(measured(identical=True, speedup=None, accuracy=Accuracies(None, accuracy(False))))
    assert (report.verdict, report.base_failed) == (V.INCORRECT, True)


def test_a_head_that_mends_the_base_is_correct():
    report = judge_case(failed(FailureKind.CRASHED, Side.BASE))
    assert (report.verdict, report.reason, report.base_failed) == (V.CORRECT, "base crashed", True)
    assert judge_run(run(pool(failed(FailureKind.CRASHED, Side.BASE)))).verdict is R.PASS


def test_accuracy_alone_is_correct():
    assert judge_case(measured(speedup=None), CaseRules(timed=False)).verdict is V.CORRECT
    bare = measured(speedup=None, accuracy=Accuracies())
    assert judge_case(bare, CaseRules(timed=False)).verdict is V.NOT_MEASURED


def test_times_samples_and_interval_are_reported():
    report = judge_case(measured(speedup=2.0))
    assert report.time_us.base.median == pytest.approx(100)
    assert report.time_us.head.median == pytest.approx(50)
    assert len(report.time_us.head.samples) == 40
    low, high = report.interval
    assert low < report.speedup < high
    assert (report.sessions, report.quads) == (2, 20)


def test_disturbed_sessions_are_counted_apart():
    taken = (session(1.0), session(1.0), replace(session(0.1), disturbed="throttled"))
    report = judge_case(measured(speedup=None, sessions=taken))
    assert (report.verdict, report.sessions, report.discarded) == (V.SAME, 2, 1)


def test_an_undecided_case_holds_the_run_only_where_harm_is_possible():
    mild = measured(speedup=None, sessions=both(1 / 1.012, scatter=0.002))
    wild = measured(speedup=None, sessions=(session(0.99, scatter=0.1), session(1.0, scatter=0.1)))
    wide = CaseRules(Rules(floor=0.011, suspects=10**6))
    assert (judge_case(mild, wide).verdict, judge_case(mild, wide).holds) == (V.INCONCLUSIVE, False)
    assert 0.012 < judge_case(mild, wide).slowdown_at_most < 0.03
    assert (judge_case(wild).verdict, judge_case(wild).holds) == (V.INCONCLUSIVE, True)
    assert judge_run(run(pool(wild))).verdict is R.INCONCLUSIVE


SLOWER = measured("slow", speedup=0.5)
BROKEN = replace(failed(FailureKind.CRASHED, Side.HEAD), case=case("broken"))
BOTH_FAIL = replace(failed(FailureKind.CRASHED, Side.BASE, Side.HEAD), case=case("both"))
SUSPICIOUS = measured("fast", speedup=20.0, case=replace(case("fast"), flops=0.0, bytes=0.0))
MISSING = measured("budget", speedup=None, not_measured="beyond the budget")
ODD = measured("odd", speedup=None, failures=(TROUBLE,))

# Each line adds what the verdict needs to the facts of the lines below it, which must not matter any more.
LADDER = [
    (R.BROKEN, BROKEN),
    (R.REGRESSED, SLOWER),
    (R.INFRASTRUCTURE, ODD),
    (R.SUSPICIOUS, SUSPICIOUS),
    (R.INCONCLUSIVE, BOTH_FAIL),
    (R.INCOMPLETE, MISSING),
    (R.PASS, measured("good")),
]


@pytest.mark.parametrize("at", range(len(LADDER)))
def test_the_first_verdict_that_applies_is_chosen(at):
    verdict, _ = LADDER[at]
    assert judge_run(run(pool(*(measurement for _, measurement in LADDER[at:])))).verdict is verdict


@pytest.mark.parametrize(
    "enumeration", [{"changed_judge": ("kernels/gemm/cases.py",)}, {"new": (SUSPICIOUS.case.id,)}, {"removed": (case("gone").id,)}]
)
def test_a_changed_judge_comes_before_suspicious_and_after_infrastructure(enumeration):
    facts = pool(SUSPICIOUS, enumeration=Enumeration((SUSPICIOUS.case, case("gone")), **enumeration))
    if "new" not in enumeration:
        assert judge_run(run(facts)).verdict is R.JUDGE_CHANGED
    assert judge_run(run(facts, waived=("judge",))).verdict is not R.JUDGE_CHANGED
    trouble = replace(facts, outcome=Outcome(Ending.FAILED, failure=TROUBLE))
    assert judge_run(run(trouble)).verdict is R.INFRASTRUCTURE


def test_new_and_removed_cases_are_named():
    here = measured("new")
    facts = pool(here, enumeration=Enumeration((here.case, case("gone")), new=(here.case.id,), removed=(case("gone").id,)))
    report = judge_run(run(facts))
    assert {one.id.split("/")[2]: one.verdict for one in report.cases} == {"new": V.NEW, "gone": V.REMOVED}
    assert report.verdict is R.JUDGE_CHANGED


def test_cancelled_comes_first():
    assert judge_run(run(pool(BROKEN), cancelled=True)).verdict is R.CANCELLED


@pytest.mark.parametrize(
    "facts",
    [
        pool(),
        pool(measured(), outcome=None, missing="no node"),
        pool(measured(), enumeration=None),
        pool(measured(), outcome=Outcome(Ending.CANCELLED)),
        pool(measured(), enumeration=Enumeration((case("x"), case("vanished")))),
        pool(measured(speedup=None), timed=False),
    ],
)
def test_nothing_missing_is_ever_green(facts):
    assert judge_run(run(facts)).verdict is R.INCOMPLETE


def test_no_pool_at_all_is_not_green():
    assert judge_run(run()).verdict is R.INCOMPLETE
    assert judge_run(run(gate=False)).verdict is R.INCOMPLETE


def test_an_absent_pool_counts_in_a_gate_run_only_where_required():
    absent = pool(name="p40", required=False, outcome=None, enumeration=None, missing="no node")
    assert judge_run(run(pool(measured()), absent)).verdict is R.PASS
    assert judge_run(run(pool(measured()), absent)).missing == ("p40: no node",)
    assert judge_run(run(pool(measured()), replace(absent, required=True))).verdict is R.INCOMPLETE
    assert judge_run(run(pool(measured()), absent, gate=False)).verdict is R.INCOMPLETE


def test_accuracy_alone_passes_where_no_gate_is_asked():
    assert judge_run(run(pool(measured(speedup=None), timed=False), gate=False)).verdict is R.PASS


def test_an_untimed_pool_that_is_not_required_may_only_check():
    host = pool(measured(speedup=None), name="host", required=False, timed=False)
    assert judge_run(run(pool(measured()), host)).verdict is R.PASS
    racy = pool(measured(speedup=None, races=(Race("a.cu", 1, "race"),)), name="host", required=False, timed=False)
    assert judge_run(run(pool(measured()), racy)).verdict is R.BROKEN


def test_documentation_only_passes_without_a_time():
    report = judge_run(run(pool(measured("a", identical=True, speedup=None), measured("b", identical=True, speedup=None))))
    assert report.verdict is R.PASS
    assert all(one.quads == 0 for one in report.cases)


@pytest.mark.parametrize("waiver", [SLOWER.case.id, f"{SLOWER.case.id}@mi50"])
def test_a_waived_finding_does_not_count_and_is_listed(waiver):
    report = judge_run(run(pool(SLOWER, measured("good")), waived=(waiver,)))
    assert (report.verdict, report.waived) == (R.PASS, (waiver,))
    assert judge_run(run(pool(SLOWER), waived=(f"{SLOWER.case.id}@p40",))).verdict is R.REGRESSED


def test_every_node_has_the_verdict_of_its_own_cases():
    report = judge_run(run(pool(SLOWER), pool(measured(), name="p40")))
    assert {node.pool: node.verdict for node in report.nodes} == {"mi50": R.REGRESSED, "p40": R.PASS}
    assert report.verdict is R.REGRESSED
    assert SLOWER.case.id in report.reason


def test_a_job_that_the_heads_own_code_ended_is_broken():
    failure = Failure(FailureKind.CRASHED, "plan.py: SyntaxError", Side.HEAD)
    assert judge_run(run(pool(outcome=Outcome(Ending.FAILED, failure=failure)))).verdict is R.BROKEN
    base = replace(failure, side=Side.BASE)
    assert judge_run(run(pool(outcome=Outcome(Ending.FAILED, failure=base)))).verdict is R.INCOMPLETE


def entry(side: Side, target: str = "gfx906", **facts) -> StaticEntry:
    return StaticEntry(target, "gemm", "row", side, **{"ok": True, "toolchain": "clang", "resources": KernelResources("gemm", 40), **facts})


@pytest.mark.parametrize(
    ("base", "head", "bad", "change"),
    [
        ({}, {}, False, ""),
        ({}, {"ok": False, "log": "error"}, True, "does not compile"),
        ({}, {"infeasible": "LDS"}, True, "cannot be resident"),
        ({"ok": False}, {"ok": False}, False, "does not compile"),
        ({"ok": False}, {}, False, "base failed"),
        (None, {}, False, "new"),
        (None, {"ok": False}, True, "does not compile"),
        ({}, {"resources": KernelResources("gemm", 96, spill_bytes=8)}, False, "new spill, registers 40 to 96"),
        ({"toolchain": "other"}, {}, False, "new"),
    ],
)
def test_the_static_gate_compares_equal_toolchains(base, head, bad, change):
    entries = (*(() if base is None else (entry(Side.BASE, **base),)), entry(Side.HEAD, **head))
    report = judge_run(run(pool(measured(), outcome=Outcome(Ending.COMPLETED, static=entries))))
    (row,) = report.static
    assert (row.bad, row.change) == (bad, change)
    assert report.verdict is (R.BROKEN if bad else R.PASS)


@pytest.mark.parametrize("verdict", list(R))
def test_a_check_is_green_for_pass_alone(verdict):
    wanted = {R.PASS: "success", R.BROKEN: "failure", R.REGRESSED: "failure", R.CANCELLED: "cancelled"}
    assert conclusion(verdict) == wanted.get(verdict, "action_required")


def test_a_run_survives_its_json():
    report = judge_run(run(pool(SLOWER, BROKEN, measured(speedup=2.0), MISSING)))
    assert load(dump(report)) == report


MEASUREMENTS = st.lists(st.sampled_from([one for _, one in LADDER]), max_size=5, unique_by=lambda one: one.case.id)


@examples()
@given(MEASUREMENTS, st.booleans())
def test_the_run_is_as_bad_as_its_worst_case(measurements, gate):
    order = [verdict for verdict, _ in LADDER]
    worst = min((order.index(verdict) for verdict, one in LADDER if one in measurements), default=order.index(R.INCOMPLETE))
    assert judge_run(run(pool(*measurements), gate=gate)).verdict is order[worst]


INVERSE = {V.SLOWER: V.FASTER, V.FASTER: V.SLOWER}


@examples(60)
@given(st.sampled_from([0.3, 0.9, 0.98, 0.995, 1.0, 1.004, 1.02, 1.5, 4.0]), st.floats(0, 0.02))
def test_swapping_the_sides_of_a_confirmed_case_inverts_its_verdict(speedup, scatter):
    there = judge_case(measured(speedup=None, sessions=both(speedup, scatter)))
    turned = tuple(replace(one, order=tuple(1 - order for order in one.order)) for one in both(speedup, scatter))
    back = judge_case(measured(speedup=None, sessions=turned))
    assert back.verdict is INVERSE.get(there.verdict, there.verdict)


def test_suspects_share_the_confirmation():
    many = pool(*(measured(f"c{i}", speedup=None, sessions=both(1 / 1.02, 0.005)) for i in range(3)))
    assert {one.verdict for one in judge_run(run(many)).cases} == {V.SLOWER}
    assert all(one.sessions[-1].stage is Stage.CONFIRM for one in many.measurements)

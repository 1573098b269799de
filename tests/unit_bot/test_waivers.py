"""What a waiver accepts: one finding in one code, for a time; anything else of the case counts as before."""

from dataclasses import replace

import pytest
from facts_for_verdicts import HEAD, accuracy, failed, measured, pool, run, session

from bot.core.errors import PlanError
from bot.core.facts import RunFacts
from bot.core.report import Run
from bot.core.verdict import RunVerdict, judge_run
from bot.core.waivers import Waiver, codes_of
from runners.protocol import Accuracies, BuildRecord, Builds, Enumeration, FailureKind, Measurement, Side


def coded(code: str, speedup: float = 0.9, name: str = "x", **facts: object) -> Measurement:
    return measured(name, speedup, build=Builds(BuildRecord(True, "base"), BuildRecord(True, code)), **facts)


CASE = coded("v1").case.id
VAGUE = (session(0.9, scatter=0.5), session(1.05, scatter=0.5))


def waiver(scope: str, found: Run) -> Waiver:
    return Waiver(scope, codes_of(scope, found), "known", "noor", False, 0.0, 1e10)


def given(scope: str, *pools: object) -> Waiver:
    return waiver(scope, judge_run(run(*pools)))  # type: ignore[arg-type]


def judged(one: Waiver, *pools: object, **facts: object) -> Run:
    return judge_run(run(*pools, waivers=(one,), **facts))  # type: ignore[arg-type]


def test_a_finding_is_accepted_and_told() -> None:
    found = judged(given(CASE, pool(coded("v1"))), pool(coded("v1")))
    assert (found.verdict, found.waived) == (RunVerdict.PASS, (f"{CASE}@mi50",))
    assert [(one.scope, one.by, one.reason, one.covers) for one in found.waivers] == [(CASE, "noor", "known", found.waived)]
    assert found.cases[0].verdict.value == "slower"


def test_it_is_lifted_when_the_code_changes_again() -> None:
    found = judged(given(CASE, pool(coded("v1"))), pool(coded("v2")))
    assert (found.verdict, found.waived, found.waivers[0].covers) == (RunVerdict.REGRESSED, (), ())


def test_another_case_is_not_covered() -> None:
    assert judged(given(CASE, pool(coded("v1"))), pool(coded("v1"), coded("v1", name="y"))).verdict is RunVerdict.REGRESSED


def test_what_is_found_later_in_the_same_code_is_not_covered() -> None:
    one = given(CASE, pool(coded("v1")))
    wrong = coded("v1", accuracy=Accuracies(accuracy(), accuracy(ok=False)))
    assert judged(one, pool(wrong)).verdict is RunVerdict.BROKEN


def test_slower_covers_perhaps_slower_and_not_the_other_way_round() -> None:
    slow, vague = pool(coded("v1")), pool(coded("v1", sessions=VAGUE))
    assert judged(given(CASE, slow), vague).verdict is RunVerdict.PASS
    assert judged(given(CASE, vague), slow).verdict is RunVerdict.REGRESSED


def test_a_pool_by_name_is_one_pool() -> None:
    both_pools = pool(coded("v1")), pool(coded("v1"), name="p40")
    assert judged(given(f"{CASE}@p40", *both_pools), *both_pools).waived == (f"{CASE}@p40",)
    assert judged(given(CASE, *both_pools), *both_pools).verdict is RunVerdict.PASS


def test_where_nothing_compiled_a_waiver_holds_for_this_head_alone() -> None:
    broken = pool(failed(FailureKind.BUILD_FAILED, Side.HEAD))
    one = given(CASE, broken)
    assert judged(one, broken).verdict is RunVerdict.PASS
    assert judge_run(replace(run(broken, waivers=(one,)), head="c" * 40)).verdict is RunVerdict.BROKEN


def judge(digest: str, *changed: str) -> RunFacts:
    m = measured()
    return run(pool(m, enumeration=Enumeration((m.case,), changed_judge=changed, judge_hash=digest)))


def test_a_changed_judge_is_accepted_until_it_changes_again() -> None:
    one = waiver("judge", judge_run(judge("d1", "kernels/gemm/reference.py")))
    for digest, verdict in (("d1", RunVerdict.PASS), ("d2", RunVerdict.JUDGE_CHANGED)):
        found = judge_run(replace(judge(digest, "kernels/gemm/reference.py"), waivers=(one,)))
        assert found.verdict is verdict and found.changed_judge and found.waived == (("judge",) if digest == "d1" else ())


def test_a_node_that_names_no_digest_binds_the_waiver_to_the_head() -> None:
    facts = judge("", "kernels/gemm/reference.py")
    one = waiver("judge", judge_run(facts))
    assert one.codes == {"": HEAD} and judge_run(replace(facts, waivers=(one,))).verdict is RunVerdict.PASS


@pytest.mark.parametrize(
    ("scope", "says", "suggestion"),
    [
        (CASE.replace("x", "xx"), "no case", CASE),
        ("edge/late", "no case", "gemm/edge/late/m1/f32"),
        ("jugde", "no case", "judge"),
        (f"{CASE}@mi5", "did not run on mi5", "mi50"),
        ("judge", "did not change", ""),
        ("gemm/edge/good/m1/f32", "same, so there is nothing", ""),
        ("gemm/edge/late/m1/f32", "/retest", ""),
    ],
)
def test_what_there_is_nothing_to_accept_of_is_said_with_the_nearest_word(scope: str, says: str, suggestion: str) -> None:
    found = judge_run(run(pool(coded("v1"), measured("good"), measured("late", None, not_measured="beyond the budget"))))
    with pytest.raises(PlanError, match=says) as refused:
        codes_of(scope, found)
    assert refused.value.suggestion == suggestion


def test_a_new_case_is_the_judges_to_waive() -> None:
    m = measured("new")
    found = judge_run(run(pool(m, enumeration=Enumeration((), new=(m.case.id,)))))
    with pytest.raises(PlanError, match="/waive judge"):
        codes_of(m.case.id, found)
    assert codes_of("judge", found) == {"": HEAD}

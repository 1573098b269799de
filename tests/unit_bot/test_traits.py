"""What failing cases have in common: true of all of them, of no right one, and the plainest thing that is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from bot.core.report import CaseReport
from bot.core.traits import NOT_SLOWER, RIGHT, SLOWER, WRONG, Common, Relation, Trait, in_common
from bot.core.verdict import CaseVerdict as V

ONE = CaseReport("gemm/x", "gemm", "llama-1b", {}, "f32", {}, "h200", V.CORRECT, role="tail")


def case(verdict: V, dtype: str = "f32", pool: str = "h200", **shape: object) -> CaseReport:
    return replace(ONE, verdict=verdict, dtype=dtype, pool=pool, shape=shape)


def traits(*cases: CaseReport) -> tuple[Trait, ...]:
    (found,) = in_common(cases, WRONG, RIGHT)
    return found.traits


def test_one_property_tells_them_apart() -> None:
    cases = [case(V.INCORRECT, d=d, n=n) for d in (576,) for n in (1, 64)] + [case(V.SAME, d=d, n=n) for d in (64, 128) for n in (1, 64)]
    assert in_common(cases, WRONG, RIGHT) == (Common("gemm", "h200", 2, 4, (Trait("d", Relation.IS, 576),)),)


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ((512, 2048), (1, 511), Trait("m", Relation.AT_LEAST, 512)),
        ((1, 16), (17, 2048), Trait("m", Relation.AT_MOST, 16)),
        ((3, 65, 130), (4, 64, 256), Trait("m", Relation.NO_MULTIPLE, 4)),
        ((32, 96), (16, 40, 100), Trait("m", Relation.MULTIPLE, 32)),
    ],
)
def test_sizes_are_told_by_a_bound_or_a_multiple(wrong: tuple[int, ...], right: tuple[int, ...], said: Trait) -> None:
    assert traits(*(case(V.CRASHED, m=m) for m in wrong), *(case(V.CORRECT, m=m) for m in right)) == (said,)


def test_two_properties_where_one_is_not_enough() -> None:
    right = [case(V.CORRECT, "f16", m=64), case(V.CORRECT, "f32", m=512), case(V.CORRECT, "f32", m=640)]
    found = traits(case(V.INCORRECT, "f16", m=512), case(V.INCORRECT, "f16", m=640), *right)
    assert found == (Trait("dtype", Relation.IS, "f16"), Trait("m", Relation.AT_LEAST, 512))


def test_a_property_that_only_some_shapes_have() -> None:
    wrong = [case(V.INCORRECT, n=n, window=128) for n in (1, 64)]
    assert traits(*wrong, case(V.CORRECT, n=1), case(V.CORRECT, n=64)) == (Trait("window", Relation.IS, 128),)


def test_nothing_is_said_of_a_single_case_or_where_nothing_tells_them_apart() -> None:
    right = [case(V.CORRECT, m=1), case(V.CORRECT, m=2)]
    assert in_common([case(V.INCORRECT, m=3), *right], WRONG, RIGHT) == ()
    assert in_common([case(V.INCORRECT, m=3), case(V.INCORRECT, m=4)], WRONG, RIGHT) == ()
    assert in_common([case(V.INCORRECT, m=1), case(V.INCORRECT, m=2), *right], WRONG, RIGHT) == ()


def test_each_pool_stands_alone_and_what_did_not_run_counts_for_nothing() -> None:
    cases = [case(V.INCORRECT, pool=pool, m=m) for pool in ("mi50", "p40") for m in (64, 65)] + [
        case(V.CORRECT, pool="mi50", m=m) for m in (1, 2)
    ]
    others = [case(V.NOT_MEASURED, pool="p40", m=3), case(V.NEW, pool="p40", m=4)]
    assert [one.pool for one in in_common([*cases, *others], WRONG, RIGHT)] == ["mi50"]


def test_slower_cases_are_told_from_those_that_are_not() -> None:
    cases = [case(V.SLOWER, m=1), case(V.SLOWER, m=4), case(V.SAME, m=16), case(V.FASTER, m=512), case(V.INCORRECT, m=2)]
    assert in_common(cases, SLOWER, NOT_SLOWER) == (Common("gemm", "h200", 2, 2, (Trait("m", Relation.AT_MOST, 4),)),)


SHAPES = st.dictionaries(st.sampled_from("mnk"), st.integers(0, 600) | st.booleans() | st.sampled_from(["nt", "tt"]) | st.floats(-2, 2))


@examples()
@given(
    st.lists(
        st.builds(lambda verdict, shape: case(verdict, **shape), st.sampled_from([V.INCORRECT, V.CRASHED, V.CORRECT, V.SLOWER]), SHAPES)
    )
)
def test_what_is_said_holds_of_every_failing_case_and_of_no_right_one(cases: list[CaseReport]) -> None:
    for common in in_common(cases, WRONG, RIGHT):
        for one in cases:
            having = {"dtype": one.dtype, "model": one.model, "role": one.role, **one.shape}
            assert all(trait.holds(having) for trait in common.traits) is (one.verdict in (V.INCORRECT, V.CRASHED))

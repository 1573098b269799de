"""A run's A/A controls: the fence, how often equal code leaves it, and which rows are taken for controls."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from noisy import session, sessions

from kernels.spec import Case, Plan, Tier
from runners.controls import controls_for
from runners.protocol import Session, Side, Stage
from runners.rows import Row, SideWork
from runners.sampling import CONTROL_SHARE, beyond, control_wants, fence

TRACES = Path(__file__).parent.parent / "data" / "h200-ab-traces.npz"


def both(speedup: float, again: float, noise: float = 0.002) -> list[Session]:
    return [*sessions(speedup, noise=noise), *sessions(again, seed=3, noise=noise, stage=Stage.CONFIRM)]


def test_equal_code_stays_inside_after_two_sessions():
    taken = sessions(1.0)
    assert control_wants(taken[:1]) is Stage.SCREEN and control_wants(taken) is None
    assert fence(taken, Stage.SCREEN).inside and not beyond(taken)


def test_a_fence_is_never_narrower_than_a_share_of_the_floor():
    calm = sessions(1.002, noise=0.0)
    assert fence(calm, Stage.SCREEN).reach == pytest.approx(CONTROL_SHARE * math.log1p(0.01))
    assert not beyond(calm)


@pytest.mark.parametrize(("again", "left"), [(1.03, True), (0.97, False), (1.0, False)])
def test_a_control_that_is_off_is_measured_again_and_both_count(again, left):
    taken = both(1.03, again)
    assert control_wants(taken[:2]) is Stage.CONFIRM and control_wants(taken) is None
    assert beyond(taken) is left


def test_a_control_that_could_not_be_measured_again_is_believed_to_be_off():
    assert beyond(sessions(0.97))


def test_sessions_that_do_not_count_are_taken_again_but_not_for_ever():
    spoilt = [replace(session(seed=number), disturbed="throttled") for number in range(4)]
    assert control_wants([*sessions(1.0)[:1], spoilt[0]]) is Stage.SCREEN
    assert control_wants(spoilt) is None and not beyond(spoilt)


@examples()
@given(st.floats(0.9, 1.1), st.floats(0.9, 1.1), st.floats(0, 0.02), st.floats(1e-3, 1e3))
def test_neither_the_unit_nor_the_names_of_the_sides_matter(speedup, again, noise, scale):
    taken = both(speedup, again, noise)
    scaled = [replace(one, quads=tuple(tuple(scale * time for time in quad) for quad in one.quads)) for one in taken]
    turned = [replace(one, order=tuple(1 - order for order in one.order)) for one in taken]
    assert beyond(scaled) is beyond(turned) is beyond(taken)


def real(rng: np.random.Generator, bias: float) -> list[Session]:
    """Four sessions of 20 quads of one workload's unchanged code, all of them biased."""
    with np.load(TRACES) as kept:
        names = [name for name in sorted(kept.files) if name.endswith("/0")]
        pairs = kept[names[rng.integers(len(names))]].astype(float) * np.array([1.0, 1.0 + bias])
    starts = 2 * rng.integers(0, 130, 4)
    some = np.stack([pairs[one, at : at + 40] for one, at in zip(rng.permutation(6)[:4], starts, strict=True)])
    quads = np.concatenate([some[:, 0::2, :], some[:, 1::2, ::-1]], axis=2)
    stages = (Stage.SCREEN, Stage.SCREEN, Stage.CONFIRM, Stage.CONFIRM)
    return [Session(stage, tuple(map(tuple, one.tolist())), (0,) * 20) for stage, one in zip(stages, quads, strict=True)]


def made_up(rng: np.random.Generator, bias: float) -> list[Session]:
    """Noise of a consumer card: launches scatter by 1 %, sessions by 0.2 %."""
    stages = (Stage.SCREEN, Stage.SCREEN, Stage.CONFIRM, Stage.CONFIRM)
    seeds, biases = rng.integers(0, 2**31, 4), bias + 0.002 * rng.standard_normal(4)
    return [session(noise=0.01, bias=-b, seed=int(s), stage=g, quads=20) for s, b, g in zip(seeds, biases, stages, strict=True)]


@pytest.mark.parametrize("source", [real, made_up])
def test_equal_code_leaves_its_fence_in_less_than_one_run_in_a_thousand(source):
    rng = np.random.default_rng(7)
    assert sum(beyond(source(rng, 0.0)) for _ in range(600)) <= 2  # at the stated 0.045 %, three are 1 in 400


@pytest.mark.parametrize("bias", [0.03, -0.03])
def test_a_bias_of_the_whole_run_is_found(bias):
    rng = np.random.default_rng(8)
    assert sum(beyond(made_up(rng, bias)) for _ in range(100)) >= 95


def row(index: int, flops: float, identical: bool = False) -> Row:
    case = Case(f"k/edge/r{index}/n1/f32", "k", "edge", f"r{index}", {"n": index}, "f32", Tier.SMOKE, flops=flops)
    plan = Plan(schema=1, tunables={}, builds={}, launches=())
    works = {side: SideWork(code={}, plan=plan) for side in Side}
    return Row(index, "k", case, (), sides=works, identical=identical)


def test_rows_of_middle_size_with_identical_code_come_first():
    timed = [row(index, 10.0**index) for index in range(5)]
    same = [row(index, 10.0**index, identical=True) for index in range(5, 10)]
    chosen = controls_for(timed, [*timed, *same])
    assert [one.case.id for one in chosen] == [same[1].case.id, same[2].case.id]
    assert [one.index for one in chosen] == [10, 11] and all(one.control and one.identical for one in chosen)


def test_without_identical_code_base_is_its_own_control():
    timed = [row(index, 10.0**index) for index in range(3)]
    (one,) = controls_for(timed[:1], timed)
    assert one.sides[Side.HEAD].plan is timed[0].sides[Side.BASE].plan and not one.identical
    assert one.sides[Side.HEAD] is not one.sides[Side.BASE]
    assert controls_for([], timed) == []

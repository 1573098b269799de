"""The judge's arithmetic, against figures worked out by hand and properties that always hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kernels import check, storage
from kernels.spec import Buffer, Distribution, Dtype, Role

FLOATS = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e6, 1e6, allow_subnormal=False))


def output(dtype: Dtype = Dtype.F32, shape: tuple[int, ...] = (4,)) -> Buffer:
    return Buffer("C", Role.OUT, dtype, shape)


def test_figures_by_hand() -> None:
    errors = check.compare(np.array([3.0, 4.0, 1.0]), np.array([3.0, 4.0, 0.0]))
    assert errors.rel_l2 == pytest.approx(1 / 5)
    assert errors.nmse == pytest.approx(1 / 25)
    assert errors.max_abs == 1.0
    assert errors.cosine == pytest.approx(5 / math.sqrt(26))
    assert errors.clean and errors.elements == 3


def test_an_exact_output_has_no_error_even_where_the_reference_is_zero() -> None:
    errors = check.compare(np.zeros(3), np.zeros(3))
    assert (errors.rel_l2, errors.max_abs, errors.cosine) == (0.0, 0.0, 1.0)


def test_anything_but_zero_against_a_zero_reference_is_infinitely_wrong() -> None:
    errors = check.compare(np.array([0.0, 1e-30]), np.zeros(2))
    assert errors.rel_l2 == math.inf
    assert check.complaint(errors, 1.0)


def test_nan_is_counted_never_skipped_and_fails() -> None:
    errors = check.compare(np.array([1.0, math.nan, 3.0]), np.array([1.0, 2.0, 3.0]))
    assert errors.nan == 1 and math.isnan(errors.rel_l2)
    assert check.complaint(errors, math.inf) == "1 of 3 elements NaN"


@pytest.mark.parametrize("got", [math.inf, -math.inf])
def test_infinity_where_the_reference_is_finite_fails(got: float) -> None:
    errors = check.compare(np.array([1.0, got]), np.array([1.0, 2.0]))
    assert errors.inf == 1 and not errors.rel_l2 <= 1.0
    assert "infinite" in check.complaint(errors, 1.0)


def test_nan_and_infinity_are_right_where_the_reference_has_them() -> None:
    same = np.array([math.nan, math.inf, -math.inf, 2.0])
    errors = check.compare(same, same)
    assert errors.clean and errors.rel_l2 == 0.0 and not check.complaint(errors, 1e-9)


def test_a_number_where_the_reference_is_nan_or_of_other_sign_of_infinity_is_wrong() -> None:
    errors = check.compare(np.array([0.0, -math.inf, 2.0]), np.array([math.nan, math.inf, 2.0]))
    assert (errors.nan, errors.inf) == (1, 1)
    assert check.complaint(errors, 1.0)


MASKED = np.ma.masked_array([1.0, 0.0, 2.0, 0.0], [False, True, False, True])


def test_masked_elements_have_no_figures_but_must_be_finite() -> None:
    errors = check.compare(np.array([1.0, 77.0, 2.0, -5.0]), MASKED)
    assert (errors.rel_l2, errors.max_abs, errors.elements) == (0.0, 0.0, 4) and errors.clean
    spoilt = check.compare(np.array([1.0, math.nan, 2.0, math.inf]), MASKED)
    assert (spoilt.nan, spoilt.inf) == (1, 1) and check.complaint(spoilt, math.inf)
    assert check.compare(np.array([1.5, 0.0, 2.0, 0.0]), MASKED).rel_l2 > 0.2


def test_masked_elements_survive_a_file_and_must_be_written() -> None:
    through = np.frombuffer(check.marked(MASKED).tobytes())
    buffer = output()
    memory = storage.poison(buffer.storage_bytes)
    memory[:12] = np.array([1, 9, 2], "<f4").view(np.uint8)
    errors = check.measure(buffer, memory, through, 1e-6)
    assert (errors.unwritten, errors.nan, errors.rel_l2) == (1, 0, 0.0)


def test_a_reference_that_judges_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="masks every"):
        check.compare(np.ones(2), np.ma.masked_all(2))


def projected(out: np.ndarray, rows: int = 40, columns: int = 30) -> check.Projected:
    vectors = np.random.default_rng(3).choice((-1.0, 1.0), (columns, check.PROBES))
    return vectors, out @ vectors


def test_a_projected_reference_estimates_the_error_of_the_whole() -> None:
    random = np.random.default_rng(1)
    want = random.standard_normal((40, 30))
    got = want + 1e-4 * random.standard_normal(want.shape)
    whole, rows = check.compare(got, want), check.project(got, *projected(want))
    assert 0.7 < rows.rel_l2 / whole.rel_l2 < 1.4
    assert rows.elements == 1200 and rows.clean


@pytest.mark.parametrize("wrong", [0.0, 1.5, math.nan, math.inf])
def test_one_wrong_element_shows_in_a_projection(wrong: float) -> None:
    want = np.ones((40, 30))
    got = want.copy()
    got[39, 29] = wrong
    errors = check.project(got, *projected(want))
    assert check.complaint(errors, 1e-3)
    assert (errors.nan, errors.inf) == (int(math.isnan(wrong)), int(math.isinf(wrong)))


def test_an_element_nobody_wrote_shows_in_a_projection() -> None:
    buffer = output(shape=(40, 30))
    memory = storage.poison(buffer.storage_bytes)
    storage.view(buffer, memory)[:39] = 1
    errors = check.measure(buffer, memory, projected(np.ones((40, 30))), 1e-3)
    assert (errors.unwritten, errors.nan) == (30, 0)


def test_a_nan_limit_passes_nothing() -> None:
    assert check.complaint(check.compare(np.ones(2), np.ones(2)), math.nan)


def test_elements_far_outside_are_counted() -> None:
    want = np.ones(100)
    got = want.copy()
    got[7] += 1e-3
    assert check.compare(got, want, limit=1e-6).outside == 1


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"\(2,\)"):
        check.compare(np.ones(2), np.ones(3))


@pytest.mark.parametrize("dtype", [Dtype.F32, Dtype.F16, Dtype.BF16, Dtype.I32, Dtype.I64])
def test_elements_nobody_wrote_are_found(dtype: Dtype) -> None:
    buffer = output(dtype)
    data = storage.draw(buffer, 0)
    storage.raw_view(buffer, data)[1:3] = 0
    errors = check.measure(buffer, data, np.zeros(4))
    assert (errors.unwritten, errors.nan) == (2, 0)
    assert check.complaint(errors, 1.0) == "2 of 4 elements unwritten"


def test_a_nan_of_the_kernels_own_is_not_called_unwritten() -> None:
    buffer = output()
    data = storage.draw(buffer, 0)
    storage.raw_view(buffer, data)[...] = [1, math.nan, 1, 1]
    errors = check.measure(buffer, data, np.ones(4))
    assert (errors.unwritten, errors.nan) == (0, 1)


def test_worst_of_several_outputs() -> None:
    good, bad = check.compare(np.ones(2), np.ones(2)), check.compare(np.array([1.0, math.nan]), np.ones(2))
    both = check.worst([good, bad])
    assert math.isnan(both.rel_l2) and both.nan == 1 and both.elements == 4
    with pytest.raises(ValueError, match="no output"):
        check.worst([])


@examples()
@given(FLOATS)
def test_the_error_of_an_output_against_itself_is_zero(values: np.ndarray) -> None:
    assert check.compare(values, values).rel_l2 == 0.0


@examples()
@given(FLOATS, st.floats(1e-3, 1e3))
def test_relative_error_does_not_change_with_scale(values: np.ndarray, scale: float) -> None:
    off = values + 0.01 * (1 + np.abs(values))
    if np.linalg.norm(values) > 1e-3:
        assert check.compare(off * scale, values * scale).rel_l2 == pytest.approx(check.compare(off, values).rel_l2, rel=1e-6)


@examples()
@given(FLOATS, st.data())
def test_one_nan_anywhere_fails_any_limit(values: np.ndarray, data: st.DataObject) -> None:
    spoiled = values.copy()
    spoiled[data.draw(st.integers(0, len(values) - 1))] = math.nan
    assert check.complaint(check.compare(spoiled, values), math.inf)


@examples()
@given(st.lists(st.floats(0, 1), min_size=1, max_size=32))
def test_a_limit_is_four_times_the_worst_and_never_zero(figures: list[float]) -> None:
    limit = check.limit_of(figures, Dtype.F32)
    assert limit == max(4 * max(figures), 2.0**-24) > 0


def test_a_plain_implementation_that_fails_gives_no_limit() -> None:
    with pytest.raises(ValueError, match="not finite"):
        check.limit_of([1e-6, math.nan], Dtype.F32)


@pytest.mark.parametrize(
    ("base", "expected"),
    [(None, 1e-5), (math.nan, 1e-5), (math.inf, 1e-5), (1e-7, 1e-6), (1e-6, 3e-6), (1e-5, 1e-5), (0.0, 1e-6)],
)
def test_head_is_also_held_to_base(base: float | None, expected: float) -> None:
    assert check.head_limit(1e-5, base) == pytest.approx(expected)


def test_calibration_takes_the_worst_of_its_seeds() -> None:
    buffers = [Buffer("A", Role.IN, Dtype.F32, (8, 64)), output(shape=(8,))]

    def reference(case: dict, inputs: dict) -> dict:
        return {"C": inputs["A"].astype(np.float64).sum(axis=1)}

    def plain(case: dict, inputs: dict) -> dict:
        return {"C": np.cumsum(inputs["A"], axis=1, dtype=np.float32)[:, -1]}

    one, all_seeds = (check.calibrate({}, buffers, plain, reference, seeds) for seeds in (1, 32))
    assert 2.0**-24 <= one <= all_seeds < 1e-4
    assert check.calibrate({}, buffers, reference, reference) == 2.0**-24


@examples(30)
@given(st.sampled_from([Dtype.F32, Dtype.F16, Dtype.BF16]), st.integers(0, 1000))
def test_writing_every_element_leaves_none_unwritten(dtype: Dtype, seed: int) -> None:
    buffer = output(dtype, (3, 5))
    source = Buffer("S", Role.IN, dtype, (3, 5), distribution=Distribution(kind="normal"))
    values = storage.view(source, storage.draw(source, seed))
    data = storage.draw(buffer, seed)
    storage.raw_view(buffer, data)[...] = storage.raw_view(source, storage.draw(source, seed))
    errors = check.measure(buffer, data, values)
    assert errors.clean and errors.rel_l2 == 0.0

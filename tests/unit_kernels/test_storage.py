"""Buffers as bytes: drawing, padding, poison, guard bands."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kernels import storage
from kernels.spec import Buffer, Distribution, Dtype, Role, SpecError

FLOAT_DTYPES = [Dtype.F32, Dtype.F16, Dtype.BF16]


@st.composite
def strided(draw: st.DrawFn) -> Buffer:
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    pad, offset = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    role = draw(st.sampled_from([Role.IN, Role.CONST, Role.INOUT, Role.OUT]))
    return Buffer("B", role, draw(st.sampled_from(FLOAT_DTYPES)), (rows, columns), (columns + pad, 1), offset)


@examples()
@given(strided(), st.integers(0, 2**63))
def test_storage_is_decided_by_the_seed(buffer: Buffer, seed: int) -> None:
    first, again = storage.draw(buffer, seed), storage.draw(buffer, seed)
    assert first.nbytes == buffer.storage_bytes
    assert np.array_equal(first, again)
    if buffer.role is not Role.OUT:
        assert np.isfinite(storage.view(buffer, first)).all()


@examples()
@given(strided())
def test_padding_is_nan_whatever_type_it_is_read_as(buffer: Buffer) -> None:
    data = storage.draw(buffer, 1)
    storage.raw_view(buffer, data)[...] = 0
    left = data.view(np.uint16)[data.view(np.uint16) != 0]
    assert left.size * 2 == data.size - np.prod(buffer.shape) * buffer.dtype.bytes
    for kind in (np.float16, np.float32, np.float64):
        whole = storage.poison(64)
        assert np.isnan(whole.view(kind)).all()
    assert np.isnan(storage.from_bf16(storage.poison(64).view(np.uint16))).all()


@examples()
@given(strided(), st.data())
def test_a_changed_byte_is_misplaced_unless_it_is_an_element_of_an_output(buffer: Buffer, data: st.DataObject) -> None:
    before = storage.draw(buffer, 2)
    after = before.copy()
    place = data.draw(st.integers(0, before.size - 1))
    after[place] ^= 0xFF
    element = place // buffer.dtype.bytes - buffer.offset
    row, column = divmod(element, buffer.element_strides[0])
    inside = element >= 0 and column < buffer.shape[1] and row < buffer.shape[0]
    writable = buffer.role in (Role.OUT, Role.INOUT)
    assert storage.misplaced_writes(buffer, before, after) == (0 if inside and writable else 1)


def test_buffers_of_one_seed_differ_by_name() -> None:
    a, b = (Buffer(name, Role.IN, Dtype.F32, (16,)) for name in "AB")
    drawn = storage.draw_all([a, b], 5)
    assert not np.array_equal(drawn["A"], drawn["B"])


def test_zero_padding_on_request() -> None:
    buffer = Buffer("A", Role.IN, Dtype.F32, (2, 2), (4, 1), pad_fill="zero")
    assert np.array_equal(storage.draw(buffer, 0).view(np.float32)[[2, 3]], [0, 0])


def test_guard_bands_hold_a_row_and_show_damage() -> None:
    small, wide = (Buffer("C", Role.OUT, Dtype.F32, (4, columns)) for columns in (8, 5000))
    assert storage.guard_bytes(small) == 4096
    assert storage.guard_bytes(wide) >= 20000 and storage.guard_bytes(wide) % 256 == 0
    band = storage.guard(4096)
    assert storage.damage(band) == 0 and np.isnan(band.view(np.float32)).all()
    band[100:104] = 0
    assert storage.damage(band) == 4
    assert storage.damage(storage.poison(4096)) > 0


@examples()
@given(st.floats(width=32))
def test_bf16_rounds_to_nearest_even(value: float) -> None:
    exact = np.array([value], np.float32)
    back = storage.from_bf16(storage.to_bf16(exact))
    if np.isnan(exact[0]):
        assert np.isnan(back[0])
    elif np.abs(exact[0]) < 3e38:
        assert abs(np.float64(back[0]) - np.float64(exact[0])) <= max(abs(np.float64(exact[0])) * 2.0**-8, 2.0**-133)
    assert np.array_equal(storage.from_bf16(storage.to_bf16(back)), back, equal_nan=True)


def drawn(shape: tuple[int, ...], **how: object) -> np.ndarray:
    buffer = Buffer("B", Role.IN, Dtype.F32, shape, distribution=Distribution(**how))
    return storage.view(buffer, storage.draw(buffer, 3))


def test_distributions() -> None:
    assert drawn((4000,), kind="normal", scale=2.0).std() == pytest.approx(2.0, rel=0.1)
    uniform = drawn((1000,), kind="uniform", low=2.0, high=3.0)
    assert uniform.min() >= 2.0 and uniform.max() <= 3.0
    assert np.array_equal(drawn((3,), kind="constant", value=7.0), [7, 7, 7])
    assert np.allclose(np.linalg.norm(drawn((5, 64), kind="unit_rows"), axis=1), 1, atol=1e-6)
    mask = drawn((2, 4), kind="causal_mask")
    assert np.array_equal(mask, [[0, 0, 0, -np.inf], [0, 0, 0, 0]])


def test_a_block_mask_hides_whole_blocks_and_whole_rows() -> None:
    hidden = np.isneginf(drawn((64, 320), kind="block_mask", scale=0.5))
    rows = hidden.all(axis=1)
    assert 0 < rows.sum() < 32
    for start in (0, 32):
        seen = hidden[start : start + 32][~rows[start : start + 32]]
        assert set(seen.reshape(-1, 10, 32).mean(axis=(0, 2))) <= {0.0, 1.0}


def test_one_row_of_each_head_is_an_outlier() -> None:
    norms = np.linalg.norm(drawn((3, 20, 64), kind="outlier_row", value=50.0), axis=-1)
    assert ((norms > 200).sum(axis=-1) == 1).all()


def test_structure_holds_what_the_plan_was_told() -> None:
    buffer = Buffer("cu", Role.STRUCTURE, Dtype.I32, (3,), distribution=Distribution(kind="values", values=(0, 5, 9)))
    assert storage.view(buffer, storage.draw(buffer, 0)).tolist() == [0, 5, 9]


@pytest.mark.parametrize(
    "buffer",
    [
        Buffer("cu", Role.STRUCTURE, Dtype.I32, (3,), distribution=Distribution(kind="values", values=(0, 5))),
        Buffer("cu", Role.STRUCTURE, Dtype.I32, (3,)),
        Buffer("A", Role.IN, Dtype.F32, (3,), distribution=Distribution(kind="values", values=(0, 5, 9))),
        Buffer("P", Role.IN, Dtype.PTR, (3,)),
    ],
)
def test_what_cannot_be_drawn_is_refused(buffer: Buffer) -> None:
    with pytest.raises(SpecError):
        storage.draw(buffer, 0)


def test_q4_0_is_drawn_as_blocks() -> None:
    buffer = Buffer("W", Role.CONST, Dtype.Q4_0, (2, 4))
    blocks = storage.view(buffer, storage.draw(buffer, 0))
    assert storage.draw(buffer, 0).nbytes == 2 * 4 * 18
    assert blocks["nibbles"].shape == (2, 4, 16) and (blocks["scale"] > 0).all()


def test_an_empty_buffer_has_no_bytes() -> None:
    buffer = Buffer("A", Role.IN, Dtype.F32, (0, 4))
    assert storage.view(buffer, storage.draw(buffer, 0)).shape == (0, 4)

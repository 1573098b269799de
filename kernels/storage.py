"""Bytes of buffers: drawn from a distribution with a seed, poisoned, framed by guard bands, viewed as arrays.

A buffer is a strided view into storage. What lies between the view's elements is padding: NaN in inputs, so
that a kernel that reads it shows, and unchanged in outputs, so that a kernel that writes it shows.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from kernels.spec import Buffer, Distribution, Dtype, Role, SpecError

Bytes = NDArray[np.uint8]
Array = NDArray[Any]

# Both halves repeat, so that the pattern is a quiet NaN read as f16, bf16, f32 or f64, at any even address.
# All differ: poison copied over a guard band is still seen, and an output made of what nobody has written is no unwritten one.
POISON = 0x7FF5
UNSET = 0x7FF3
GUARD = 0xFFFA
REDRAWN = 16
BLOCK = 32  # queries and keys of a hidden block of a `block_mask`
GUARD_LEAST, GUARD_MOST, ALIGNMENT = 4096, 1 << 20, 256

_STORAGE: dict[Dtype, np.dtype[Any]] = {
    Dtype.F32: np.dtype("<f4"),
    Dtype.F16: np.dtype("<f2"),
    Dtype.BF16: np.dtype("<u2"),
    Dtype.I32: np.dtype("<i4"),
    Dtype.I64: np.dtype("<i8"),
    Dtype.PTR: np.dtype("<u8"),
    Dtype.Q4_0: np.dtype([("scale", "<f2"), ("nibbles", "u1", (16,))]),
}


def poison(size: int) -> Bytes:
    """`size` bytes of the pattern that outputs hold before a launch."""
    return _pattern(POISON, size)


def unset(size: int) -> Bytes:
    """`size` bytes of the pattern of scratch before a launch, and of what lies between an input's elements."""
    return _pattern(UNSET, size)


def draw(buffer: Buffer, seed: int) -> Bytes:
    """The storage before a launch: elements from the distribution (or poison for `out`), padding as declared."""
    storage = poison(buffer.storage_bytes) if buffer.role is Role.OUT else unset(buffer.storage_bytes)
    if buffer.pad_fill == "zero" and buffer.role is not Role.OUT:
        storage[:] = 0
    if buffer.role is not Role.OUT:
        raw_view(buffer, storage)[...] = _encode(buffer.dtype, _values(buffer, seed))
    return storage


def draw_all(buffers: Sequence[Buffer], seed: int) -> dict[str, Bytes]:
    """Storage of every buffer; the seed and the buffer's name alone decide its values."""
    return {buffer.name: draw(buffer, seed) for buffer in buffers}


def nearly(buffers: Sequence[Buffer], contents: Mapping[str, Bytes], seed: int) -> dict[str, Bytes]:
    """`contents` with one in REDRAWN of the elements of every input drawn anew."""
    chance, found = np.random.default_rng(seed), dict(contents)
    for buffer in buffers:
        if buffer.role in (Role.OUT, Role.STRUCTURE) or 0 in buffer.shape:
            continue
        found[buffer.name] = contents[buffer.name].copy()
        here, other = raw_view(buffer, found[buffer.name]), raw_view(buffer, draw(buffer, seed))
        where = chance.integers(0, REDRAWN, buffer.shape, np.uint8) == 0
        here[where] = other[where]
    return found


def raw_view(buffer: Buffer, storage: Bytes) -> Array:
    """The declared elements inside `storage` as they are stored: a writable view, bf16 as uint16, q4_0 as blocks."""
    dtype = _STORAGE[buffer.dtype]
    elements = storage[: buffer.storage_bytes].view(dtype)
    strides = tuple(step * dtype.itemsize for step in buffer.element_strides)
    if 0 in buffer.shape:
        return np.empty(buffer.shape, dtype)
    return as_strided(elements[buffer.offset :], buffer.shape, strides)


def view(buffer: Buffer, storage: Bytes) -> Array:
    """What reference.py sees of a buffer: bf16 as the float32 values it holds, everything else as stored."""
    raw = raw_view(buffer, storage)
    return from_bf16(raw) if buffer.dtype is Dtype.BF16 else raw


def views(buffers: Sequence[Buffer], storage: Mapping[str, Bytes]) -> dict[str, Array]:
    """Name -> view of all buffers a reference may read: everything but `out`."""
    return {buffer.name: view(buffer, storage[buffer.name]) for buffer in buffers if buffer.role is not Role.OUT}


def misplaced_writes(buffer: Buffer, before: Bytes, after: Bytes) -> int:
    """Bytes that changed and may not have: padding of an output, anything at all of an input."""
    changed = before != after
    if buffer.role in (Role.OUT, Role.INOUT) and 0 not in buffer.shape:
        width = buffer.dtype.bytes
        steps = tuple(step * width for step in buffer.element_strides)
        as_strided(changed[buffer.offset * width :], (*buffer.shape, width), (*steps, 1))[...] = False
    return int(np.count_nonzero(changed))


def guard_bytes(buffer: Buffer) -> int:
    """Width of the band on each side: at least one whole row of the buffer, so that one row too many is seen."""
    row = max(buffer.element_strides[:-1], default=1) * buffer.dtype.bytes
    return -(-min(max(GUARD_LEAST, row), GUARD_MOST) // ALIGNMENT) * ALIGNMENT


def guard(size: int) -> Bytes:
    """`size` bytes of guard band."""
    return _pattern(GUARD, size)


def damage(band: Bytes) -> int:
    """Bytes of a guard band that a launch has overwritten."""
    return int(np.count_nonzero(band != guard(len(band))))


def to_bf16(values: Array) -> NDArray[np.uint16]:
    """float32 rounded to nearest even, as bfloat16 bits."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16).astype(np.uint16)
    return np.where((bits & 0x7FFFFFFF) > 0x7F800000, (bits >> 16).astype(np.uint16) | np.uint16(0x40), rounded)


def from_bf16(bits: Array) -> NDArray[np.float32]:
    """bfloat16 bits as float32."""
    return (np.ascontiguousarray(bits).astype(np.uint32) << 16).view(np.float32)


def _pattern(half: int, size: int) -> Bytes:
    return np.full((size + 1) // 2, half, "<u2").view(np.uint8)[:size]


def _encode(dtype: Dtype, values: Array) -> Array:
    if dtype is Dtype.BF16:
        return to_bf16(values)
    stored: Array = values.astype(_STORAGE[dtype], copy=False)
    return stored


def _values(buffer: Buffer, seed: int) -> Array:
    if (buffer.distribution.kind == "values") != (buffer.role is Role.STRUCTURE):
        raise SpecError(f"{buffer.name}.distribution", "structure buffers, and they only, are given by 'values'")
    if buffer.dtype is Dtype.PTR:
        raise SpecError(f"{buffer.name}.dtype", "addresses are tables of the plan, not buffers")
    random = np.random.Generator(np.random.PCG64([seed, zlib.crc32(buffer.name.encode())]))
    if buffer.dtype is Dtype.Q4_0:
        return _blocks(buffer, random)
    return _numbers(buffer, buffer.distribution, random)


def _numbers(buffer: Buffer, how: Distribution, random: np.random.Generator) -> Array:
    match how.kind:
        case "normal":
            values: Array = random.standard_normal(buffer.shape, np.float32)
            values *= np.float32(how.scale)  # in place: a model's head has half a billion of them
            return values
        case "uniform":
            return random.uniform(how.low, how.high, buffer.shape).astype(np.float32)
        case "constant":
            return np.full(buffer.shape, how.value)
        case "unit_rows":
            rows: Array = random.standard_normal(buffer.shape, np.float32)
            return rows * (np.float32(how.scale) / np.linalg.norm(rows, axis=-1, keepdims=True))
        case "causal_mask":
            queries, keys = buffer.shape[-2:]
            causal = np.arange(keys) <= np.arange(queries)[:, None] + (keys - queries)
            return np.broadcast_to(np.where(causal, np.float32(0), np.float32(-np.inf)), buffer.shape)
        case "block_mask":
            hidden = _blocks_hidden(buffer.shape, random) | (random.integers(0, 8, (*buffer.shape[:-1], 1)) == 0)
            seen = random.standard_normal(buffer.shape, np.float32) * np.float32(how.scale)
            return np.where(hidden, np.float32(-np.inf), seen)
        case "outlier_row":
            rows = random.standard_normal(buffer.shape, np.float32) * np.float32(how.scale)
            outlier = random.integers(0, buffer.shape[-2], (*buffer.shape[:-2], 1, 1))
            return np.where(np.arange(buffer.shape[-2])[:, None] == outlier, rows * np.float32(how.value), rows)
        case "values":
            if len(how.values) != np.prod(buffer.shape):
                raise SpecError(f"{buffer.name}.distribution.values", f"{len(how.values)} values for the shape {buffer.shape}")
            return np.array(how.values, np.int64).reshape(buffer.shape)


def _blocks_hidden(shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.bool_]:
    """Of a [..., query, key] mask: whole blocks of BLOCK queries by BLOCK keys, each hidden with probability 1/2."""
    queries, keys = shape[-2:]
    blocks = random.integers(0, 2, (*shape[:-2], -(-queries // BLOCK), -(-keys // BLOCK)), np.uint8).astype(bool)
    return blocks.repeat(BLOCK, -2).repeat(BLOCK, -1)[..., :queries, :keys]


def _blocks(buffer: Buffer, random: np.random.Generator) -> Array:
    """q4_0 blocks whose weights have about the distribution's scale: an eighth of it per step, nibbles of any value."""
    blocks: Array = np.empty(buffer.shape, _STORAGE[Dtype.Q4_0])
    blocks["scale"] = random.uniform(0.5, 1.5, buffer.shape) * buffer.distribution.scale / 8
    blocks["nibbles"] = random.integers(0, 256, (*buffer.shape, 16), dtype=np.uint8)
    return blocks

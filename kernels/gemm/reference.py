"""The oracle of gemm: C = alpha op(A) op(W) + beta C in fp64, overflowing where an fp16 C does.

Metric: relative L2 over C; limit: 4 times the worst of 32 seeds of `plain`. A big C is not worked out: PROBES random
vectors x of signs give what its rows must make of them, alpha op(A) (op(W) x) + beta C x (Freivalds), in fp64.
"""

from __future__ import annotations

import numpy as np

from .layout import QUANT, Layout

LARGEST = 16 * 64  # outputs that calibration looks at: the error depends on K, not on how many outputs there are
BIG = 1 << 34  # products from which on C is checked by its rows' products with PROBES vectors
PROBES = 8
PANEL = 1 << 24  # elements of W held in fp64 at once
OVERFLOWS = 65520.0  # the least magnitude that rounds to an infinite fp16


def reference(case: dict, inputs: dict) -> dict:
    """C in fp64; or vectors, and the products with them of C's rows."""
    lay = Layout.of(case)
    if lay.m * lay.n * lay.k * lay.batch >= BIG:
        return {"C": _projected(lay, case, inputs)}
    out = np.zeros((lay.batch, lay.m, lay.n))
    for z, (a, w) in enumerate(_pairs(lay, inputs)):
        out[z] = lay.alpha * (a.astype(np.float64) @ w.astype(np.float64).T)
    if lay.beta:
        out += lay.beta * _stacked(lay, inputs["C"]).astype(np.float64)
    if lay.kinds[2] == "f16":
        out[np.abs(out) >= OVERFLOWS] *= np.inf
    return {"C": _as_stored(lay, case, out)}


def plain(case: dict, inputs: dict) -> dict:
    """C in fp32, one product after the other along K, as the simplest kernel does it; rounded once to its own type."""
    lay = Layout.of(case)
    out = np.zeros((lay.batch, lay.m, lay.n), np.float32)
    for z, (a, w) in enumerate(_pairs(lay, inputs)):
        out[z] = np.float32(lay.alpha) * _one_by_one(a.astype(np.float32), w.astype(np.float32))
    if lay.beta:
        out += np.float32(lay.beta) * _stacked(lay, inputs["C"]).astype(np.float32)
    with np.errstate(over="ignore"):
        return {"C": _as_stored(lay, case, out.astype(np.float16) if lay.kinds[2] == "f16" else out)}


def calibration(case: dict) -> dict:
    """A case of the same K with few outputs, whose plain error is that of the whole."""
    shape = case["shape"]
    n = min(shape["n"], 64)
    small = {**shape, "m": min(shape["m"], LARGEST // max(n, 1)), "n": n}
    return {**case, "shape": small | ({"batch": min(shape["batch"], 1)} if "batch" in shape else {})}


def _projected(lay: Layout, case: dict, inputs: dict) -> tuple:
    vectors = np.random.default_rng().choice((-1.0, 1.0), (lay.n, PROBES))
    out = np.zeros((lay.batch, lay.m, PROBES))
    for z, (a, w) in enumerate(_pairs(lay, inputs)):
        out[z] = lay.alpha * (a.astype(np.float64) @ _transposed_times(w, vectors))
    if lay.beta:
        out += lay.beta * (_stacked(lay, inputs["C"]).astype(np.float64) @ vectors)
    return vectors, _as_stored(lay, case, out)


def _transposed_times(w: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """op(W)^T x by panels of rows."""
    rows = max(1, PANEL // w.shape[1])
    panels = ((w[at : at + rows].astype(np.float64).T, vectors[at : at + rows]) for at in range(0, w.shape[0], rows))
    return sum(panel @ some for panel, some in panels)


def _pairs(lay: Layout, inputs: dict):
    """op(A) as [M, K] and op(W)^T as [N, K] of each batch, in the types they have."""
    a, w = (_matrices(inputs[name]) for name in "AW")
    for pick_a, pick_w in zip(lay.picks("A"), lay.picks("W"), strict=True):
        one, other = a[pick_a], w[pick_w]
        other = _dequantised(other) if lay.kinds[1] == "q4_0" else other
        yield (one if lay.ops[0] == "n" else one.T), (other if lay.ops[1] == "t" else other.T)


def _one_by_one(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    a_columns, w_columns = np.ascontiguousarray(a.T), np.ascontiguousarray(w.T)
    total = np.zeros((a.shape[0], w.shape[0]), np.float32)
    product = np.empty_like(total)
    for one, other in zip(a_columns, w_columns, strict=True):
        np.multiply(one[:, None], other[None, :], out=product)
        np.add(total, product, out=total)
    return total


def _dequantised(blocks: np.ndarray) -> np.ndarray:
    """[N, K / 32] blocks as [N, K] weights d (nibble - 8): lower nibbles, then upper ones (ggml, block_q4_0)."""
    nibbles = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=-1).astype(np.float32) - 8
    weights = blocks["scale"].astype(np.float32)[..., None] * nibbles
    return weights.reshape(blocks.shape[0], blocks.shape[1] * QUANT)


def _matrices(array: np.ndarray) -> np.ndarray:
    return array if array.ndim == 3 else array[None]


def _stacked(lay: Layout, c: np.ndarray) -> np.ndarray:
    """C's stored matrices in the order of batches."""
    return _matrices(c)[np.array(lay.picks("C"), np.intp)]


def _as_stored(lay: Layout, case: dict, out: np.ndarray) -> np.ndarray:
    """Batches in the order they are stored, or the one matrix."""
    if "batch" not in case["shape"]:
        return out[0]
    stored = np.empty_like(out)
    stored[np.array(lay.picks("C"), np.intp)] = out
    return stored

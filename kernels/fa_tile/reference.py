"""Attention head by head in fp64 (the oracle), and plainly in the case's own precision.

O = softmax(c tanh(Q K' / (c sqrt(d))) + bias) V, without c where there is no softcap; a query that sees no KV row gives
zeros. The metric is the relative L2 of O. Large cases are judged by whole heads: the first and last ones of the first
and last sequence, and those at the edges of a group that shares a KV head; the rest must be written and finite.
The limit comes from `plain`: f32 throughout for f32 KV; for f16 KV, Q and the probabilities are rounded to f16 as a
kernel that keeps its tiles compressed does, with products summed in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .layout import BUFFERED, Layout

Array = NDArray[Any]
Rounding = Callable[[Array], Array]

WHOLE, DEAR = 8e9, 1e11  # products up to which all heads of a case are judged; of edge heads from which two are enough
SCORES = 1 << 21  # of a block of queries: what is held in memory at once


def reference(case: dict[str, Any], inputs: Mapping[str, Array]) -> dict[str, Array]:
    return _attention(Layout.of(case), inputs, np.dtype(np.float64), lambda values: values)


def plain(case: dict[str, Any], inputs: Mapping[str, Array]) -> dict[str, Array]:
    compressed = case["dtype"] == "f16"
    return _attention(Layout.of(case), inputs, np.dtype(np.float32), _through_f16 if compressed else lambda values: values)


def calibration(case: dict[str, Any]) -> dict[str, Any]:
    """A case whose plain error is that of the whole: fewer heads and queries, and no more rows before the first query.

    Under a causal mask the first queries see the fewest rows and so weigh most: they are kept, at up to 512 rows.
    """
    lay = Layout.of(case)
    queries, before = min(lay.n_q, 32), min(max(lay.n_kv - lay.n_q, 0), 512)
    rows = queries + before if lay.n_kv >= lay.n_q else min(lay.n_kv, queries)
    if lay.mask != "causal":
        rows = min(lay.n_kv, 512)
    smaller = {"sequences": 1, "heads": min(lay.ratio, 2), "kv_heads": 1, "n_q": queries, "n_kv": rows}
    return {**case, "shape": {**case["shape"], **smaller}}


def judged_heads(lay: Layout) -> list[tuple[int, int]]:
    """(sequence, query head) pairs that have figures."""
    everything = [(sequence, head) for sequence in range(lay.sequences) for head in range(lay.heads)]
    if lay.sequences * lay.heads * lay.n_q * lay.n_kv * (lay.d + lay.dv) <= WHOLE:
        return everything
    edges = {0, lay.ratio - 1, lay.ratio % lay.heads, lay.heads - 1}
    if len(edges) * lay.n_q * lay.n_kv * (lay.d + lay.dv) > DEAR:
        edges = {0, lay.heads - 1}
    return [(sequence, head) for sequence, head in everything if sequence in (0, lay.sequences - 1) and head in edges]


def _attention(lay: Layout, inputs: Mapping[str, Array], kind: np.dtype[Any], rounded: Rounding) -> dict[str, Array]:
    wanted = judged_heads(lay)
    out: Array = np.empty(lay.output, kind) if len(wanted) == lay.sequences * lay.heads else np.ma.masked_all(lay.output, kind)
    for sequence, head in wanted:
        k = np.asarray(inputs["k"][sequence, head // lay.ratio], kind)
        v = k[:, : lay.dv] if lay.v_in_k else np.asarray(inputs["v"][sequence, head // lay.ratio], kind)
        q = rounded(np.asarray(inputs["q"][sequence, head], kind))
        for start in range(0, lay.n_q, step := max(1, SCORES // lay.n_kv)):
            tokens = np.arange(start, min(start + step, lay.n_q))
            first, last = lay.seen(int(tokens[0]))[0], max(lay.seen(int(tokens[-1]))[1], 1)
            rows = np.arange(first, last)
            scores = _capped(q[tokens] @ k[rows].T, lay) + _bias(lay, inputs, sequence, head, tokens, rows, kind)
            sink = kind.type(inputs["sinks"][head]) if lay.sinks else None
            out[sequence, tokens, head] = _softmax_times(scores, v[rows], sink, rounded)
    return {"o": out}


def _capped(products: Array, lay: Layout) -> Array:
    scores = products * products.dtype.type(1 / np.sqrt(lay.d))
    cap = products.dtype.type(lay.softcap)
    return np.asarray(cap * np.tanh(scores / cap)) if lay.softcap else scores


def _softmax_times(scores: Array, v: Array, sink: Any, rounded: Rounding) -> Array:
    """A sink takes its share of the denominator and has no value."""
    largest = scores.max(axis=-1, keepdims=True)
    if sink is not None:
        largest = np.maximum(largest, sink)
    largest = np.where(np.isfinite(largest), largest, 0)
    weights = np.exp(scores - largest)
    total = weights.sum(axis=-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - largest)
    return np.asarray((rounded(weights) @ v) / np.where(total > 0, total, 1))


def _bias(lay: Layout, inputs: Mapping[str, Array], sequence: int, head: int, tokens: Array, rows: Array, kind: np.dtype[Any]) -> Array:
    """What is added to the scores: the mask as given, -inf where a query may not look, ALiBi's slope times the distance."""
    behind = (lay.position(0) + tokens)[:, None] - rows
    added = np.zeros(behind.shape, kind)
    if lay.mask in BUFFERED:
        added = np.asarray(inputs["mask"][sequence][np.ix_(tokens, rows)], kind)
    if lay.alibi:
        added = added - kind.type(_slope(lay, head)) * np.abs(behind).astype(kind)
    hidden = (behind < 0) | ((behind >= lay.window) if lay.window else False) if lay.mask == "causal" else np.zeros((), bool)
    return np.where(hidden, kind.type(-np.inf), added)


def _slope(lay: Layout, head: int) -> float:
    """ALiBi (Press, Smith, Lewis, arXiv 2108.12409): powers of 2^(-max/n), and every other of 2^(-max/2n) beyond n heads."""
    n = lay.slopes
    return float(2.0 ** (-lay.alibi * (head + 1) / n if head < n else -lay.alibi * (2 * (head - n) + 1) / (2 * n)))


def _through_f16(values: Array) -> Array:
    return values.astype(np.float16).astype(values.dtype)

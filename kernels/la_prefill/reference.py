"""The gated delta rule token by token in fp64 (the oracle), and plainly in the case's own precision.

Per token and value head, with the state S of dk x dv:
S <- exp(g) S;  u = beta (v - S'k);  S <- S + k u';  o = S'q / sqrt(dk).
Nothing is sampled: all heads and tokens are compared, since a token of a head of 128 x 128 takes 25 us here.

The metric is the relative L2 of o and of the final state. The limit comes from `plain`: the same recurrence with
every operation rounded to f32 and the outputs rounded to their types. Heads are drawn alike, so one shows the error of
all; what a state has forgotten can't add to it, so neither do tokens beyond REMEMBERED.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .layout import Layout

Array = NDArray[Any]

REMEMBERED = 512
FEW = 4  # sequences of a batch that calibration looks at


def reference(case: dict[str, Any], inputs: Mapping[str, Array]) -> dict[str, Array]:
    return _recurrence(Layout.of(case), inputs, np.dtype(np.float64))


def plain(case: dict[str, Any], inputs: Mapping[str, Array]) -> dict[str, Array]:
    found = _recurrence(Layout.of(case), inputs, np.dtype(np.float32))
    return found | {"o": _rounded(found["o"], case["dtype"])}


def calibration(case: dict[str, Any]) -> dict[str, Any]:
    """The case with one head of the same size, its longest sequences only, each cut to what a state remembers."""
    shape = case["shape"]
    lengths = sorted(shape["lengths"])[-FEW:]
    return case | {"shape": shape | {"k_heads": 1, "v_heads": 1, "lengths": [min(length, REMEMBERED) for length in lengths]}}


def _recurrence(lay: Layout, inputs: Mapping[str, Array], kind: np.dtype[Any]) -> dict[str, Array]:
    """Head by head, so that a state of 128 x 128 stays in the cache."""
    states = np.zeros((lay.sequences, lay.v_heads, lay.dk, lay.dv), kind)
    if lay.initial:
        states[:] = inputs["s0"]
    o = np.empty((lay.tokens, lay.v_heads, lay.dv), kind)
    for head in range(lay.v_heads):
        q, k = (np.asarray(inputs[name][:, lay.key_head(head)], kind) for name in ("q", "k"))
        v, g, beta = (np.asarray(inputs[name][:, head], kind) for name in ("v", "g", "beta"))
        keep = np.exp(g)
        for sequence in range(lay.sequences):
            state = states[sequence, head]
            for t in range(lay.starts[sequence], lay.starts[sequence + 1]):
                o[t, head] = _step(state, q[t], k[t], v[t], keep[t], beta[t])
    return {"o": o * kind.type(1 / np.sqrt(lay.dk)), "s1": states}


def _step(state: Array, q: Array, k: Array, v: Array, keep: Array, beta: Array) -> Array:
    """One token: the state is changed in place, S'q returned."""
    state *= keep
    u = beta * (v - _against(state, k))
    state += k[:, None] * u
    return _against(state, q)


def _against(state: Array, row: Array) -> Array:
    """S'row; in f32 one product after the other, as the simplest kernel adds them (BLAS keeps several sums)."""
    return np.asarray(row @ state if state.dtype == np.float64 else (row[:, None] * state).sum(axis=0))


def _rounded(values: Array, dtype: str) -> Array:
    """float32 through the tensor's type and back."""
    if dtype == "f16":
        return values.astype(np.float16).astype(np.float32)
    if dtype == "bf16":
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).astype(np.uint32).view(np.float32)
    return values

"""The judge of linear attention: its token-by-token oracle against the chunked form, its limits, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import on_host
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kernels import check, storage
from kernels.catalog import load_folder
from kernels.spec import Buffer, read

FOLDER = on_host.SUITE / "la_prefill"
CASES, REFERENCE = (getattr(load_folder(FOLDER), name) for name in ("cases", "reference"))
SMALL = {"k_heads": 2, "v_heads": 4, "dk": 12, "dv": 8, "mapping": "grouped", "initial": True, "fused": False}

Array = np.ndarray[Any, Any]


def made(shape: Mapping[str, Any], dtype: str = "f32", kernel: str = "la_prefill") -> dict[str, Any]:
    case: dict[str, Any] = CASES._case(kernel, "edge", "test", "test", dtype, "smoke", dict(shape))
    return case


def buffers(case: Mapping[str, Any]) -> tuple[Buffer, ...]:
    return tuple(read(Buffer, buffer) for buffer in CASES.buffers(case))


def drawn(case: Mapping[str, Any], seed: int = 1) -> dict[str, Array]:
    return storage.views(buffers(case), storage.draw_all(buffers(case), seed))


def chunked(case: Mapping[str, Any], inputs: Mapping[str, Array], chunk: int) -> dict[str, Array]:
    """The rule in fp64 by chunks: U by a triangular solve, only differences of cumulated decays exponentiated."""
    shape, starts = case["shape"], np.cumsum([0, *case["shape"]["lengths"]])
    o = np.empty((starts[-1], shape["v_heads"], shape["dv"]))
    s1 = np.zeros((len(starts) - 1, shape["v_heads"], shape["dk"], shape["dv"])) + (inputs["s0"] if shape["initial"] else 0)
    ratio = shape["v_heads"] // shape["k_heads"]
    for head in range(shape["v_heads"]):
        source = head % shape["k_heads"] if shape["mapping"] == "tiled" else head // ratio
        for sequence, (start, end) in enumerate(pairwise(starts)):
            for first in range(start, end, chunk):
                rows = slice(first, min(first + chunk, end))
                q, k = (np.asarray(inputs[name][rows, source], float) for name in ("q", "k"))
                v, g, beta = (np.asarray(inputs[name][rows, head], float) for name in ("v", "g", "beta"))
                o[rows, head], s1[sequence, head] = one_chunk(q, k, v, g, beta, s1[sequence, head])
    return {"o": o / np.sqrt(shape["dk"]), "s1": s1}


def one_chunk(q: Array, k: Array, v: Array, g: Array, beta: Array, state: Array) -> tuple[Array, Array]:
    total = np.cumsum(g)
    kept = np.exp(np.minimum(total[:, None] - total, 0))
    a = np.exp(total)[:, None]
    lower = np.tril(beta[:, None] * kept * (k @ k.T), -1)
    u = np.linalg.solve(np.eye(len(g)) + lower, beta[:, None] * (v - a * (k @ state)))
    o = a * (q @ state) + np.tril(kept * (q @ k.T)) @ u
    return o, a[-1] * state + (kept[-1][:, None] * k).T @ u


@examples(60)
@given(
    lengths=st.lists(st.integers(0, 20), min_size=1, max_size=4).filter(any),
    chunk=st.integers(1, 24),
    decay=st.sampled_from([0.0, 1e-4, 1.0, 5.0, 20.0]),
    beta=st.sampled_from([0.0, 1.0, 2.0]),
    mapping=st.sampled_from(["tiled", "grouped"]),
    initial=st.booleans(),
)
def test_token_by_token_equals_chunk_by_chunk(
    lengths: list[int], chunk: int, decay: float, beta: float, mapping: str, initial: bool
) -> None:
    axes = {"lengths": lengths, "decay_low": -decay, "decay_high": 0.0, "beta_low": beta / 2, "beta_high": beta}
    case = made(SMALL | axes | {"mapping": mapping, "initial": initial})
    inputs = drawn(case)
    want, got = REFERENCE.reference(case, inputs), chunked(case, inputs, chunk)
    assert all(np.allclose(got[name], want[name], rtol=1e-9, atol=1e-12) for name in ("o", "s1"))


def limit(case: Mapping[str, Any]) -> float:
    return check.calibrate(case, buffers(case), REFERENCE.plain, REFERENCE.reference, seeds=8)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("axes", [{}, {"decay_low": -20.0}, {"decay_low": -0.01, "decay_high": 0.0}, {"beta_high": 2.0}])
def test_one_head_of_a_few_sequences_shows_the_error_of_all(dtype: str, axes: dict[str, float]) -> None:
    case = made(SMALL | {"dk": 64, "dv": 64, "lengths": [7, 1, 3, 60, 30, 2]} | axes, dtype)
    small = REFERENCE.calibration(case)
    assert small["shape"]["lengths"] == [3, 7, 30, 60] and small["shape"]["v_heads"] == 1
    assert 0.6 < limit(small) / limit(case) < 1.7


def test_a_long_prompt_is_calibrated_by_its_end() -> None:
    whole = made(SMALL | {"v_heads": 2, "dk": 32, "dv": 32, "lengths": [1500]})
    assert 0.6 < limit(REFERENCE.calibration(whole)) / limit(whole) < 1.7


@pytest.mark.parametrize(("length", "beta"), [(1.0, 2.1), (1.5, 1.0)])
def test_keys_that_make_the_rule_diverge_are_refused(length: float, beta: float) -> None:
    with pytest.raises(ValueError, match="unsupported"):
        CASES.buffers(made(SMALL | {"lengths": [3], "k_length": length, "beta_high": beta}))


def test_the_rule_does_diverge_beyond_what_is_refused() -> None:
    case = made(SMALL | {"lengths": [400], "decay_low": 0.0, "decay_high": 0.0, "beta_low": 2.0, "beta_high": 2.0})
    inputs = drawn(case)
    within, beyond = (REFERENCE.reference(case, inputs | {"k": inputs["k"] * np.float32(by)})["s1"] for by in (1.0, 1.1))
    assert np.abs(within).max() < 1e3 < 1e6 < np.abs(beyond).max()


def test_every_case_of_every_tier_can_be_drawn_and_the_sweeps_are_there() -> None:
    full = CASES.cases("full", {"target": "sm_90"})
    ids = {case["id"] for case in full}
    assert len(ids) == len(full)
    assert {f"la_prefill/qwen3.5-35b-a3b/linear/t{t}/f32" for t in (1, 15, 16, 17, 63, 64, 65, 127, 1842, 1952, 8192)} <= ids
    for kernel in ("la_prefill", "la_decode"):
        swept = ["g0", "g0.0001", "g1", "g3", "g5", "g20", "beta0", "beta1", "beta2", "k1.4"]
        assert {f"{kernel}/edge/swept/{name}/f32" for name in swept} <= ids
    for tier in ("smoke", "gate", "full"):
        assert {"qwen3.5-35b-a3b", "qwen3-next-80b-a3b"} < {case["model"] for case in CASES.cases(tier, {"target": "sm_90"})}
    assert all(buffers(case) for case in full)

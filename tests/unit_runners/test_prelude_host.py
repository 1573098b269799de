"""The prelude's mathematics and half types against NumPy in fp64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from runners.emulator import build_and_load
from runners.emulator.direct import Loaded

SOURCE = Path(__file__).resolve().parents[1] / "data" / "emulator" / "prelude.cu"
ONE = ((1, 1, 1), (1, 1, 1))
FUNCTIONS = ("exp2", "exp", "log2", "log", "tanh", "sqrt", "rsqrt", "max", "min")
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 128.0, -150.0, 88.8, -104.0, 200.0, -200.0, 3e38, -3e38], np.float32)


@pytest.fixture(scope="module", params=[0, 1], ids=["hardware", "software"])
def prelude(request: pytest.FixtureRequest) -> Loaded:
    return build_and_load(SOURCE, {"SOFTWARE_HALF": request.param}, block=1)


def values_of(prelude: Loaded, x: np.ndarray) -> dict[str, np.ndarray]:
    out = np.zeros((len(FUNCTIONS), len(x)), np.float32)
    prelude.launch("math", *ONE, x, out, len(x))
    return dict(zip(FUNCTIONS, out, strict=True))


def ulps(found: np.ndarray, exact: np.ndarray) -> float:
    """Largest distance in units of the last place of the exact value; results below the normal range count as zero."""
    unit = np.spacing(np.maximum(np.abs(exact), np.finfo(np.float32).tiny).astype(np.float32)).astype(float)
    return float(np.max(np.abs(found.astype(float) - exact) / unit))


def test_ordinary_values_are_right_to_two_ulp(prelude: Loaded) -> None:
    random = np.random.default_rng(3)
    wide = random.uniform(-87, 88, 100_000).astype(np.float32)
    near = random.normal(0, 0.7, 100_000).astype(np.float32)
    for x in (wide, near):
        found, exact = values_of(prelude, x), x.astype(float)
        assert ulps(found["exp2"], np.exp2(exact)) <= 2
        assert ulps(found["exp"], np.exp(exact)) <= 2
        assert ulps(found["tanh"], np.tanh(exact)) <= 2.5
    positive = np.exp(random.uniform(-80, 80, 100_000)).astype(np.float32)
    for x in (positive, (1 + near / 20).astype(np.float32)):
        found, exact = values_of(prelude, x), x.astype(float)
        assert ulps(found["log2"], np.log2(exact)) <= 2.5
        assert ulps(found["log"], np.log(exact)) <= 2
        assert ulps(found["sqrt"], np.sqrt(exact)) <= 0.5
        assert ulps(found["rsqrt"], 1 / np.sqrt(exact)) <= 1.5


def test_special_values(prelude: Loaded) -> None:
    found = values_of(prelude, SPECIAL)
    with np.errstate(all="ignore"):
        exact = {name: getattr(np, name)(SPECIAL) for name in ("exp2", "exp", "log2", "log", "tanh", "sqrt")}
        exact["rsqrt"] = np.float32(1) / exact["sqrt"]
    for name, wanted in exact.items():
        wanted = np.where(np.abs(wanted) < np.finfo(np.float32).tiny, 0, wanted)  # denormals are flushed
        assert np.allclose(found[name], wanted, rtol=3e-7, atol=0, equal_nan=True), (name, found[name], wanted)
    assert np.array_equal(found["max"], np.fmax(SPECIAL, np.float32(1)))
    assert np.array_equal(found["min"], np.fmin(SPECIAL, np.float32(1)))


def test_every_half_survives_and_floats_round_to_even(prelude: Loaded) -> None:
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    out = np.zeros((2, 65536), np.float32)
    prelude.launch("to_float", *ONE, halves, np.arange(65536, dtype=np.uint16), out, 65536)
    assert np.array_equal(out[0], halves.astype(np.float32), equal_nan=True)
    assert np.array_equal(out[1], (np.arange(65536, dtype=np.uint32) << 16).view(np.float32), equal_nan=True)
    finite = halves[np.isfinite(halves)].astype(np.float32)
    ties = ((finite[:-1].astype(float) + finite[1:]) / 2).astype(np.float32)
    random = np.random.default_rng(4).standard_normal(50_000) * 10.0 ** np.random.default_rng(5).integers(-9, 6, 50_000)
    x = np.concatenate([finite, ties, random.astype(np.float32), SPECIAL])
    half, brain = np.zeros(len(x), np.float16), np.zeros(len(x), np.uint16)
    prelude.launch("to_half", *ONE, x, half, brain, len(x))
    with np.errstate(over="ignore"):
        assert np.array_equal(half, x.astype(np.float16), equal_nan=True)
    kept = brain[np.isfinite(x)].astype(np.uint32) << 16
    assert (np.abs(kept.view(np.float32).astype(float) - x[np.isfinite(x)]) <= np.abs(x[np.isfinite(x)]) * 2**-8 + 1e-38).all()


def test_half_arithmetic_rounds_at_each_operation(prelude: Loaded) -> None:
    a, b, c = np.random.default_rng(6).standard_normal((3, 20_000)).astype(np.float16)
    n = len(a) // 2
    out, dots = np.zeros((3, len(a)), np.float16), np.zeros(n, np.float32)
    prelude.launch("pairs", *ONE, a, b, c, out, dots, n)
    assert np.array_equal(out[0], a + b)
    assert np.array_equal(out[1], a * b)
    assert np.array_equal(out[2], (a.astype(float) * b.astype(float) + c.astype(float)).astype(np.float16))
    wide = (a.astype(float) * b).reshape(-1, 2).sum(1) + 0.25
    assert np.allclose(dots, wide, rtol=1e-6, atol=1e-6)

"""The fit of the prior finds what its data were made with, and the traces support what the product believes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from runners.estimating import PUBLISHED

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))

from prior import LENGTHS, MOST_DF, comparisons, fitted, found_over_expected


@pytest.mark.parametrize(("df", "scale"), [(3.0, 1.0), (4.0, 0.5), (20.0, 2.0)])
def test_the_fit_finds_degrees_of_freedom_and_scale(df: float, scale: float) -> None:
    rng = np.random.default_rng(4)
    found_df, found_scale = fitted(list(scale * rng.f(5, df, 100_000)), 5)
    assert found_df == pytest.approx(df, rel=0.1)
    assert found_scale == pytest.approx(scale, rel=0.05)


def test_variances_that_differ_no_more_than_chance_leave_the_prior_certain() -> None:
    drawn = np.random.default_rng(5).chisquare(5, 10_000) / 5
    ordered = np.exp((np.log(drawn) - np.log(drawn).mean()) * 0.9 + np.log(drawn).mean())  # less scattered than chance
    assert fitted(list(ordered), 5)[0] == MOST_DF


@pytest.mark.parametrize("quads", LENGTHS)
def test_the_published_prior_never_expects_too_little_on_the_traces(quads: int) -> None:
    drawn = comparisons(quads)
    df, scale = fitted([found_over_expected(one, PUBLISHED) for one in drawn], len(drawn[0]) - 1)
    assert 3.5 < df < 5 and scale < 1

"""How much sessions differ from one another beyond their own errors: the prior of `runners/estimating.py`, fitted to the H200 traces.

    kernelgate bench prior

Smyth (2004, section 6.2): where a comparison's variance between `d + 1` sessions is `v` times a scaled F with `d` and `d0` degrees
of freedom, `e = log(variance / v) - digamma(d / 2) + log(d / 2)` has the variance `trigamma(d / 2) + trigamma(d0 / 2)`, which gives
`d0`, and the mean `log(scale) + log(d0 / 2) - digamma(d0 / 2)`, which gives the scale: what is found over what is expected.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import fmean, variance

import click
import numpy as np
from replay.draws import Pairs, quads_of, runs_of
from scipy.optimize import brentq
from scipy.special import digamma, polygamma
from tabulate import tabulate

from runners.estimating import PUBLISHED, Prior
from runners.location import location, log_ratios

LENGTHS = (10, 15, 20, 25)
MOST_DF = 1000.0


def found_over_expected(sessions: Sequence[Pairs], prior: Prior) -> float:
    """A comparison's variance between sessions over the one that the prior expects."""
    parts = [location(log_ratios(quads, np.zeros(len(quads), dtype=np.int64))) for quads in map(quads_of, sessions)]
    own = fmean(part.error**2 for part in parts)
    between = max(prior.least, prior.share * fmean(part.scatter for part in parts)) ** 2
    return variance(part.middle for part in parts) / (own + between)


def fitted(ratios: Sequence[float], df: int) -> tuple[float, float]:
    """Degrees of freedom of the prior and the scale (below 1: the prior expects too much), from variances with `df` each."""
    shifted = np.log(ratios) - digamma(df / 2) + np.log(df / 2)
    wanted = float(np.var(shifted, ddof=1) - polygamma(1, df / 2))
    if wanted <= polygamma(1, MOST_DF / 2):
        return MOST_DF, float(np.exp(np.mean(shifted)))
    prior_df = brentq(lambda value: float(polygamma(1, value / 2)) - wanted, 1e-3, MOST_DF)
    return prior_df, float(np.exp(np.mean(shifted) + digamma(prior_df / 2) - np.log(prior_df / 2)))


def comparisons(quads: int) -> list[list[Pairs]]:
    """Of every run of every workload, its six sessions cut to as many quads, as often as its length allows."""
    return [
        [session[start : start + 2 * quads] for session in run]
        for runs in runs_of().values()
        for run in runs
        for start in range(0, run.shape[1] - 2 * quads + 1, 2 * quads)
    ]


@click.command()
@click.option("--share", default=PUBLISHED.share, show_default=True, type=click.FloatRange(0), help="of a quad's scatter")
def main(share: float) -> None:
    """Fit the prior's degrees of freedom, and its scale at the given share."""
    rows = []
    for quads in LENGTHS:
        drawn = comparisons(quads)
        df, scale = fitted([found_over_expected(one, Prior(PUBLISHED.df, share, PUBLISHED.least)) for one in drawn], len(drawn[0]) - 1)
        rows.append([quads, len(drawn), df, 100 * (1 / scale - 1)])
    click.echo(f"Share {share}; the product believes {PUBLISHED.share} and {PUBLISHED.df:g} degrees of freedom.\n")
    click.echo(tabulate(rows, ["quads a session", "comparisons", "df", "expected too large by, %"], floatfmt=".1f"))


if __name__ == "__main__":
    sys.exit(main())

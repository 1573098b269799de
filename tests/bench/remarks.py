"""How often a comparison without change is said to have two modes or drift: H200 traces and made-up noise.

    kernelgate bench remarks [--trials 1000]

The traces were taken without a lead-in: the first launch of each pair follows a synchronisation and is longer by 2 to 20 %, a
mode that the product does not have. Only second launches are looked at.
"""

from __future__ import annotations

import sys
from collections import Counter

import click
import numpy as np
from replay.draws import Pairs, made_up, traces
from tabulate import tabulate

from bot.core.remarks import Kind, remarks_on

SESSIONS = 2
QUADS = 20
SEED = 20261130


def without_gap(pairs: Pairs) -> Pairs:
    """[quad][4] of the second launches of four pairs each: base is second in odd pairs, head in even ones."""
    four = pairs[: len(pairs) // 4 * 4].reshape(-1, 4, 2)
    return np.stack([four[:, 1, 0], four[:, 0, 1], four[:, 2, 1], four[:, 3, 0]], axis=1)


@click.command()
@click.option("--trials", default=1000, show_default=True, help="comparisons of each source")
def main(trials: int) -> None:
    """Print the share of comparisons, of two sessions of 20 quads, that get each remark."""
    rows = []
    for name, source in {**traces(), **made_up()}.items():
        rng, found = np.random.default_rng([SEED, *name.encode()]), Counter[Kind]()
        for _ in range(trials):
            times = [without_gap(one)[:QUADS] for one in source(rng, SESSIONS, 0.0)]
            found.update(remark.kind for remark in remarks_on(times, [np.zeros(QUADS, dtype=np.int64)] * SESSIONS))
        rows.append([name, *(100 * found[kind] / trials for kind in (Kind.TWO_MODES, Kind.DRIFT))])
    click.echo(f"{trials} comparisons of each source, two sessions of {QUADS} quads; shares in %.\n")
    click.echo(tabulate(rows, ["source", "two modes", "drift"], floatfmt=".1f"))


if __name__ == "__main__":
    sys.exit(main())

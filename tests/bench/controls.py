"""How often a node's A/A controls leave their fence: H200 traces and made-up noise, without bias and with one on the whole run.

    kernelgate bench controls [--trials 2000] [--floor 0.01]

A run has two controls; its node's times are thrown away where one of them leaves its fence.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor

import click
import numpy as np
from replay.draws import made_up, traces
from replay.rules import left_fence
from tabulate import tabulate

from runners.sampling import Rules

BIASES = (0.0, 0.003, 0.005, 0.01, 0.02, 0.05)
CONTROLS = 2
SESSIONS = 4
SEED = 20261130


def replay(task: tuple[str, float, int, float]) -> float:
    """Share of `trials` runs of one source in which a control leaves its fence, all biased by as much, in %."""
    name, bias, trials, floor = task
    source = {**traces(), **made_up()}[name]
    rng = np.random.default_rng([SEED, *name.encode(), int(bias * 1e4)])
    left = sum(any(left_fence(source(rng, SESSIONS, bias), Rules(floor=floor)) for _ in range(CONTROLS)) for _ in range(trials))
    return 100 * left / trials


@click.command()
@click.option("--trials", default=2000, show_default=True, help="runs of each source and bias")
@click.option("--floor", default=0.01, show_default=True, type=click.FloatRange(0.005, 1, max_open=True))
def main(trials: int, floor: float) -> None:
    """Print the share of runs whose controls leave their fence, by source and bias."""
    names = [name for name in (*traces(), *made_up()) if name != "biased run"]  # that one brings a bias of its own
    tasks = [(name, bias, trials, floor) for name in names for bias in BIASES]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        shares = list(pool.map(replay, tasks))
    rows = [[name, *shares[at * len(BIASES) : (at + 1) * len(BIASES)]] for at, name in enumerate(names)]
    click.echo(f"{trials} runs of each source and bias, floor {floor:.1%}, two controls a run; runs said to be biased, in %.\n")
    click.echo(tabulate(rows, ["source", *(f"{bias:.1%}".replace(".0%", "%") for bias in BIASES)], floatfmt=".2f"))


if __name__ == "__main__":
    sys.exit(main())

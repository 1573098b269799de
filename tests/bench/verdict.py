"""How often each rule is wrong: H200 traces and made-up noise of known truth, every rule fed the same samples.

    kernelgate bench verdict [--trials 400] [--floor 0.01] [--json F]

False alarms are comparisons without change (and with 0.5 %) that are called slower; detection is the share called slower.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import click
import numpy as np
from replay.draws import PAIRS, made_up, traces
from replay.rules import HISTORY, SESSIONS, elsewhere, ours, z_score
from tabulate import tabulate

from runners.sampling import Finding, Rules

CHANGES = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.10)
MOST = 12  # sessions ours may ask for in both stages
OURS = "ours"
SEED = 20261130
FLOOR = click.FloatRange(0.005, 1, max_open=True)  # below, a trace's sessions are too short


def replay(task: tuple[str, float, int, float]) -> dict[str, dict[str, Any]]:
    """Every rule on `trials` comparisons of one source and one change."""
    name, change, trials, floor = task
    source = {**traces(), **made_up()}[name]
    rng = np.random.default_rng([SEED, *name.encode(), int(change * 1e4)])
    history = np.stack([source(rng, SESSIONS, 0.0)[:, :PAIRS, 0] for _ in range(HISTORY)])
    counts: dict[str, dict[str, Any]] = defaultdict(lambda: defaultdict(float))
    errors: list[float] = []
    for _ in range(trials):
        pairs = source(rng, MOST, change)
        said = ours(pairs, Rules(floor=floor, harm=max(floor, 0.03)))
        mine = counts[OURS]
        mine["slower"] += said.finding is Finding.SLOWER
        mine["faster"] += said.finding is Finding.FASTER
        mine["undecided"] += said.finding is Finding.UNDECIDED
        mine["quads"] += said.quads
        mine["covered"] += said.lo <= -math.log1p(change) <= said.hi
        errors.append(abs(said.log + math.log1p(change)))
        few = pairs[:SESSIONS, :PAIRS]
        for rule, slower in elsewhere().items():
            counts[rule]["slower"] += slower(few, rng)
        counts["z-score on history, 5"]["slower"] += z_score(few, history)
    counts[OURS]["errors"] = errors
    return {rule: dict(found) for rule, found in counts.items()}


@click.command()
@click.option("--trials", default=400, show_default=True, help="comparisons of each source and change")
@click.option("--floor", default=0.01, show_default=True, type=FLOOR, help="the smallest slow-down worth naming")
@click.option("--json", "file", type=click.Path(path_type=Path), help="write all counts here")
def main(trials: int, floor: float, file: Path | None) -> None:
    """Replay all sources and print one table a question."""
    real, noisy = list(traces()), list(made_up())
    tasks = [(name, change, trials, floor) for name in (*real, *noisy) for change in CHANGES]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(((name, change) for name, change, _, _ in tasks), pool.map(replay, tasks), strict=True))
    click.echo(f"{trials} comparisons of each source and change, floor {floor:.1%}; shares in %.\n")
    click.echo("Called slower, by rule, all six H200 workloads together\n\n" + _by_rule(found, real, trials) + "\n")
    click.echo("The same on made-up noise\n\n" + _by_rule(found, noisy, trials) + "\n")
    click.echo("Ours, by source\n\n" + _by_source(found, real, noisy, trials) + "\n")
    if file is not None:
        file.write_text(json.dumps([{"source": n, "change": c, "rules": r} for (n, c), r in found.items()]), encoding="utf-8")


Found = Mapping[tuple[str, float], Mapping[str, Mapping[str, Any]]]


def _share(found: Found, names: Sequence[str], change: float, rule: str, what: str, trials: int) -> float:
    return 100 * sum(float(found[name, change][rule].get(what, 0)) for name in names) / (trials * len(names))


def _by_rule(found: Found, names: Sequence[str], trials: int) -> str:
    rules = list(found[names[0], 0.0])
    rows = [[rule, *(_share(found, names, change, rule, "slower", trials) for change in CHANGES)] for rule in rules]
    return tabulate(rows, ["rule", *(_percent(change) for change in CHANGES)], floatfmt=".1f")


def _by_source(found: Found, real: Sequence[str], noisy: Sequence[str], trials: int) -> str:
    groups = {"all six": list(real), "all but spin10": [name for name in real if name != "spin10"]}
    groups |= {name: [name] for name in (*real, *noisy)}
    head = ["source", *(_percent(c) for c in CHANGES), "faster at 0", "most undecided", "quads at 0", "at 2 %", "covered", "median error %"]
    rows = [[group, *_figures(found, names, trials)] for group, names in groups.items()]
    return tabulate(rows, head, floatfmt=(".1f",) * (len(head) - 1) + (".3f",))


def _figures(found: Found, names: Sequence[str], trials: int) -> list[float]:
    def share(change: float, what: str) -> float:
        return _share(found, names, change, OURS, what, trials)

    errors = [error for name in names for change in CHANGES for error in found[name, change][OURS]["errors"] if math.isfinite(error)]
    return [
        *(share(change, "slower") for change in CHANGES),
        share(0.0, "faster"),
        max(share(change, "undecided") for change in CHANGES),
        share(0.0, "quads") / 100,
        share(0.02, "quads") / 100,
        sum(share(change, "covered") for change in CHANGES) / len(CHANGES),
        100 * float(np.median(errors)),
    ]


def _percent(change: float) -> str:
    return f"{change:.1%}".replace(".0%", "%")


if __name__ == "__main__":
    sys.exit(main())

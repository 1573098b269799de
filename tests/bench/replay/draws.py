"""Comparisons of known truth: whole sessions drawn from H200 traces, and from noise made up after other cards.

A comparison is [session][pair][base, head] in µs; even pairs launch base first, odd pairs head first. A trace is
re-centred on its own truth (the mean over its six sessions of the trimmed mean of its quads) and then shifted by the
wanted slow-down, because some workloads hide part of the work that was added to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runners.location import location, log_ratios

Pairs = NDArray[np.float64]
Source = Callable[[np.random.Generator, int, float], Pairs]  # generator, sessions, slow-down as a fraction

TRACES = Path(__file__).resolve().parents[2] / "data" / "h200-ab-traces.npz"
PAIRS = 60  # of a session, for the rules elsewhere
LONGEST = 180  # for ours
BASE_US = 100.0


def quads_of(pairs: Pairs) -> Pairs:
    """[pair][base, head] to [quad][4] in launch order A B B A; an odd last pair is left out."""
    even = pairs[: len(pairs) // 2 * 2]
    return np.concatenate([even[0::2], even[1::2, ::-1]], axis=1)


def ratios_of(pairs: Pairs) -> Pairs:
    """[quad] log of base time over head time."""
    quads = quads_of(pairs)
    return log_ratios(quads, np.zeros(len(quads), dtype=np.int64))


def runs_of() -> dict[str, list[Pairs]]:
    """[session][pair][base, head] of each run of each workload of the traces, re-centred."""
    with np.load(TRACES) as kept:
        centred: dict[str, list[Pairs]] = {}
        for name in sorted(kept.files):
            centred.setdefault(name.partition("/")[0], []).append(_centred(kept[name].astype(float)))
    return centred


def traces() -> dict[str, Source]:
    """A source for each workload of the traces, from all its runs."""
    return {workload: _replayed(runs) for workload, runs in runs_of().items()}


def _centred(run: Pairs) -> Pairs:
    truth = np.mean([location(ratios_of(session)).middle for session in run])
    return run * np.array([1.0, np.exp(truth)])


def _replayed(runs: list[Pairs]) -> Source:
    def draw(rng: np.random.Generator, sessions: int, slowdown: float) -> Pairs:
        """Whole sessions of one run, from a random even place on, none twice while there are others."""
        run = runs[rng.integers(len(runs))]
        order = np.concatenate([rng.permutation(len(run)) for _ in range(-(-sessions // len(run)))])[:sessions]
        starts = rng.integers(0, (run.shape[1] - LONGEST) // 2 + 1, sessions) * 2
        taken = np.stack([run[one, start : start + LONGEST] for one, start in zip(order, starts, strict=True)])
        return taken * np.array([1.0, 1.0 + slowdown])

    return draw


def made_up() -> Mapping[str, Source]:
    """Noise of consumer and integrated cards: each launch scatters by 0.3 to 2.7 %, and worse."""
    return {
        "scatter 0.3 %": _noise(scatter=0.003),
        "scatter 1 %": _noise(scatter=0.01),
        "scatter 2.7 %": _noise(scatter=0.027),
        "drift": _noise(scatter=0.005, drift=0.05),
        "two clocks": _noise(scatter=0.004, clocks=0.14),
        "heavy tails": _noise(scatter=0.005, tail=0.05),
        "sessions differ": _noise(scatter=0.004, between=0.002),
        "biased run": _noise(scatter=0.004, bias=0.003),
    }


def _noise(scatter: float, drift: float = 0.0, clocks: float = 0.0, tail: float = 0.0, between: float = 0.0, bias: float = 0.0) -> Source:
    """`scatter` a launch, `drift` over a session, two `clocks` so far apart with stays of about 40 launches, a share
    `tail` of launches longer by 10 % on average, sessions that differ by `between` and whole runs by `bias` (one sigma)."""

    def draw(rng: np.random.Generator, sessions: int, slowdown: float) -> Pairs:
        logs = np.log(BASE_US) + scatter * rng.standard_normal((sessions, LONGEST, 2))
        logs += drift * rng.uniform(-1, 1, (sessions, 1, 1)) * np.linspace(0, LONGEST / PAIRS, LONGEST)[None, :, None]
        logs += clocks * (np.cumsum(rng.random((sessions, LONGEST, 2)).reshape(sessions, -1) < 1 / 40, axis=1) % 2).reshape(logs.shape)
        logs += (rng.random(logs.shape) < tail) * rng.exponential(0.1, logs.shape)
        logs[..., 1] += between * rng.standard_normal((sessions, 1)) + bias * rng.standard_normal()
        return np.exp(logs) * np.array([1.0, 1.0 + slowdown])

    return draw

"""Ours and the rules in use elsewhere, each from the same samples to "slower", "not slower" or "undecided"."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from replay.draws import Pairs, quads_of, ratios_of
from runners.protocol import Session, Stage
from runners.sampling import Action, Finding, Rules, beyond, conclude, control_wants, decide, quads_wanted

SESSIONS = 3  # what the rules elsewhere are given; ours asks for as many as it wants, of the same
HISTORY = 20
BOOTSTRAPS = 400


@dataclass(frozen=True)
class Said:
    """One rule on one comparison. `log` is its log ratio with the 95 % interval `lo`, `hi`, where it has one."""

    finding: Finding
    quads: int
    log: float = math.nan
    lo: float = math.nan
    hi: float = math.nan


Rule = Callable[[Pairs, np.random.Generator], bool]


def ours(pairs: Pairs, rules: Rules) -> Said:
    """The rule as the worker and the bot apply it: open sessions, ask for more, screen, confirm, conclude."""
    taken: list[Session] = []
    used, number, confirming = 0, -1, False
    while True:
        decision = decide(taken, rules, confirming)
        if decision.action is Action.DONE:
            break
        if decision.action is Action.CONFIRM:
            confirming = True
        elif decision.action is Action.SESSION:
            number, used = number + 1, decision.quads
            taken.append(_session(pairs[number], used, decision.stage))
        else:
            used += decision.quads
            taken[-1] = _session(pairs[number], used, decision.stage)
    finding, estimate = conclude(taken, rules)
    quads = sum(len(session.quads) for session in taken)
    return Said(finding, quads, estimate.log, math.log(estimate.lo), math.log(estimate.hi)) if estimate else Said(finding, quads)


def left_fence(pairs: Pairs, rules: Rules) -> bool:
    """Whether a control with these samples is said to have left its fence, taken as the worker takes it."""
    taken: list[Session] = []
    while (stage := control_wants(taken, rules)) is not None:
        one = Session(stage, (), ())
        while more := quads_wanted(one, rules):
            one = _session(pairs[len(taken)], len(one.quads) + more, stage)
        taken.append(one)
    return beyond(taken, rules)


def _session(pairs: Pairs, quads: int, stage: Stage) -> Session:
    taken = quads_of(pairs)[:quads]
    return Session(stage, tuple(map(tuple, taken.tolist())), (0,) * len(taken))


def elsewhere() -> Mapping[str, Rule]:
    """Whether each rule calls head slower. The ones that know sessions get three, the others all pairs together."""
    return {
        "means, 2x": lambda p, _: _means(p) > 2.0,
        "means, 1.05x": lambda p, _: _means(p) > 1.05,
        "minima, 5 %": lambda p, _: p[..., 1].min() / p[..., 0].min() > 1.05,
        "Welch's t, p < 0.05": _welch,
        "Mann-Whitney, p < 0.05": _mann_whitney,
        "base-then-head medians, 5 %": lambda p, _: _first_pairs(p) > 1.05,
        "base-then-head medians, 1 %": lambda p, _: _first_pairs(p) > 1.01,
        "A B B A, bootstrap": lambda p, rng: _bootstrap(p, rng, 0.0, signs=False),
        "A B B A, bootstrap, signs, 1.2 %": lambda p, rng: _bootstrap(p, rng, 0.012, signs=True),
        "robust overlap, 0.5 % gap": _overlap,
        "t over session medians, 1 %": _plain_t,
    }


def z_score(pairs: Pairs, history: Pairs, threshold: float = 5.0) -> bool:
    """Head's median of today against the base medians of past runs, each a run of three sessions."""
    past = np.median(history, axis=(1, 2))
    return bool((np.median(pairs[..., 1]) - past.mean()) / past.std(ddof=1) > threshold)


def _means(pairs: Pairs) -> float:
    return float(pairs[..., 1].mean() / pairs[..., 0].mean())


def _welch(pairs: Pairs, _: np.random.Generator) -> bool:
    found = stats.ttest_ind(pairs[..., 1].ravel(), pairs[..., 0].ravel(), equal_var=False)
    return bool(found.pvalue < 0.05 and found.statistic > 0)


def _mann_whitney(pairs: Pairs, _: np.random.Generator) -> bool:
    head, base = pairs[..., 1].ravel(), pairs[..., 0].ravel()
    return bool(stats.mannwhitneyu(head, base).pvalue < 0.05 and np.median(head) > np.median(base))


def _first_pairs(pairs: Pairs) -> float:
    first = pairs[:, 0::2]
    return float(np.median(first[..., 1]) / np.median(first[..., 0]))


def _bootstrap(pairs: Pairs, rng: np.random.Generator, floor: float, signs: bool) -> bool:
    per_session = [-ratios_of(one) for one in pairs]
    values = np.concatenate(per_session)
    means = values[rng.integers(0, len(values), (BOOTSTRAPS, len(values)))].mean(axis=1)
    agree = not signs or all(np.median(one) > 0 for one in per_session)
    return bool(np.quantile(means, 0.025) > 0 and values.mean() > math.log1p(floor) and agree)


def _overlap(pairs: Pairs, _: np.random.Generator) -> bool:
    """Intervals from minimum to third quartile that lie apart by 0.5 % of the base's median."""
    base, head = pairs[..., 0].ravel(), pairs[..., 1].ravel()
    return bool(head.min() - np.quantile(base, 0.75) > 0.005 * np.median(base))


def _plain_t(pairs: Pairs, _: np.random.Generator) -> bool:
    medians = np.array([np.median(-ratios_of(one)) for one in pairs])
    reach = float(stats.t.ppf(0.99, len(medians) - 1)) * medians.std(ddof=1) / math.sqrt(len(medians))
    return bool(medians.mean() > max(math.log1p(0.01), reach))


__all__ = ["HISTORY", "SESSIONS", "Said", "elsewhere", "ours", "z_score"]

"""Interval and stopping rule for one comparison: what quads of several sessions say of base time over head time.

A quad gives one log ratio. A session's location is the 20 % trimmed mean of its quads, with the error of
Tukey & McLaughlin (1963). Between sessions the variance is moderated (Smyth 2004): the sessions' own variance is
pooled with a prior, so that two sessions that happen to agree never look certain. Tests are one-sided t tests with the
moderated degrees of freedom.

Looks: the data are looked at when a session is complete and at least two are there, never between. The first look of a
stage may spend 0.4 of its alpha, the others share the rest equally (alpha spending as in Lan & DeMets 1983, here bounded
by the sum over looks, so it holds for any dependence between them). How long a session lasts depends on its scatter and,
for changes far above the floor, on their size; not on the sign. From the third session on a stage ends early when all
sessions still allowed would most likely leave it undecided; stopping for futility can only lose
findings, never make one, and a stage goes on where that would let the run through.

What the findings do not prove: SAME does not mean equal, only that the 90 % interval lies within the floor; UNDECIDED
does not mean unchanged; SLOWER speaks of these shapes on this card. A bias common to all sessions of a run is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from scipy.special import stdtrit

from runners.estimating import TOO_FAST, Estimate, Limits, Prior, Rules, estimate_of, estimate_values, of_stage
from runners.location import FEWEST, Values, location, log_ratios, session_values
from runners.protocol import Session, Stage

__all__ = [
    "FEWEST", "TOO_FAST", "Action", "Decision", "Estimate", "Fence", "Finding", "Limits", "Prior", "Rules", "Values",
    "conclude", "decide", "estimate_of", "estimate_values", "log_ratios",
]  # fmt: skip

ALPHA = 0.01


class Finding(StrEnum):
    """What the samples say of head against base, before anything else of the case is known."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    UNDECIDED = "undecided"


class Action(StrEnum):
    """What the worker does next for this comparison."""

    QUADS = "quads"
    SESSION = "session"
    CONFIRM = "confirm"
    DONE = "done"


FIRST_LOOK = 0.4
LONGEST = 1000  # quads of a session, however small the floor
CONTROL_SHARE = 0.3  # of the floor: what a control may lie off without harm
CONTROL_ALPHA = 0.02  # of either of a control's two stages; both on one side: 0.02 * 0.01, 0.04 % a run of two controls
HOPELESS = 1.2  # how far beyond its bound the expected end of a stage must lie for it to be given up


@dataclass(frozen=True)
class Decision:
    """The next step, how many quads it wants, the stage it belongs to, and what is known so far."""

    action: Action
    stage: Stage
    quads: int = 0
    finding: Finding = Finding.UNDECIDED
    estimate: Estimate | None = None


@dataclass(frozen=True)
class Fence:
    """A control's log ratio, and how far from 0 it may lie."""

    log: float
    reach: float

    @property
    def inside(self) -> bool:
        return abs(self.log) <= self.reach


def fence(sessions: Sequence[Session], stage: Stage, rules: Rules = Rules()) -> Fence | None:
    """Where equal code lies by one stage's sessions, and how far it may: its error at CONTROL_ALPHA, at least a share of the floor."""
    estimate = estimate_of(of_stage(sessions, stage), rules)
    if estimate is None:
        return None
    reach = estimate.error * float(stdtrit(estimate.df, 1 - CONTROL_ALPHA / 2))
    return Fence(estimate.log, max(CONTROL_SHARE * math.log1p(rules.floor), reach))


def beyond(sessions: Sequence[Session], rules: Rules = Rules()) -> bool:
    """Whether a control left its fence: in its first two sessions and, on the same side, in two more.

    The first alone decide where the others could not be had.
    """
    first, again = (fence(sessions, stage, rules) for stage in (Stage.SCREEN, Stage.CONFIRM))
    if first is None or first.inside:
        return False
    return again is None or (not again.inside and (again.log > 0) is (first.log > 0))


def control_wants(sessions: Sequence[Session], rules: Rules = Rules()) -> Stage | None:
    """The stage a control needs a session in: two to screen, two more where these lie outside the fence."""
    limits = rules.limits
    for stage in (Stage.SCREEN, Stage.CONFIRM):
        disturbed = sum(session.stage is stage and bool(session.disturbed) for session in sessions)
        if len(of_stage(sessions, stage)) < limits.first_sessions:
            return stage if disturbed <= limits.most_disturbed else None
        found = fence(sessions, stage, rules)
        if found is None or found.inside:
            return None
    return None


def decide(sessions: Sequence[Session], rules: Rules = Rules(), confirming: bool = False) -> Decision:
    """What to do after the newest batch of quads; the last session may still be open.

    QUADS: that many more in the open session. SESSION: a fresh process with the other load order.
    CONFIRM: a suspected slow-down; when all cases are screened, ask again with `confirming` and `rules.suspects` set.
    """
    stage = Stage.CONFIRM if confirming else Stage.SCREEN
    mine = of_stage(sessions, stage)
    limits = rules.limits
    missing = quads_wanted(mine[-1], rules) if mine else 0
    if missing:
        return Decision(Action.QUADS, stage, missing)
    spare = sum(session.stage is stage and bool(session.disturbed) for session in sessions) <= limits.most_disturbed
    if len(mine) < limits.first_sessions and spare:
        return Decision(Action.SESSION, stage, limits.first_quads)
    finding, estimate = judge_stage(mine, stage, rules)
    if finding is Finding.SLOWER and not confirming:
        return Decision(Action.CONFIRM, stage, limits.first_quads, finding, estimate)
    more = len(mine) < limits.most_sessions and spare and not hopeless(estimate, stage, rules)
    if finding is Finding.UNDECIDED and more:
        return Decision(Action.SESSION, stage, limits.first_quads, finding, estimate)
    return Decision(Action.DONE, stage, 0, finding, estimate)


def conclude(sessions: Sequence[Session], rules: Rules = Rules()) -> tuple[Finding, Estimate | None]:
    """The finding over all sessions of a finished comparison; an unconfirmed slow-down is UNDECIDED.

    With confirming sessions, slower and faster are theirs alone to say, since the screening picked the case for its value.
    If they say neither, all sessions together decide between SAME and UNDECIDED. The estimate is always that of all.
    """
    screened, screen = judge_stage(of_stage(sessions, Stage.SCREEN), Stage.SCREEN, rules)
    if not of_stage(sessions, Stage.CONFIRM):
        return (Finding.UNDECIDED if screened is Finding.SLOWER else screened), screen
    confirmed, _ = judge_stage(of_stage(sessions, Stage.CONFIRM), Stage.CONFIRM, rules)
    together = estimate_of(sessions, rules)
    if confirmed is screened and confirmed in (Finding.SLOWER, Finding.FASTER):
        return confirmed, together
    return (Finding.SAME if together and within_floor(together, rules) else Finding.UNDECIDED), together


def judge_stage(sessions: Sequence[Session], stage: Stage, rules: Rules) -> tuple[Finding, Estimate | None]:
    """The finding of one stage's sessions taken together, at the level this look may spend."""
    estimate = estimate_of(sessions, rules)
    if estimate is None:
        return Finding.UNDECIDED, None
    return find(estimate, level(stage, estimate.sessions - 1, rules), rules), estimate


def level(stage: Stage, look: int, rules: Rules) -> float:
    """The one-sided alpha look number `look` (from 1) may spend."""
    alpha = ALPHA if stage is Stage.SCREEN else ALPHA * rules.share / max(rules.suspects, 1)
    later = max(rules.limits.most_sessions - 2, 1)
    return alpha * (FIRST_LOOK if look <= 1 else (1 - FIRST_LOOK) / later)


def find(estimate: Estimate, alpha: float, rules: Rules) -> Finding:
    """Two questions for a change: is it above zero at `alpha`, and is the estimate above the floor."""
    floor = math.log1p(rules.floor)
    reach = estimate.error * float(stdtrit(estimate.df, 1 - alpha))
    if abs(estimate.log) > floor and abs(estimate.log) > reach:
        return Finding.SLOWER if estimate.log < 0 else Finding.FASTER
    return Finding.SAME if within_floor(estimate, rules) else Finding.UNDECIDED


def hopeless(estimate: Estimate | None, stage: Stage, rules: Rules) -> bool:
    """Whether the stage's last look, with the error shrunk by the sessions still allowed, is expected to find nothing."""
    if estimate is None or estimate.sessions < 3:
        return False
    left = max(rules.limits.most_sessions - estimate.sessions, 0)
    error, df = estimate.error * math.sqrt(estimate.sessions / (estimate.sessions + left)), estimate.df + left
    same, changed = error * float(stdtrit(df, 0.95)), error * float(stdtrit(df, 1 - level(stage, 2, rules)))
    if harmful(estimate, rules) and same - estimate.log <= math.log1p(max(rules.floor, rules.harm)):
        return False  # undecided still, but no longer held
    return same > HOPELESS * math.log1p(rules.floor) and abs(estimate.log) < changed / HOPELESS


def within_floor(estimate: Estimate, rules: Rules) -> bool:
    """Whether the 90 % interval lies inside plus and minus the floor."""
    low, high = estimate.bounds(0.90)
    return max(-low, high) < math.log1p(rules.floor)


def harmful(estimate: Estimate, rules: Rules) -> bool:
    """Whether an undecided comparison may hide a slow-down above the larger of floor and harm."""
    return estimate.slowdown_at_most > max(rules.floor, rules.harm)


def quads_wanted(session: Session, rules: Rules = Rules()) -> int:
    """How many more quads the open session should take now; 0 ends it."""
    limits, taken = rules.limits, len(session.quads)
    if taken < limits.first_quads:
        return limits.first_quads - taken
    values = session_values(session)
    if values is None:
        return 0
    part = location(values)
    wanted = max(math.log1p(rules.floor), abs(part.middle) / 4) / 2.75
    most = min(round(limits.most_quads * max(1.0, 0.01 / rules.floor) ** 2), LONGEST)
    if part.error <= wanted or taken >= most:
        return 0
    return min(limits.step_quads, most - taken)

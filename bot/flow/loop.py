"""The control loop: deliveries, commands, runs, jobs, leases, posts, in that order, as often as it is called."""

from __future__ import annotations

import logging
from collections.abc import Callable

from bot.flow.asks import settle_asks
from bot.flow.deliveries import take_deliveries
from bot.flow.jobs import end_overdue, hint_jobs
from bot.flow.ports import World
from bot.flow.posts import post_all
from bot.flow.runs import judge_runs, open_runs

STAGES: tuple[Callable[[World], None], ...] = (take_deliveries, settle_asks, open_runs, hint_jobs, end_overdue, judge_runs, post_all)
log = logging.getLogger(__name__)


def tick(world: World) -> int:
    """Every stage once. One that fails leaves the others their turn and comes again; how many failed."""
    return sum(not safely(stage, world) for stage in STAGES)


def safely(stage: Callable[[World], None], world: World) -> bool:
    """Do a stage; False, with the bug in the log, if it failed."""
    try:
        stage(world)
    except Exception:
        log.exception("stage %s failed", stage.__name__)
        return False
    return True

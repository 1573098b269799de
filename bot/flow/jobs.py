"""Jobs to nodes: pools hear of waiting work; leases and waits that are over end."""

from __future__ import annotations

import logging

from bot.core.records import Hint
from bot.flow.ports import BrokerDown, World

log = logging.getLogger(__name__)


def hint_jobs(world: World) -> None:
    """Tell the pools. A hint lost with the broker is given again; one given twice does nothing twice."""
    heard: list[str] = []
    for hint in world.store.jobs.unheard():
        if not _rung(world, hint):
            break
        heard.append(hint.job)
    if heard:
        world.store.jobs.heard(heard)


def _rung(world: World, hint: Hint) -> bool:
    try:
        world.bell.ring(hint)
    except BrokerDown as error:
        log.warning("no hint for %s: %s", hint.pool, error)
        return False
    return True


def end_overdue(world: World) -> None:
    """Leases whose node fell silent, and jobs that waited a day; those who wait hear what became of their nodes."""
    world.store.jobs.end_leases()
    world.store.jobs.end_waiting()
    world.store.waivers.lapse()
    world.store.nodes.notice()

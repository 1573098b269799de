"""Whether there is room for one more run; where there is none, a command waits for it."""

from __future__ import annotations

from bot.core.card import Reply
from bot.core.quotas import DAY, Quota, reached
from bot.core.records import Ask, CheckMark, Origin, Settlement
from bot.flow.authority import refusal
from bot.flow.ports import World


def room(world: World, ask: Ask, check: CheckMark | None = None) -> Settlement | None:
    """None where a run may start. Else the ask waits, and the head's check says so by `check`; a day of it, or too many of one
    person, end in a refusal."""
    usage = world.store.usage.of(ask.new)
    quota = reached(usage, world.limits, automatic=ask.new.origin is Origin.EVENT)
    if quota is None:
        return None
    new_here = not ask.facts.get("waits")
    if ask.new.origin is not Origin.EVENT and (world.clock() - ask.created > DAY or (new_here and usage.waiting >= world.limits.person)):
        return refusal(world, ask, Reply.QUOTA, command=f"/{ask.new.name}", waits=quota.value, limit=world.limits.of(quota))
    return Settlement(waits=quota.value, check=check)


def still_waits(world: World, ask: Ask) -> Settlement | None:
    """For an ask that waits already: the same again while there is no room, without asking GitHub anything."""
    return room(world, ask) if ask.facts.get("waits") in set(Quota) else None

"""What befalls a whole repository: runs of one that is gone, renamed or shut to us are called off, those of a private one hidden."""

from __future__ import annotations

from collections.abc import Callable

from bot.core.events import EventKind
from bot.core.records import Ask, Settlement
from bot.flow.groups import look_at_group
from bot.flow.ports import Gone, Shut, World


def look_at_repository(world: World, ask: Ask) -> Settlement:
    """By what GitHub says of the repository now, so that events may come in any order."""
    name = ask.new.repository
    try:
        now = world.github.repository(name)
    except (Gone, Shut):
        return _called_off(world, name, "kernelgate has no access to the repository any more")
    if now.name.lower() != name.lower():
        return _called_off(world, name, f"the repository is now {now.name}")
    return Settlement(hide=name if now.private else "")


def _called_off(world: World, name: str, why: str) -> Settlement:
    return Settlement(cancel={run.id: why for run in world.store.runs.active_in(name)})


PLACES: dict[str, Callable[[World, Ask], Settlement]] = {
    EventKind.REPOSITORY: look_at_repository,
    EventKind.INSTALLATION: look_at_repository,
    EventKind.MERGE_GROUP: look_at_group,
}

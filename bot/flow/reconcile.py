"""GitHub never delivers twice of itself: what the hook missed is found in its list and asked for again."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from bot.core.missed import KEPT, Attempt, to_ask_again
from bot.flow.ports import GitHubError, Gone, World

EVERY = 20.0
AT_ONCE = 5  # a request each, and the loop has other work
log = logging.getLogger(__name__)


@dataclass
class Reconciler:
    """Looks at the list when it starts and every twenty seconds; a long list is worked off in portions, one a round of the loop."""

    next_look: float = 0.0
    asked: dict[str, float] = field(default_factory=dict)

    def turn(self, world: World) -> None:
        """Look, if it is time."""
        now = world.clock()
        if now < self.next_look:
            return
        self.next_look = now + EVERY
        try:
            due = self._missed(world, now)
            for one in due[:AT_ONCE]:
                self._ask(world, one, now)
        except GitHubError as trouble:
            log.warning("missed deliveries: %s", trouble)
        else:
            self.next_look = now if len(due) > AT_ONCE else self.next_look

    def _missed(self, world: World, now: float) -> list[Attempt]:
        failed = world.github.failed_deliveries(now - KEPT)
        known = world.store.deliveries.known({one.guid for one in failed})
        self.asked = {guid: at for guid, at in self.asked.items() if guid in {one.guid for one in failed} - known}
        return to_ask_again(failed, known, self.asked, now)

    def _ask(self, world: World, one: Attempt, now: float) -> None:
        self.asked[one.guid] = now
        log.warning("delivery %s (%s) never came in: asked for again", one.guid, one.event)
        try:
            world.github.redeliver(one.id)
        except Gone as gone:
            log.warning("delivery %s is no longer to be had: %s", one.guid, gone)

"""The parts put together: the one place where ports meet adapters."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.adapters import rendering
from bot.adapters.github import GitHubApi
from bot.adapters.queue import Alarm, NodeBell
from bot.adapters.store import Store, migrate, open_store
from bot.core.plan import MODEL_EDGE
from bot.core.records import RunStatus, RunView
from bot.core.report import Run, load
from bot.flow.ports import World
from bot.pages.runs import RunRow
from bot.settings import Settings
from kernels.models import MODELS


def store_of(settings: Settings) -> Store:
    """The store, its tables brought up to date."""
    store = open_store(settings.database)
    migrate(store.db.engine)
    return store


def world_of(settings: Settings) -> World:
    """All that the control loop works on."""
    return World(
        store=store_of(settings),
        github=GitHubApi(settings),
        words=rendering,
        bell=NodeBell(settings.broker),
        url=settings.url.rstrip("/"),
        serves=settings.serves,
        models=(*MODELS, MODEL_EDGE),
        clock=time.time,
        card_seconds=settings.card_seconds,
    )


def alarm_of(settings: Settings) -> Alarm:
    return Alarm(settings.broker)


@dataclass(frozen=True)
class PublicRuns:
    """What the run pages show: runs of public repositories only."""

    store: Store

    def recent(self, limit: int) -> Sequence[RunRow]:
        return [_row(view) for view in self.store.runs.recent(limit) if not view.new.private]

    def ended(self, run_id: str) -> Run | None:
        view = self.store.runs.get(run_id)
        return load(view.report) if view and view.report and not view.new.private else None


def _row(view: RunView) -> RunRow:
    started = datetime.fromtimestamp(view.started or view.created, UTC).isoformat(timespec="seconds")
    verdict = load(view.report).verdict.value if view.state is RunStatus.ENDED and view.report else ""
    return RunRow(view.id, view.new.repository, view.new.number, view.new.head, view.new.command, started, verdict)

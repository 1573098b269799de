"""What runs cost and how many there are: the figures that quotas are held against."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from bot.adapters.store.base import Part
from bot.adapters.store.tables import AskRow, AttemptRow, JobRow, RunRow
from bot.core.quotas import DAY, HOUR, Usage
from bot.core.records import AskState, NewAsk, RunStatus


class Usages(Part):
    def of(self, ask: NewAsk) -> Usage:
        """What is used up where a command or event comes from."""
        mine = (AskRow.sender == ask.sender, AskRow.comment_id.is_not(None))
        with self.db.read() as session:
            return Usage(
                person=_count(session, AskRow.id, *mine, AskRow.run_id.is_not(None), AskRow.settled >= self.now() - HOUR),
                pull=_count(session, RunRow.id, *_under_way(ask.repository), RunRow.id.in_(_asked(ask))),
                repository=_count(session, RunRow.id, *_under_way(ask.repository), RunRow.started.is_(None)),
                owner=self._device_seconds(session, ask.repository.partition("/")[0]),
                waiting=_count(session, AskRow.id, *mine, AskRow.state == AskState.NEW, AskRow.facts["waits"].as_string().is_not(None)),
            )

    def _device_seconds(self, session: Session, owner: str) -> float:
        """How long nodes were held for an owner's repositories in the last day."""
        theirs = (AttemptRow.claimed >= self.now() - DAY, func.lower(JobRow.repository).startswith(f"{owner.lower()}/", autoescape=True))
        held = func.sum(func.coalesce(AttemptRow.ended, self.now()) - AttemptRow.claimed)
        return session.scalar(select(held).join(JobRow, JobRow.id == AttemptRow.job_id).where(*theirs)) or 0.0


def _count(session: Session, column: InstrumentedAttribute[Any], *where: ColumnElement[bool]) -> int:
    return session.scalar(select(func.count(column)).where(*where)) or 0


def _under_way(repository: str) -> tuple[ColumnElement[bool], ...]:
    return RunRow.repository == repository, RunRow.state == RunStatus.OPEN, RunRow.cancelled == ""


def _asked(ask: NewAsk) -> Select[tuple[str | None]]:
    return select(AskRow.run_id).where(AskRow.repository == ask.repository, AskRow.number == ask.number, AskRow.run_id.is_not(None))

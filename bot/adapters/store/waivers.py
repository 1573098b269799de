"""Waivers: kept with who gave them and why, asked for whenever a run is judged."""

from __future__ import annotations

from sqlalchemy import Select, false, or_, select, true
from sqlalchemy.orm import Session

from bot.adapters.store.base import Part
from bot.adapters.store.starting import judge_again
from bot.adapters.store.tables import AskRow, PullRow, RunRow, WaiverRow
from bot.core.records import RunView
from bot.core.waivers import Waiver


class Waivers(Part):
    def of(self, run: RunView) -> tuple[Waiver, ...]:
        """The waivers given on the pull requests that asked for a run, those whose time is over left out; a merge group may
        have members of any number, and a waiver holds for its own code only."""
        asked = select(AskRow.number).where(AskRow.run_id == run.id)
        theirs = or_(WaiverRow.number.in_(asked), WaiverRow.number == run.new.number, true() if run.new.number == 0 else false())
        mine = (WaiverRow.repository == run.new.repository, theirs)
        with self.db.read() as session:
            rows = session.scalars(select(WaiverRow).where(*mine, WaiverRow.until > self.now()).order_by(WaiverRow.id))
            return tuple(Waiver(row.scope, row.codes, row.reason, row.by, row.own, row.at, row.until) for row in rows)

    def lapse(self) -> int:
        """End the waivers whose time is over: what they covered is judged again. How many."""
        over = select(WaiverRow).where(WaiverRow.ended.is_(None), WaiverRow.until <= self.now())
        with self.db.write() as session:
            rows = session.scalars(over).all()
            for row in rows:
                row.ended = self.now()
                for run in session.scalars(_gate_runs(row.repository, row.number)):
                    judge_again(session, run)
            return len(rows)


def add_waiver(session: Session, repository: str, number: int, waiver: Waiver) -> None:
    facts = {name: getattr(waiver, name) for name in ("scope", "reason", "by", "own", "at", "until")}
    session.add(WaiverRow(repository=repository, number=number, codes=dict(waiver.codes), **facts))
    session.flush()


def _gate_runs(repository: str, number: int) -> Select[tuple[RunRow]]:
    """The gate runs of a pull request's present head."""
    asked = select(AskRow.run_id).where(AskRow.repository == repository, AskRow.number == number)
    head = select(PullRow.head).where(PullRow.repository == repository, PullRow.number == number).scalar_subquery()
    return select(RunRow).where(RunRow.id.in_(asked), RunRow.repository == repository, RunRow.gate, RunRow.head == head)

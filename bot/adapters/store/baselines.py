"""Pools that had no good baseline for a day, from the jobs that ended there."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from bot.adapters.store.base import Part
from bot.adapters.store.tables import JobRow, NodeRow
from bot.core.baselines import DAY, Barren, barren
from bot.core.records import JobStatus
from runners.protocol import Outcome, load


class Baselines(Part):
    def missing(self) -> list[Barren]:
        """By name; a pool whose first node is younger than a day has had no time yet."""
        since = self.now() - DAY
        with self.db.read() as session:
            old = select(NodeRow.pool).where(NodeRow.revoked.is_(None), NodeRow.created <= since).distinct().order_by(NodeRow.pool)
            found = [barren(pool, _lately(session, pool, since)) for pool in session.scalars(old).all()]
        return [one for one in found if one is not None]


def _lately(session: Session, pool: str, since: float) -> Iterator[Outcome | None]:
    """How the pool's jobs ended, the newest first."""
    query = select(JobRow.outcome).where(JobRow.pool == pool, JobRow.state == JobStatus.ENDED, JobRow.ended >= since)
    for outcome in session.scalars(query.order_by(JobRow.ended.desc())):
        yield load(Outcome, outcome) if outcome else None

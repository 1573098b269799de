"""Webhooks as they came: one row per delivery id, processed once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from bot.adapters.store.base import Part
from bot.adapters.store.plain import to_json
from bot.adapters.store.tables import AskRow, DeliveryRow
from bot.core.records import AskState, Delivery, NewAsk


class Deliveries(Part):
    def add(self, guid: str, headers: Mapping[str, str], body: bytes) -> bool:
        """Keep one delivery; False if its id is there already."""
        row = DeliveryRow(guid=guid, headers=dict(headers), body=body, received=self.now())
        try:
            with self.db.write() as session:
                session.add(row)
        except IntegrityError:
            return False
        return True

    def due(self, limit: int = 100) -> list[Delivery]:
        """Deliveries not yet processed, oldest first."""
        query = select(DeliveryRow).where(DeliveryRow.processed.is_(None), DeliveryRow.retry_at <= self.now())
        with self.db.read() as session:
            rows = session.scalars(query.order_by(DeliveryRow.id).limit(limit)).all()
        return [Delivery(row.id, row.guid, row.headers, row.body) for row in rows]

    def settle(self, delivery: int, asks: Sequence[NewAsk], note: str = "") -> None:
        """Mark a delivery processed and open its asks, in one transaction; asks that are there already are passed over."""
        with self.db.write() as session:
            row = session.get_one(DeliveryRow, delivery)
            if row.processed is not None:
                return
            row.processed, row.note = self.now(), note
            for ask in asks:
                if not _known(session, ask):
                    session.add(_row(delivery, ask, self.now()))

    def delay(self, delivery: int, seconds: float, why: str) -> None:
        with self.db.write() as session:
            row = session.get_one(DeliveryRow, delivery)
            row.retry_at, row.failures, row.note = self.now() + seconds, row.failures + 1, why

    def known(self, guids: Collection[str]) -> set[str]:
        """Those of these delivery ids that came in."""
        with self.db.read() as session:
            return set(session.scalars(select(DeliveryRow.guid).where(DeliveryRow.guid.in_(guids))))

    def notes(self) -> list[str]:
        """What was noted of each delivery, oldest first."""
        with self.db.read() as session:
            return list(session.scalars(select(DeliveryRow.note).order_by(DeliveryRow.id)))

    def count(self) -> int:
        with self.db.read() as session:
            return session.scalar(select(func.count()).select_from(DeliveryRow)) or 0


def _known(session: Session, ask: NewAsk) -> bool:
    if ask.comment_id is None:
        return False
    same = (AskRow.repository == ask.repository, AskRow.comment_id == ask.comment_id, AskRow.ordinal == ask.ordinal)
    return session.scalar(select(AskRow.id).where(*same)) is not None


def _row(delivery: int, ask: NewAsk, now: float) -> AskRow:
    return AskRow(
        delivery_id=delivery, repository=ask.repository, number=ask.number, comment_id=ask.comment_id, ordinal=ask.ordinal,
        sender=ask.sender, new=to_json(ask), state=AskState.NEW, created=now,
    )  # fmt: skip

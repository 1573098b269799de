"""Outbox marks made inside other transactions: what is to be posted is noted together with why."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from bot.adapters.store.base import fresh_id
from bot.adapters.store.tables import AskRow, CheckRow, OutboxRow, PullRow, RunRow
from bot.core.records import Item

RANK = {item: rank for rank, item in enumerate(Item)}


def want(session: Session, item: Item, subject: object, repository: str, number: int) -> None:
    """Have an object posted, or posted anew if it is there."""
    row = session.scalar(select(OutboxRow).where(OutboxRow.item == item, OutboxRow.subject == str(subject)))
    if row is None:
        key = {"id": fresh_id(), "item": item, "rank": RANK[item], "subject": str(subject)}
        session.add(OutboxRow(**key, repository=repository, number=number))
        session.flush()
    else:
        row.wanted += 1


def want_card(session: Session, repository: str, number: int) -> None:
    """The card of a pull request, if the pull request is known."""
    pull = session.scalar(select(PullRow.id).where(PullRow.repository == repository, PullRow.number == number))
    if pull is not None:
        want(session, Item.CARD, pull, repository, number)


def hasten_cards(session: Session, run: RunRow) -> None:
    """What those who asked for a run have to hear does not wait until their card may be rewritten again."""
    cards = (OutboxRow.item == Item.CARD, OutboxRow.repository == run.repository, OutboxRow.number.in_(_numbers(session, run)))
    session.execute(update(OutboxRow).where(*cards).values(posted_at=None))


def want_check(session: Session, repository: str, sha: str) -> None:
    """The check of a head, if it has one."""
    check = session.scalar(select(CheckRow).where(CheckRow.repository == repository, CheckRow.sha == sha))
    if check is not None:
        want(session, Item.CHECK, check.id, repository, check.number)


def run_changed(session: Session, run: RunRow) -> None:
    """A run moved on: its check and the cards of all who asked for it."""
    if run.gate:
        want_check(session, run.repository, run.head)
    for number in _numbers(session, run):
        want_card(session, run.repository, number)


def run_ended(session: Session, run: RunRow) -> None:
    """A run has its verdict: also one answer for each person's command that asked for it."""
    run_changed(session, run)
    for ask in session.scalars(select(AskRow).where(AskRow.run_id == run.id, AskRow.comment_id.is_not(None))):
        want(session, Item.ANSWER, ask.id, ask.repository, ask.number)


def _numbers(session: Session, run: RunRow) -> set[int]:
    asked = session.scalars(select(AskRow.number).where(AskRow.run_id == run.id))
    return {run.number, *asked}

"""Commands and events waiting for a decision, and the one transaction in which each is settled."""

from __future__ import annotations

from sqlalchemy import String, cast, exists, select
from sqlalchemy.orm import Session

from bot.adapters.store.base import Part
from bot.adapters.store.hiding import hide_runs
from bot.adapters.store.plain import from_json, to_json
from bot.adapters.store.queueing import want, want_card, want_check
from bot.adapters.store.starting import cancel_run, end_judged, judge_again, open_round, start_run
from bot.adapters.store.tables import ApprovalRow, AskRow, CheckRow, OutboxRow, PullRow, RunRow
from bot.adapters.store.waivers import add_waiver
from bot.core.card import Reply
from bot.core.records import Ask, AskState, CheckMark, Item, NewAsk, PullState, RunStatus, Settlement

REFUSALS = (Reply.PARSE_ERRORS, Reply.NOT_ALLOWED, Reply.QUOTA)
ROOM_SECONDS = 15.0


class Asks(Part):
    def due(self, limit: int = 100) -> list[Ask]:
        """Asks not yet settled, oldest first."""
        query = select(AskRow).where(AskRow.state == AskState.NEW, AskRow.retry_at <= self.now())
        with self.db.read() as session:
            return [to_ask(row) for row in session.scalars(query.order_by(AskRow.id).limit(limit))]

    def settle(self, ask: int, settlement: Settlement) -> str | None:
        """Write all that an ask changes; the id of its run, if it has one. A second settlement changes nothing."""
        with self.db.write() as session:
            row = session.get_one(AskRow, ask)
            if row.state != AskState.NEW:
                return row.run_id
            self._write(session, row, settlement)
            return row.run_id

    def _write(self, session: Session, row: AskRow, settlement: Settlement) -> None:
        now = self.now()
        if settlement.pull:
            save_pull(session, settlement.pull)
        if settlement.approve:
            _approve(session, row, settlement.approve, now)
        for run, why in settlement.cancel.items():
            cancel_run(session, session.get_one(RunRow, run), why, now)
        if settlement.waits:
            self._wait(session, row, settlement)
            return
        row.state, row.settled = settlement.state, now
        row.reply, row.facts = settlement.reply, dict(settlement.facts)
        if settlement.hide:
            hide_runs(session, settlement.hide)
        if settlement.check:
            _mark_check(session, row.repository, row.number, settlement.check)
        run = start_run(session, settlement.run, now) if settlement.run else None
        if run and settlement.report:
            end_judged(run, settlement.report, now)
        run = open_round(session, settlement.again, now) if settlement.again else run
        if settlement.waive:
            add_waiver(session, row.repository, row.number, settlement.waive)
            judge_again(session, session.get_one(RunRow, settlement.waived_run))
        row.run_id = run.id if run else None
        session.flush()
        self._announce(session, row, settlement, run)

    def _wait(self, session: Session, row: AskRow, settlement: Settlement) -> None:
        """No room for its run yet: the card says why, once, and the ask comes up again soon."""
        row.retry_at = self.now() + ROOM_SECONDS
        if row.facts.get("waits") == settlement.waits:
            return
        row.facts = {"waits": settlement.waits}
        if settlement.check:
            _mark_check(session, row.repository, row.number, settlement.check)
        if row.comment_id is not None:
            want(session, Item.REACTION, row.id, row.repository, row.number)
        want_card(session, row.repository, row.number)

    def _announce(self, session: Session, row: AskRow, settlement: Settlement, run: RunRow | None) -> None:
        if run and run.gate:
            _mark_check(session, run.repository, row.number, CheckMark(run.head, note=None))
        if row.comment_id is not None:
            want(session, Item.REACTION, row.id, row.repository, row.number)
        if settlement.answer or (row.comment_id is not None and run and run.state == RunStatus.ENDED):
            want(session, Item.ANSWER, row.id, row.repository, row.number)
        if run or settlement.cancel or settlement.check or settlement.approve:
            want_card(session, row.repository, row.number)

    def delay(self, ask: int, seconds: float) -> None:
        """Look at an ask again later: GitHub can't be asked now."""
        with self.db.write() as session:
            session.get_one(AskRow, ask).retry_at = self.now() + seconds

    def failed(self, ask: int, seconds: float) -> int:
        """A bug of ours met on an ask: look at it again later; how often that has happened."""
        with self.db.write() as session:
            row = session.get_one(AskRow, ask)
            row.retry_at, row.failures = self.now() + seconds, row.failures + 1
            return row.failures

    def refused_since(self, ask: Ask, since: float) -> bool:
        """Whether this person was told no in words on this pull request after `since`; reactions alone don't count."""
        same = (AskRow.repository == ask.new.repository, AskRow.number == ask.new.number, AskRow.sender == ask.new.sender)
        refused = (AskRow.state == AskState.REFUSED, AskRow.reply.in_(REFUSALS), AskRow.settled >= since)
        told = exists().where(OutboxRow.item == Item.ANSWER, OutboxRow.subject == cast(AskRow.id, String))
        query = select(AskRow.id).where(*same, *refused, told).limit(1)
        with self.db.read() as session:
            return session.scalar(query) is not None

    def get(self, ask: int) -> Ask:
        with self.db.read() as session:
            return to_ask(session.get_one(AskRow, ask))

    def authors(self, repository: str, head: str) -> set[str]:
        """The authors of the pull requests that are known to have this head."""
        with self.db.read() as session:
            return set(session.scalars(select(PullRow.author).where(PullRow.repository == repository, PullRow.head == head)))

    def approved(self, repository: str, number: int, sha: str) -> bool:
        """Whether a maintainer let this very commit run on this pull request."""
        same = (ApprovalRow.repository == repository, ApprovalRow.number == number, ApprovalRow.sha == sha)
        with self.db.read() as session:
            return session.scalar(select(ApprovalRow.id).where(*same)) is not None

    def pull(self, repository: str, number: int) -> PullState | None:
        """The pull request as it was when last asked of the API."""
        query = select(PullRow).where(PullRow.repository == repository, PullRow.number == number)
        with self.db.read() as session:
            row = session.scalar(query)
            return pull_state(row) if row else None


def to_ask(row: AskRow) -> Ask:
    return Ask(row.id, from_json(NewAsk, row.new), AskState(row.state), row.created, row.run_id, row.reply, row.facts)


def save_pull(session: Session, pull: PullState) -> None:
    row = session.scalar(select(PullRow).where(PullRow.repository == pull.repository, PullRow.number == pull.number))
    if row is None:
        others = select(PullRow.id).where(PullRow.repository == pull.repository, PullRow.author == pull.author)
        session.add(PullRow(**to_json(pull), welcome=session.scalar(others.limit(1)) is None))
    else:
        for name, value in to_json(pull).items():
            setattr(row, name, value)
    session.flush()


def pull_state(row: PullRow) -> PullState:
    return PullState(**{name: getattr(row, name) for name in PullState.__dataclass_fields__})


def _approve(session: Session, row: AskRow, sha: str, now: float) -> None:
    key = {"repository": row.repository, "number": row.number, "sha": sha}
    if session.scalar(select(ApprovalRow).filter_by(**key)) is None:
        session.add(ApprovalRow(**key, by=row.sender, at=now))


def _mark_check(session: Session, repository: str, number: int, mark: CheckMark) -> None:
    row = session.scalar(select(CheckRow).where(CheckRow.repository == repository, CheckRow.sha == mark.sha))
    if row is None:
        row = CheckRow(repository=repository, number=number, sha=mark.sha)
        session.add(row)
    row.note, row.facts = mark.note or "", dict(mark.facts)
    session.flush()
    want_check(session, repository, mark.sha)

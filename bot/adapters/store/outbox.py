"""The outbox: which objects on GitHub are behind the database, and the facts from which they are rendered."""

from __future__ import annotations

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from bot.adapters.store.asks import pull_state, to_ask
from bot.adapters.store.base import Part
from bot.adapters.store.tables import AskRow, CheckRow, OutboxRow, PullRow, RunRow
from bot.adapters.store.views import run_view
from bot.core.records import Ask, AskState, CheckNote, CheckView, Item, Post, PullState, RunView

SENDING = 30.0


class Outbox(Part):
    def due(self, card_seconds: float, limit: int = 50) -> list[str]:
        """Ids of what is to be posted now: checks, answers, reactions, cards. A card is rewritten once in `card_seconds`."""
        now = self.now()
        behind = (OutboxRow.wanted > OutboxRow.posted, OutboxRow.retry_at <= now, OutboxRow.sending_until <= now)
        rested = or_(OutboxRow.item != Item.CARD, OutboxRow.posted_at.is_(None), OutboxRow.posted_at <= now - card_seconds)
        with self.db.read() as session:
            return list(session.scalars(select(OutboxRow.id).where(*behind, rested).order_by(OutboxRow.rank, OutboxRow.id).limit(limit)))

    def begin(self, post: str) -> Post | None:
        """Take one object for sending, and note that a create may be under way; None if it is up to date or taken."""
        with self.db.write() as session:
            row = session.get_one(OutboxRow, post)
            if row.wanted <= row.posted or row.sending_until > self.now():
                return None
            taken = _post(row)
            row.sending_until, row.tried = self.now() + SENDING, True
            return taken

    def posted(self, post: Post, remote_id: str) -> None:
        """It is on GitHub as of `post.version`; a version wanted meanwhile is still to come."""
        with self.db.write() as session:
            row = session.get_one(OutboxRow, post.id)
            row.remote_id, row.posted = remote_id, max(row.posted, post.version)
            row.posted_at, row.sending_until, row.failures, row.declined, row.error = self.now(), 0.0, 0, 0, ""

    def forget_remote(self, post: Post) -> None:
        """Somebody deleted it on GitHub: the next try makes it anew."""
        with self.db.write() as session:
            row = session.get_one(OutboxRow, post.id)
            row.remote_id, row.tried, row.sending_until, row.renewed = "", False, 0.0, True

    def failed(self, post: Post, wait: float, why: str) -> None:
        with self.db.write() as session:
            row = session.get_one(OutboxRow, post.id)
            row.retry_at, row.sending_until, row.failures, row.error = self.now() + wait, 0.0, row.failures + 1, why

    def declined(self, post: Post, why: str) -> None:
        """GitHub finds it too long: the next try, at once, is shorter."""
        with self.db.write() as session:
            row = session.get_one(OutboxRow, post.id)
            row.sending_until, row.declined, row.error = 0.0, row.declined + 1, why

    def give_up(self, post: Post, why: str) -> None:
        """GitHub will never take it (a locked conversation, a comment deleted): keep why, try no more."""
        with self.db.write() as session:
            row = session.get_one(OutboxRow, post.id)
            row.posted, row.sending_until, row.error = max(row.posted, post.version), 0.0, why

    def ask(self, subject: str) -> tuple[Ask, RunView | None]:
        """The command behind an answer or reaction, and its run."""
        with self.db.read() as session:
            row = session.get_one(AskRow, int(subject))
            run = session.get(RunRow, row.run_id) if row.run_id else None
            return to_ask(row), run_view(session, run, self.now()) if run else None

    def check(self, subject: str) -> CheckView:
        """What decides the check of a head: its gate runs, newest first."""
        with self.db.read() as session:
            row = session.get_one(CheckRow, int(subject))
            gates = select(RunRow).where(RunRow.repository == row.repository, RunRow.head == row.sha, RunRow.gate)
            runs = tuple(run_view(session, run, self.now()) for run in session.scalars(gates.order_by(RunRow.created.desc())))
            return CheckView(row.sha, CheckNote(row.note) if row.note else None, row.facts, runs)

    def pulls_of_check(self, repository: str, sha: str) -> list[int]:
        """The pull requests of this head, open ones first; else that for which its check was made."""
        same = (PullRow.repository == repository, PullRow.head == sha)
        made = select(CheckRow.number).where(CheckRow.repository == repository, CheckRow.sha == sha)
        with self.db.read() as session:
            found = session.scalars(select(PullRow.number).where(*same).order_by(PullRow.open.desc(), PullRow.number)).all()
            return list(found) or list(session.scalars(made))

    def card_subject(self, repository: str, number: int) -> str:
        """The subject of a pull request's card."""
        query = select(PullRow.id).where(PullRow.repository == repository, PullRow.number == number)
        with self.db.read() as session:
            return str(session.scalars(query).one())

    def card(self, subject: str) -> tuple[PullState, bool, CheckView | None, tuple[RunView, ...], tuple[Ask, ...]]:
        """A pull request, whether to welcome it, its head's check, its newest runs, and the commands that wait for room."""
        with self.db.read() as session:
            row = session.get_one(PullRow, int(subject))
            check = session.scalar(select(CheckRow).where(CheckRow.repository == row.repository, CheckRow.sha == row.head))
            runs = tuple(run_view(session, run, self.now()) for run in _asked(session, row))
            waiting = tuple(to_ask(ask) for ask in _waiting(session, row))
        return pull_state(row), row.welcome, self.check(str(check.id)) if check else None, runs, waiting


def _waiting(session: Session, pull: PullRow) -> list[AskRow]:
    mine = (AskRow.repository == pull.repository, AskRow.number == pull.number, AskRow.state == AskState.NEW)
    return [ask for ask in session.scalars(select(AskRow).where(*mine).order_by(AskRow.id)) if "waits" in ask.facts]


def _post(row: OutboxRow) -> Post:
    key = (row.id, Item(row.item), row.subject, row.repository, row.number)
    tries = {"tried": row.tried, "failures": row.failures, "renewed": row.renewed, "declined": row.declined}
    return Post(*key, version=row.wanted, remote_id=row.remote_id, **tries)


def _asked(session: Session, pull: PullRow, limit: int = 5) -> list[RunRow]:
    """The runs that someone asked for on this pull request, newest first; a joined run may belong to another one."""
    asked = select(AskRow.run_id).where(AskRow.repository == pull.repository, AskRow.number == pull.number, AskRow.run_id.is_not(None))
    return list(session.scalars(select(RunRow).where(RunRow.id.in_(asked)).order_by(RunRow.created.desc()).limit(limit)))

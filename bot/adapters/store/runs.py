"""Runs: opened into jobs, judged when the last job has ended, closed once."""

from __future__ import annotations

from sqlalchemy import Select, exists, select
from sqlalchemy.orm import Session

from bot.adapters.store.base import Part
from bot.adapters.store.plain import from_json
from bot.adapters.store.queueing import run_ended
from bot.adapters.store.starting import end_jobs, new_job
from bot.adapters.store.tables import AskRow, JobRow, PullRow, RunRow
from bot.adapters.store.views import every_job, job_facts, run_view
from bot.core.records import JobEnding, JobFacts, JobStatus, NewRun, RunStatus, RunView
from bot.core.verdict import RunVerdict


class Runs(Part):
    def without_jobs(self) -> list[str]:
        """Open runs that still need their jobs."""
        has_jobs = exists().where(JobRow.run_id == RunRow.id)
        query = select(RunRow.id).where(RunRow.state == RunStatus.OPEN, RunRow.cancelled == "", ~has_jobs)
        with self.db.read() as session:
            return list(session.scalars(query.order_by(RunRow.created)))

    def open_jobs(self, run: str) -> None:
        """One job for each pool of the run; those that are there stay."""
        with self.db.write() as session:
            row = session.get_one(RunRow, run)
            there = set(session.scalars(select(JobRow.pool).where(JobRow.run_id == run)))
            for pool in (plan.pool for plan in from_json(NewRun, row.new).pools):
                if pool not in there and not row.cancelled:
                    session.add(new_job(row, pool, self.now(), row.priority))

    def judgeable(self) -> list[str]:
        """Open runs of which every job has ended, and cancelled ones."""
        waiting = exists().where(JobRow.run_id == RunRow.id, JobRow.state != JobStatus.ENDED)
        has_jobs = exists().where(JobRow.run_id == RunRow.id)
        query = select(RunRow.id).where(RunRow.state == RunStatus.OPEN, (RunRow.cancelled != "") | (has_jobs & ~waiting))
        with self.db.read() as session:
            return list(session.scalars(query.order_by(RunRow.created)))

    def facts(self, run: str) -> tuple[RunView, tuple[JobFacts, ...]]:
        """A run and all that its nodes found, the jobs of every round in order."""
        with self.db.read() as session:
            row = session.get_one(RunRow, run)
            return run_view(session, row, self.now()), tuple(job_facts(session, job) for job in every_job(session, row, self.now()))

    def finish(self, run: str, verdict: RunVerdict, report: bytes) -> bool:
        """Close a run with its report; False if it is closed already."""
        with self.db.write() as session:
            row = session.get_one(RunRow, run)
            if row.state != RunStatus.OPEN:
                return False
            row.state, row.verdict, row.report, row.ended = RunStatus.ENDED, verdict, report, row.ended or self.now()
            if verdict is RunVerdict.CANCELLED:
                row.gate_key = None
            end_jobs(session, run, JobEnding.CANCELLED, self.now(), JobStatus.QUEUED, JobStatus.CLAIMED)
            run_ended(session, row)
            return True

    def get(self, run: str) -> RunView | None:
        """One run with its jobs."""
        with self.db.read() as session:
            row = session.get(RunRow, run)
            return run_view(session, row, self.now()) if row else None

    def held(self, gate_key: str) -> RunView | None:
        """The gate run that is there for this key, open or ended."""
        with self.db.read() as session:
            row = session.scalar(select(RunRow).where(RunRow.gate_key == gate_key))
            return run_view(session, row, self.now()) if row else None

    def gate(self, repository: str, number: int, head: str) -> RunView | None:
        """The newest gate run of a head that this pull request asked for."""
        asked = select(AskRow.run_id).where(AskRow.repository == repository, AskRow.number == number)
        query = select(RunRow).where(RunRow.id.in_(asked), RunRow.head == head, RunRow.gate).order_by(RunRow.created.desc())
        with self.db.read() as session:
            row = session.scalars(query.limit(1)).first()
            return run_view(session, row, self.now()) if row else None

    def active(self, repository: str, number: int) -> list[RunView]:
        """Open runs that this pull request asked for, its own or joined, and that nobody has called off."""
        asked = select(AskRow.run_id).where(AskRow.repository == repository, AskRow.number == number, AskRow.run_id.is_not(None))
        query = select(RunRow).where(RunRow.id.in_(asked), RunRow.state == RunStatus.OPEN, RunRow.cancelled == "")
        with self.db.read() as session:
            return self._views(session, query.order_by(RunRow.created.desc()))

    def active_in(self, repository: str) -> list[RunView]:
        """Open runs of a repository that nobody has called off."""
        query = select(RunRow).where(RunRow.repository == repository, RunRow.state == RunStatus.OPEN, RunRow.cancelled == "")
        with self.db.read() as session:
            return self._views(session, query.order_by(RunRow.created.desc()))

    def green_gates(self, repository: str, limit: int) -> list[RunView]:
        """The newest gate runs that passed, of open pull requests' present heads."""
        heads = select(PullRow.head).where(PullRow.repository == repository, PullRow.open)
        green = (RunRow.repository == repository, RunRow.gate, RunRow.verdict == RunVerdict.PASS, RunRow.head.in_(heads))
        with self.db.read() as session:
            return self._views(session, select(RunRow).where(*green).order_by(RunRow.created.desc()).limit(limit))

    def repositories(self, owner: str) -> list[str]:
        """The repositories of an account of which there are runs."""
        query = select(RunRow.repository).where(RunRow.repository.startswith(f"{owner}/", autoescape=True)).distinct()
        with self.db.read() as session:
            return sorted(session.scalars(query))

    def waiters(self, run: str) -> set[int]:
        """The open pull requests that asked for a run and whose head and base branch are still those of the run."""
        asked = select(AskRow.number).where(AskRow.run_id == run)
        with self.db.read() as session:
            row = session.get_one(RunRow, run)
            same = (PullRow.repository == row.repository, PullRow.head == row.head, PullRow.base_ref == row.new["base_ref"])
            return set(session.scalars(select(PullRow.number).where(*same, PullRow.open, PullRow.number.in_(asked))))

    def of_pull(self, repository: str, number: int, limit: int = 5) -> list[RunView]:
        """The newest runs of a pull request, newest first."""
        with self.db.read() as session:
            return self._views(session, _of(repository, number).limit(limit))

    def recent(self, limit: int = 50) -> list[RunView]:
        """The newest runs of all repositories."""
        with self.db.read() as session:
            return self._views(session, select(RunRow).order_by(RunRow.created.desc()).limit(limit))

    def _views(self, session: Session, query: Select[tuple[RunRow]]) -> list[RunView]:
        return [run_view(session, row, self.now()) for row in session.scalars(query)]


def _of(repository: str, number: int) -> Select[tuple[RunRow]]:
    return select(RunRow).where(RunRow.repository == repository, RunRow.number == number).order_by(RunRow.created.desc())

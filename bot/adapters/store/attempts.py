"""What nodes do to jobs: claim, beat, report. Each call is fenced by the attempt that is current."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from bot.adapters.store.base import Part, fresh_id
from bot.adapters.store.jobs import ATTEMPTS, end_job, give_back
from bot.adapters.store.plain import from_json
from bot.adapters.store.queueing import run_changed
from bot.adapters.store.tables import AttemptRow, JobRow, NodeRow, ResultRow, RunRow
from bot.adapters.store.waiting import queue_order
from bot.core.plan import PoolPlan
from bot.core.records import AttemptState, JobEnding, JobStatus, NewRun
from runners.protocol import Enumeration, FailureKind, Job, Mode, Outcome, Selection, dump

LEASE = 45.0


class NotCurrent(Exception):
    """The attempt is another node's, lost, done, or never was."""


@dataclass(frozen=True)
class Claimed:
    job: Job
    private: bool


class Attempts(Part):
    def claim(self, node: int) -> Claimed | None:
        """The next job of the node's pool, with a fresh attempt; None if there is none."""
        with self.db.write() as session:
            me = session.get_one(NodeRow, node)
            while (job := _next(session, me)) is not None:
                attempt = _take(session, job, me, self.now())
                if attempt is not None:
                    return _claimed(session, job, attempt)
            return None

    def beat(self, node: int, attempt: str, phase: str, telemetry: Mapping[str, Any]) -> bool:
        """Renew the lease; whether the node is to stop."""
        with self.db.write() as session:
            row, job = self._current(session, node, attempt)
            run = session.get_one(RunRow, job.run_id)
            row.lease, row.telemetry = self.now() + LEASE, dict(telemetry)
            session.get_one(NodeRow, node).seen = self.now()
            if row.phase != phase:
                row.phase = phase
                run_changed(session, run)
            return bool(run.cancelled) or job.state == JobStatus.ENDED

    def enumerate(self, node: int, attempt: str, enumeration: Enumeration) -> None:
        """The cases that the job owes; the first attempt's list stays."""
        with self.db.write() as session:
            _, job = self._open(session, node, attempt)
            if job.enumeration is None:
                job.enumeration, job.total = dump(enumeration), len(enumeration.cases)

    def result(self, node: int, attempt: str, case: str, tunables: str, body: bytes) -> None:
        """Keep one measurement (gzip JSON); what an earlier attempt delivered stays, a repeat replaces its own."""
        with self.db.write() as session:
            row, job = self._open(session, node, attempt)
            key = {"job_id": job.id, "case_id": case, "tunables": tunables}
            known = session.scalar(select(ResultRow).filter_by(**key))
            if known is None:
                session.add(ResultRow(**key, attempt_id=row.id, body=body, received=self.now()))
            elif known.attempt_id == row.id:
                known.body, known.received = body, self.now()

    def done(self, node: int, attempt: str, outcome: Outcome) -> None:
        """The attempt has ended; trouble of the machine is tried once more elsewhere. Said twice, it changes nothing."""
        with self.db.write() as session:
            row = session.get(AttemptRow, attempt)
            if row is not None and row.node_id == node and row.state == AttemptState.DONE:
                return
            row, job = self._current(session, node, attempt)
            row.state, row.ended = AttemptState.DONE, self.now()
            if job.state == JobStatus.ENDED:
                return
            job.outcome = dump(outcome)
            if outcome.failure and outcome.failure.kind is FailureKind.INFRASTRUCTURE and job.attempts < ATTEMPTS:
                give_back(session, job, row, self.now())
            else:
                end_job(session, job, JobEnding.DONE, self.now())

    def _current(self, session: Session, node: int, attempt: str) -> tuple[AttemptRow, JobRow]:
        row = session.get(AttemptRow, attempt)
        if row is None or row.node_id != node or row.state != AttemptState.CURRENT or row.lease < self.now():
            raise NotCurrent(attempt)
        job = session.get_one(JobRow, row.job_id)
        if job.attempt_id != attempt:
            raise NotCurrent(attempt)
        return row, job

    def _open(self, session: Session, node: int, attempt: str) -> tuple[AttemptRow, JobRow]:
        row, job = self._current(session, node, attempt)
        if job.state != JobStatus.CLAIMED:
            raise NotCurrent(attempt)
        return row, job


def _next(session: Session, node: NodeRow) -> JobRow | None:
    served = func.lower(JobRow.repository).in_([name.lower() for name in node.repositories])
    query = (
        select(JobRow).join(RunRow, JobRow.run_id == RunRow.id).where(JobRow.state == JobStatus.QUEUED, JobRow.pool == node.pool, served)
    )
    return session.scalar(query.order_by(*queue_order()).limit(1))


def _take(session: Session, job: JobRow, node: NodeRow, now: float) -> AttemptRow | None:
    """Compare and set; None if another node was faster."""
    attempt = AttemptRow(
        id=fresh_id(), job_id=job.id, ordinal=job.attempts + 1, node_id=node.id, state=AttemptState.CURRENT, claimed=now, lease=now + LEASE
    )
    mine = (JobRow.id == job.id, JobRow.state == JobStatus.QUEUED, JobRow.attempts == job.attempts)
    taken = {"state": JobStatus.CLAIMED, "attempts": job.attempts + 1, "attempt_id": attempt.id}
    if session.execute(update(JobRow).where(*mine).values(**taken)).rowcount != 1:  # type: ignore[attr-defined]
        session.refresh(job)
        return None
    session.refresh(job)
    session.add(attempt)
    session.flush()
    run = session.get_one(RunRow, job.run_id)
    run.started = run.started or now
    node.seen = now
    run_changed(session, run)
    return attempt


def _claimed(session: Session, row: JobRow, attempt: AttemptRow) -> Claimed:
    run = session.get_one(RunRow, row.run_id)
    new = from_json(NewRun, run.new)
    plan = next(plan for plan in new.pools if plan.pool == row.pool)
    job = Job(
        schema=1, id=row.id, run=run.id, attempt=attempt.id, repository=new.repository, clone_url=new.clone_url,
        base=new.base, head=new.head, judge=new.judge, pool=row.pool, selection=_selection(new.selection, plan),
        budget_seconds=new.budget_seconds, floor=plan.floor, harm=new.harm, suite=new.suite,
        trusted=new.trusted, static=plan.static, alpha_share=plan.share, tip=new.tip, only=tuple(row.only),
    )  # fmt: skip
    return Claimed(job, new.private)


def _selection(selection: Selection, plan: PoolPlan) -> Selection:
    """What this pool does of it: a pool that only compiles for the gate takes no times."""
    modes = selection.modes if plan.timed else tuple(mode for mode in selection.modes if mode is not Mode.PERFORMANCE)
    return replace(selection, modes=modes)

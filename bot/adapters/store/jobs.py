"""Jobs as the control loop sees them: hinted to their pool, ended when they wait too long, queued again when a node is lost."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from bot.adapters.store.base import Part
from bot.adapters.store.queueing import run_changed
from bot.adapters.store.tables import AttemptRow, JobRow, RunRow
from bot.core.records import AttemptState, Hint, JobEnding, JobStatus

ATTEMPTS = 2
HINT_AGAIN = 30.0
LONGEST_WAIT = 24 * 3600.0
LONGEST_WORK = 6 * 3600.0  # a node that hangs may go on beating


class Jobs(Part):
    def unheard(self, limit: int = 200) -> list[Hint]:
        """Queued jobs whose pool has heard nothing of them for a while."""
        query = select(JobRow.id, JobRow.pool).where(JobRow.state == JobStatus.QUEUED, JobRow.hinted <= self.now() - HINT_AGAIN)
        with self.db.read() as session:
            return [Hint(job, pool) for job, pool in session.execute(query.order_by(JobRow.created).limit(limit))]

    def heard(self, jobs: Sequence[str]) -> None:
        """Their pools have been told."""
        with self.db.write() as session:
            session.execute(update(JobRow).where(JobRow.id.in_(jobs)).values(hinted=self.now()))

    def end_waiting(self) -> int:
        """End the jobs that no node took within a day; how many."""
        query = select(JobRow).where(JobRow.state == JobStatus.QUEUED, JobRow.created <= self.now() - LONGEST_WAIT)
        with self.db.write() as session:
            jobs = session.scalars(query).all()
            for job in jobs:
                end_job(session, job, JobEnding.WAITED_TOO_LONG, self.now())
            return len(jobs)

    def end_leases(self) -> int:
        """Take the job from every node that stopped beating, or gets nowhere; it is queued once more, or ends. How many."""
        over = or_(AttemptRow.lease < self.now(), AttemptRow.claimed < self.now() - LONGEST_WORK)
        query = select(AttemptRow).where(AttemptRow.state == AttemptState.CURRENT, over)
        with self.db.write() as session:
            attempts = session.scalars(query).all()
            for attempt in attempts:
                attempt.state, attempt.ended = AttemptState.LOST, self.now()
                give_back(session, session.get_one(JobRow, attempt.job_id), attempt, self.now())
            return len(attempts)


def give_back(session: Session, job: JobRow, attempt: AttemptRow, now: float) -> None:
    """After a failed attempt: another one, if the job still has one."""
    if job.state != JobStatus.CLAIMED or job.attempt_id != attempt.id:
        return
    if job.attempts >= ATTEMPTS:
        end_job(session, job, JobEnding.LOST, now)
        return
    job.state, job.hinted = JobStatus.QUEUED, 0.0
    run_changed(session, session.get_one(RunRow, job.run_id))


def end_job(session: Session, job: JobRow, ending: JobEnding, now: float) -> None:
    job.state, job.ending, job.ended = JobStatus.ENDED, ending, now
    run_changed(session, session.get_one(RunRow, job.run_id))

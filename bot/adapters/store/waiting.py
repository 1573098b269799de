"""Who is served first, where a job stands, and what is known of how long jobs take."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, aliased

from bot.adapters.store.tables import AttemptRow, JobRow, RunRow
from bot.core.records import AttemptState, JobEnding, JobStatus
from bot.core.waiting import seconds_left

REMEMBERED = 20  # jobs of a repository on a pool, by which the next ones are foretold


def queue_order() -> tuple[ColumnElement[object], ...]:
    """Of queued jobs joined with their runs. Merge queue, people, pushes, history; then each pull request's first before anybody's
    second, those counted that run already; then the oldest."""
    other_run, other = aliased(RunRow), aliased(JobRow)
    same = (other_run.repository == RunRow.repository, other_run.number == RunRow.number, other.pool == JobRow.pool)
    running = select(func.count(other.id)).join(other_run, other.run_id == other_run.id).where(other.state == JobStatus.CLAIMED, *same)
    own = (JobRow.priority, RunRow.repository, RunRow.number)
    turn = func.row_number().over(partition_by=own, order_by=(JobRow.created, JobRow.id)) + running.scalar_subquery()
    return JobRow.priority, turn, JobRow.created, JobRow.id  # type: ignore[return-value]


def place(session: Session, row: JobRow) -> int:
    """From 1 in its pool's queue; 0 for a job that does not wait."""
    if row.state != JobStatus.QUEUED:
        return 0
    waiting = select(JobRow.id).join(RunRow, JobRow.run_id == RunRow.id).where(JobRow.state == JobStatus.QUEUED, JobRow.pool == row.pool)
    return 1 + list(session.scalars(waiting.order_by(*queue_order()))).index(row.id)


def left(session: Session, row: JobRow, at: int, attempt: AttemptRow | None, nodes: int, now: float) -> float | None:
    """Seconds until the job at place `at` is likely to end, None where nothing is known or it has ended."""
    if row.state == JobStatus.ENDED:
        return None
    if row.state == JobStatus.CLAIMED and attempt is not None:
        return seconds_left(_took(session, row), 0, (), nodes, since=now - attempt.claimed)
    current = select(AttemptRow.claimed).join(JobRow, AttemptRow.job_id == JobRow.id).where(AttemptRow.state == AttemptState.CURRENT)
    running = [now - claimed for claimed in session.scalars(current.where(JobRow.pool == row.pool))]
    return seconds_left(_took(session, row), at, running, nodes)


def _took(session: Session, row: JobRow) -> list[float]:
    """Of the newest jobs that a node brought to an end."""
    same = (JobRow.pool == row.pool, JobRow.repository == row.repository, JobRow.ending == JobEnding.DONE)
    query = select(AttemptRow.ended - AttemptRow.claimed).join(JobRow, AttemptRow.job_id == JobRow.id)
    ended = query.where(*same, AttemptRow.state == AttemptState.DONE, AttemptRow.ended.is_not(None))
    return [float(seconds or 0.0) for seconds in session.scalars(ended.order_by(AttemptRow.ended.desc()).limit(REMEMBERED))]

"""Rows to frozen values: a run with its jobs, and what a job's nodes found."""

from __future__ import annotations

import gzip
from collections.abc import Iterable

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from bot.adapters.store.nodes import nodes_of
from bot.adapters.store.plain import from_json
from bot.adapters.store.tables import AttemptRow, JobRow, NodeRow, ResultRow, RunRow
from bot.adapters.store.waiting import left, place
from bot.core.nodes import pool_state
from bot.core.records import JobEnding, JobFacts, JobStatus, JobView, NewRun, RunStatus, RunView
from runners.protocol import Enumeration, Measurement, NodeInfo, Outcome, load


def run_view(session: Session, row: RunRow, now: float) -> RunView:
    newest = {job.pool: job for job in _jobs(session, row)}
    views = tuple(job_view(session, newest[pool], now) for pool in sorted(newest))
    times = (row.created, row.started, row.ended)
    return RunView(row.id, from_json(NewRun, row.new), RunStatus(row.state), *times, row.cancelled, views, row.report)


def every_job(session: Session, row: RunRow, now: float) -> tuple[JobView, ...]:
    """The jobs of all rounds of a run, oldest first."""
    return tuple(job_view(session, job, now) for job in _jobs(session, row))


def _jobs(session: Session, row: RunRow) -> Iterable[JobRow]:
    return session.scalars(select(JobRow).where(JobRow.run_id == row.id).order_by(JobRow.round, JobRow.pool))


def job_view(session: Session, row: JobRow, now: float) -> JobView:
    attempt = session.get(AttemptRow, row.attempt_id) if row.attempt_id else None
    outcome = load(Outcome, row.outcome) if row.outcome else None
    where = place(session, row)
    pool = pool_state([node for node in nodes_of(session, now, row.pool) if node.serves(row.repository)], now)
    return JobView(
        id=row.id, pool=row.pool, state=JobStatus(row.state), ending=JobEnding(row.ending) if row.ending else None,
        attempts=row.attempts, phase=attempt.phase if attempt else "", place=where, total=row.total,
        done=_done(session, row),
        live_nodes=pool.live, old_nodes=pool.old, rests=pool.rests, outcome=outcome, node=_node(session, attempt, outcome), round=row.round,
        left=left(session, row, where, attempt, pool.live, now),
    )  # fmt: skip


def _done(session: Session, row: JobRow) -> int:
    """Cases with a result, of those that were enumerated: held-out shapes and further tunables are not counted on top."""
    found = session.scalar(select(func.count(ResultRow.case_id.distinct())).where(ResultRow.job_id == row.id)) or 0
    return found if row.total is None else min(found, row.total)


def _node(session: Session, attempt: AttemptRow | None, outcome: Outcome | None) -> NodeInfo | None:
    """The node under the name of its key, whatever it calls itself."""
    if attempt is None or outcome is None or outcome.node is None:
        return None
    name = session.get_one(NodeRow, attempt.node_id).name
    node = outcome.node
    return NodeInfo(name, node.device, node.target, node.backend, node.driver, node.toolchain, node.harness)


def job_facts(session: Session, view: JobView) -> JobFacts:
    """What the nodes found for one job; results of a node distrusted since then are left out."""
    row = session.get_one(JobRow, view.id)
    trusted = or_(NodeRow.distrusted_since.is_(None), ResultRow.received < NodeRow.distrusted_since)
    query = select(ResultRow.body).join(AttemptRow, AttemptRow.id == ResultRow.attempt_id).join(NodeRow, NodeRow.id == AttemptRow.node_id)
    bodies = session.scalars(query.where(ResultRow.job_id == view.id, trusted).order_by(ResultRow.id))
    found = tuple(load(Measurement, gzip.decompress(body)) for body in bodies)
    return JobFacts(view, load(Enumeration, row.enumeration) if row.enumeration else None, found)

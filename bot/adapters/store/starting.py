"""How a run begins and is called off, as steps of a larger transaction."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from bot.adapters.store.base import fresh_id
from bot.adapters.store.plain import to_json
from bot.adapters.store.queueing import run_changed
from bot.adapters.store.tables import JobRow, RunRow
from bot.core.enums import RunVerdict
from bot.core.records import Again, JobEnding, JobStatus, NewRun, Priority, RunStatus


def start_run(session: Session, new: NewRun, now: float) -> RunRow:
    """A new run, or the gate run that exists for the same head, base and configuration; a cancelled one holds no key."""
    held = session.scalar(select(RunRow).where(RunRow.gate_key == new.gate_key)) if new.gate else None
    if held is not None:
        return held
    row = RunRow(
        id=fresh_id()[:12], repository=new.repository, number=new.number, head=new.head, gate=new.gate,
        gate_key=new.gate_key if new.gate else None, priority=new.priority, new=to_json(new), state=RunStatus.OPEN, created=now,
    )  # fmt: skip
    session.add(row)
    session.flush()
    return row


def end_judged(run: RunRow, report: bytes, now: float) -> None:
    """A run of which all was judged before ends as it begins: green, as nothing else is taken over."""
    if run.state == RunStatus.OPEN and run.report is None:
        run.state, run.verdict, run.report, run.started, run.ended = RunStatus.ENDED, RunVerdict.PASS, report, now, now


def open_round(session: Session, again: Again, now: float) -> RunRow:
    """A further round of an ended run; one that is open already is joined."""
    run = session.get_one(RunRow, again.run)
    if run.state != RunStatus.ENDED:
        return run
    number = last_round(session, run.id) + 1
    for pool, cases in again.pools.items():
        session.add(new_job(run, pool, now, Priority.PERSON, number, cases))
    run.state, run.ended, run.verdict = RunStatus.OPEN, None, ""
    session.flush()
    run_changed(session, run)
    return run


def judge_again(session: Session, run: RunRow) -> None:
    """Have an ended run judged anew, from the same samples: a waiver was given, or is over."""
    if run.state == RunStatus.ENDED and run.verdict != RunVerdict.CANCELLED:
        run.state = RunStatus.OPEN
        session.flush()


def last_round(session: Session, run: str) -> int:
    return session.scalar(select(func.max(JobRow.round)).where(JobRow.run_id == run)) or 0


def new_job(run: RunRow, pool: str, now: float, priority: str, number: int = 0, cases: Sequence[str] = ()) -> JobRow:
    key = {"id": fresh_id(), "run_id": run.id, "repository": run.repository, "pool": pool, "round": number}
    return JobRow(**key, priority=priority, state=JobStatus.QUEUED, created=now, only=list(cases))


def cancel_run(session: Session, run: RunRow, why: str, now: float) -> None:
    """Call an open run off; claimed jobs hear of it with their next beat. Of a further round, what was found before stands."""
    if run.state != RunStatus.OPEN or run.cancelled:
        return
    if run.report is not None:
        end_jobs(session, run.id, JobEnding.CANCELLED, now, JobStatus.QUEUED, JobStatus.CLAIMED)
    else:
        run.cancelled, run.gate_key = why, None
        end_jobs(session, run.id, JobEnding.CANCELLED, now, JobStatus.QUEUED)
    run_changed(session, run)


def end_jobs(session: Session, run: str, ending: JobEnding, now: float, *states: JobStatus) -> None:
    """End all jobs of a run that are in one of the states."""
    where = (JobRow.run_id == run, JobRow.state.in_(states))
    session.execute(update(JobRow).where(*where).values(state=JobStatus.ENDED, ending=ending, ended=now))

"""The tables. Times are seconds since the epoch by the server's clock; JSON columns hold plain data, never rendered text."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, LargeBinary, MetaData, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {dict[str, Any]: JSON, list[Any]: JSON, bytes: LargeBinary}  # noqa: RUF012 - SQLAlchemy's own spelling


class DeliveryRow(Base):
    """A webhook: received when the row is there, processed when `processed` is set."""

    __tablename__ = "deliveries"
    id: Mapped[int] = mapped_column(primary_key=True)
    guid: Mapped[str] = mapped_column(unique=True)
    headers: Mapped[dict[str, Any]]
    body: Mapped[bytes]
    received: Mapped[float]
    processed: Mapped[float | None] = mapped_column(index=True)
    note: Mapped[str] = mapped_column(default="")
    retry_at: Mapped[float] = mapped_column(default=0.0)
    failures: Mapped[int] = mapped_column(default=0)


class PullRow(Base):
    __tablename__ = "pulls"
    __table_args__ = (UniqueConstraint("repository", "number"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    repository: Mapped[str]
    number: Mapped[int]
    title: Mapped[str]
    author: Mapped[str]
    open: Mapped[bool]
    head: Mapped[str]
    head_repository: Mapped[str]
    base_ref: Mapped[str]
    clone_url: Mapped[str]
    private: Mapped[bool]
    draft: Mapped[bool] = mapped_column(default=False)
    welcome: Mapped[bool] = mapped_column(default=False)


class ApprovalRow(Base):
    """A maintainer let one commit of a stranger run."""

    __tablename__ = "approvals"
    __table_args__ = (UniqueConstraint("repository", "number", "sha"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    repository: Mapped[str]
    number: Mapped[int]
    sha: Mapped[str]
    by: Mapped[str]
    at: Mapped[float]


class AskRow(Base):
    """A command or a pull request's event; the unique key makes one comment, however often delivered, one ask."""

    __tablename__ = "asks"
    __table_args__ = (UniqueConstraint("repository", "comment_id", "ordinal"), Index("ix_asks_state_id", "state", "id"))
    id: Mapped[int] = mapped_column(primary_key=True)
    delivery_id: Mapped[int] = mapped_column(ForeignKey("deliveries.id"))
    repository: Mapped[str]
    number: Mapped[int]
    comment_id: Mapped[int | None] = mapped_column(BigInteger)  # GitHub's ids have outgrown 32 bits
    ordinal: Mapped[int]
    new: Mapped[dict[str, Any]]
    sender: Mapped[str]
    state: Mapped[str]
    created: Mapped[float]
    settled: Mapped[float | None]
    reply: Mapped[str] = mapped_column(default="")
    facts: Mapped[dict[str, Any]] = mapped_column(default=dict)
    run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id"), index=True)
    retry_at: Mapped[float] = mapped_column(default=0.0)
    failures: Mapped[int] = mapped_column(default=0)


class RunRow(Base):
    __tablename__ = "runs"
    __table_args__ = (Index("ix_runs_repository_number", "repository", "number"), Index("ix_runs_repository_head", "repository", "head"))
    id: Mapped[str] = mapped_column(primary_key=True)
    repository: Mapped[str]
    number: Mapped[int]
    head: Mapped[str]
    gate: Mapped[bool]
    gate_key: Mapped[str | None] = mapped_column(unique=True)
    priority: Mapped[str]
    new: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(index=True)
    created: Mapped[float]
    started: Mapped[float | None]
    ended: Mapped[float | None]
    cancelled: Mapped[str] = mapped_column(default="")
    verdict: Mapped[str] = mapped_column(default="")
    report: Mapped[bytes | None]


class JobRow(Base):
    """One pool's share of a run, or of a further round of it (from 1) that /retest asked for; `only` names its cases, [] all."""

    __tablename__ = "jobs"
    __table_args__ = (UniqueConstraint("run_id", "pool", "round"), Index("ix_jobs_state_pool", "state", "pool"))
    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"))
    repository: Mapped[str]
    pool: Mapped[str]
    priority: Mapped[str]
    state: Mapped[str]
    ending: Mapped[str] = mapped_column(default="")
    created: Mapped[float]
    hinted: Mapped[float] = mapped_column(default=0.0)
    attempts: Mapped[int] = mapped_column(default=0)
    attempt_id: Mapped[str] = mapped_column(default="")
    enumeration: Mapped[bytes | None]
    total: Mapped[int | None]
    outcome: Mapped[bytes | None]
    ended: Mapped[float | None]
    round: Mapped[int] = mapped_column(default=0, server_default="0")
    only: Mapped[list[Any]] = mapped_column(default=list, server_default="[]")


class AttemptRow(Base):
    """One node's try at a job; its id is the fencing token, its lease ends by the server's clock."""

    __tablename__ = "attempts"
    __table_args__ = (UniqueConstraint("job_id", "ordinal"), Index("ix_attempts_state_lease", "state", "lease"))
    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"))
    ordinal: Mapped[int]
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id"))
    state: Mapped[str]
    phase: Mapped[str] = mapped_column(default="")
    telemetry: Mapped[dict[str, Any]] = mapped_column(default=dict)
    claimed: Mapped[float]
    lease: Mapped[float]
    ended: Mapped[float | None]


class ResultRow(Base):
    """One accepted measurement, as the node's gzip JSON; kept when its attempt is lost later."""

    __tablename__ = "results"
    __table_args__ = (UniqueConstraint("job_id", "case_id", "tunables"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"))
    attempt_id: Mapped[str] = mapped_column(ForeignKey("attempts.id"))
    case_id: Mapped[str]
    tunables: Mapped[str]
    body: Mapped[bytes]
    received: Mapped[float]


class WaiverRow(Base):
    """A finding accepted until a time, and when that was noticed to be over; `codes`: head's by pool, or the judge's digest under ""."""

    __tablename__ = "waivers"
    __table_args__ = (Index("ix_waivers_repository_number", "repository", "number"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    repository: Mapped[str]
    number: Mapped[int]
    scope: Mapped[str]
    codes: Mapped[dict[str, Any]]
    reason: Mapped[str]
    by: Mapped[str]
    own: Mapped[bool]
    at: Mapped[float]
    until: Mapped[float]
    ended: Mapped[float | None]


class NodeRow(Base):
    """A machine that may claim; `key_hash` is SHA-256 of a random 256-bit key."""

    __tablename__ = "nodes"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    pool: Mapped[str] = mapped_column(index=True)
    repositories: Mapped[list[Any]]
    key_hash: Mapped[str] = mapped_column(unique=True)
    created: Mapped[float]
    revoked: Mapped[float | None]
    distrusted_since: Mapped[float | None]
    seen: Mapped[float | None]
    outdated: Mapped[bool] = mapped_column(default=False)
    facts: Mapped[dict[str, Any]] = mapped_column(default=dict)


class CheckRow(Base):
    """The check of one head; `note` is empty once a gate run decides it."""

    __tablename__ = "checks"
    __table_args__ = (UniqueConstraint("repository", "sha"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    repository: Mapped[str]
    number: Mapped[int]
    sha: Mapped[str]
    note: Mapped[str] = mapped_column(default="")
    facts: Mapped[dict[str, Any]] = mapped_column(default=dict)


class OutboxRow(Base):
    """One object we own on GitHub: posted again while `wanted` is above `posted`; holds no text."""

    __tablename__ = "outbox"
    __table_args__ = (UniqueConstraint("item", "subject"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    item: Mapped[str]
    rank: Mapped[int]
    subject: Mapped[str]
    repository: Mapped[str]
    number: Mapped[int]
    remote_id: Mapped[str] = mapped_column(default="")
    wanted: Mapped[int] = mapped_column(default=1)
    posted: Mapped[int] = mapped_column(default=0)
    tried: Mapped[bool] = mapped_column(default=False)
    renewed: Mapped[bool] = mapped_column(default=False)
    sending_until: Mapped[float] = mapped_column(default=0.0)
    posted_at: Mapped[float | None]
    retry_at: Mapped[float] = mapped_column(default=0.0)
    failures: Mapped[int] = mapped_column(default=0)
    declined: Mapped[int] = mapped_column(default=0)
    error: Mapped[str] = mapped_column(default="")

"""What the control side remembers, as frozen values: asks, pulls, runs, jobs, outbox items. Times are seconds since the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bot.core.plan import PoolPlan
from bot.core.waivers import Waiver
from runners.protocol import Enumeration, Measurement, NodeInfo, Outcome, Selection


class Origin(StrEnum):
    COMMENT = "comment"
    EVENT = "event"
    BUTTON = "button"


class AskState(StrEnum):
    NEW = "new"
    DONE = "done"
    REFUSED = "refused"


class RunStatus(StrEnum):
    OPEN = "open"
    ENDED = "ended"


class JobStatus(StrEnum):
    QUEUED = "queued"
    CLAIMED = "claimed"
    ENDED = "ended"


class JobEnding(StrEnum):
    """Why a job has no further attempt."""

    DONE = "done"
    CANCELLED = "cancelled"
    LOST = "lost"
    WAITED_TOO_LONG = "waited_too_long"


class AttemptState(StrEnum):
    CURRENT = "current"
    DONE = "done"
    LOST = "lost"


class Item(StrEnum):
    """Objects we own on GitHub, in the order in which they are posted."""

    CHECK = "check"
    ANSWER = "answer"
    REACTION = "reaction"
    CARD = "card"


class CheckNote(StrEnum):
    """Why a head has a check but no gate run."""

    NEEDS_OK_TO_TEST = "needs_ok_to_test"
    CONFIG_ERROR = "config_error"
    PLAN_ERROR = "plan_error"
    HEAD_GONE = "head_gone"
    CLOSED = "closed"
    TROUBLE = "trouble"
    DRAFT = "draft"
    WAITS = "waits"


class Priority(StrEnum):
    """Who is served first, by the order of the letters kept in the database."""

    MERGE_QUEUE = "a"
    PERSON = "b"
    PUSH = "c"
    HISTORY = "d"


@dataclass(frozen=True)
class Delivery:
    """One webhook as it came in; its signature was right."""

    id: int
    guid: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class NewAsk:
    """A command of a person, or an event of a pull request, still to be looked at."""

    repository: str
    number: int
    origin: Origin
    name: str
    sender: str
    comment_id: int | None = None
    ordinal: int = 0
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    reason: str = ""
    line: int = 0
    errors: tuple[Mapping[str, Any], ...] = ()
    sha: str = ""


@dataclass(frozen=True)
class Ask:
    id: int
    new: NewAsk
    state: AskState
    created: float
    run: str | None = None
    reply: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PullState:
    """A pull request as the API tells it now."""

    repository: str
    number: int
    title: str
    author: str
    open: bool
    head: str
    head_repository: str
    base_ref: str
    clone_url: str
    private: bool = False
    draft: bool = False


@dataclass(frozen=True)
class NewRun:
    """All that is fixed when a run is created. `gate_key` makes the gate run of a head, base and configuration unique."""

    repository: str
    number: int
    base: str
    head: str
    judge: str
    base_ref: str
    clone_url: str
    command: str
    asker: str
    gate: bool
    gate_key: str
    adopted: bool
    trusted: bool
    selection: Selection
    pools: tuple[PoolPlan, ...]
    harm: float
    budget_seconds: float
    suite: str
    priority: Priority
    private: bool = False
    tip: str = ""


@dataclass(frozen=True)
class JobView:
    """A job as the card and the judge see it; `left` are the seconds until it is likely to end."""

    id: str
    pool: str
    state: JobStatus
    ending: JobEnding | None
    attempts: int
    phase: str
    place: int
    done: int
    total: int | None
    live_nodes: int
    outcome: Outcome | None = None
    node: NodeInfo | None = None
    old_nodes: int = 0
    rests: str = ""
    round: int = 0
    left: float | None = None


@dataclass(frozen=True)
class RunView:
    """A run with the newest job of each pool; `report` is the Run's JSON as of its last ending."""

    id: str
    new: NewRun
    state: RunStatus
    created: float
    started: float | None
    ended: float | None
    cancelled: str
    jobs: tuple[JobView, ...]
    report: bytes | None = None


@dataclass(frozen=True)
class JobFacts:
    """What the nodes found for one job."""

    view: JobView
    enumeration: Enumeration | None
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True)
class Again:
    """A further round of an ended gate run: the cases of each pool that are measured again, () for all of them."""

    run: str
    pools: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class CheckMark:
    """The check of one head before or without a gate run."""

    sha: str
    note: CheckNote | None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Settlement:
    """All that one ask changes, written in one transaction. `hide`: a repository whose runs are no longer for everybody.

    `report`: the run's, where all of it was judged before.
    """

    state: AskState = AskState.DONE
    reply: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    answer: bool = False
    pull: PullState | None = None
    run: NewRun | None = None
    again: Again | None = None
    check: CheckMark | None = None
    approve: str = ""
    waits: str = ""
    waive: Waiver | None = None
    waived_run: str = ""
    cancel: Mapping[str, str] = field(default_factory=dict)
    hide: str = ""
    report: bytes | None = None


@dataclass(frozen=True)
class Post:
    """One outbox row on its way out. `tried`: a create may have succeeded unseen; `declined`: how often it was too long."""

    id: str
    item: Item
    subject: str
    repository: str
    number: int
    version: int
    remote_id: str
    tried: bool
    failures: int
    renewed: bool = False
    declined: int = 0


@dataclass(frozen=True)
class CheckView:
    """What decides the check of one head: its gate runs, or the note."""

    sha: str
    note: CheckNote | None
    facts: Mapping[str, Any]
    runs: tuple[RunView, ...]


@dataclass(frozen=True)
class Hint:
    """A queued job of which the nodes of its pool are to hear."""

    job: str
    pool: str

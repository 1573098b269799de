"""What the sticky card and the check show of runs under way, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bot.core.verdict import RunVerdict


class JobPhase(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True)
class JobState:
    """One pool's job. `place` counts from 1 in its queue; `reason` says why it waits or how it failed; `minutes` until it
    is likely to end, 0 where nobody can tell."""

    pool: str
    phase: JobPhase
    step: str = ""
    place: int = 0
    done: int = 0
    total: int = 0
    reason: str = ""
    minutes: int = 0


@dataclass(frozen=True)
class RunState:
    """One run on the card; `verdict` is None until it has ended."""

    id: str
    command: str
    head: str
    asker: str
    jobs: tuple[JobState, ...] = ()
    verdict: RunVerdict | None = None
    reason: str = ""
    gate: bool = False
    url: str = ""

    @property
    def pools_done(self) -> int:
        return sum(job.phase is JobPhase.ENDED for job in self.jobs)


@dataclass(frozen=True)
class Waiting:
    """A command, or "" for a push's own run, that starts when there is room; `quota` says what is used up."""

    command: str
    asker: str
    quota: str
    limit: float


@dataclass(frozen=True)
class Card:
    """The one comment per PR that is rewritten. `awaiting`: a head to approve; `trouble`: a bug of ours, by its name in the log."""

    repo: str
    number: int
    head: str
    runs: tuple[RunState, ...] = ()
    welcome: bool = False
    adopted: bool = True
    awaiting: str = ""
    config_error: str = ""
    trouble: str = ""
    waiting: tuple[Waiting, ...] = ()
    updated: str = ""


class Reply(StrEnum):
    """Answers to a command that is not a run; each has a template of its name in templates/replies/."""

    HELP = "help"
    STATUS = "status"
    PARSE_ERRORS = "parse_errors"
    NOT_ALLOWED = "not_allowed"
    NEEDS_OK_TO_TEST = "needs_ok_to_test"
    OK_TO_TEST_DONE = "ok_to_test_done"
    OK_TO_TEST_BAD_SHA = "ok_to_test_bad_sha"
    HEAD_GONE = "head_gone"
    CONFIG_ERROR = "config_error"
    PLAN_ERROR = "plan_error"
    CANCELLED = "cancelled"
    NOTHING_TO_CANCEL = "nothing_to_cancel"
    NOTHING_TO_RETEST = "nothing_to_retest"
    QUOTA = "quota"
    WAIVED = "waived"
    NOTHING_TO_WAIVE = "nothing_to_waive"
    JOINED = "joined"
    UNSUPPORTED = "unsupported"
    TROUBLE = "trouble"
    CLOSED = "closed"

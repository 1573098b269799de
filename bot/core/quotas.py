"""How much one person, pull request, repository and owner may ask for; what is too much waits and starts by itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

HOUR, DAY = 3600.0, 86_400.0


class Quota(StrEnum):
    """Which limit is reached; templates phrase it."""

    PERSON = "person"
    PULL = "pull"
    REPOSITORY = "repository"
    OWNER = "owner"


@dataclass(frozen=True)
class Limits:
    """Runs an hour a person, runs in flight a pull request, runs queued a repository, device-seconds a day an owner."""

    person: int = 10
    pull: int = 2
    repository: int = 50
    owner: float = DAY

    def of(self, quota: Quota) -> float:
        return float(getattr(self, quota.value))


@dataclass(frozen=True)
class Usage:
    """What is used up now, in the units of Limits; `waiting` counts the person's commands that wait already."""

    person: int = 0
    pull: int = 0
    repository: int = 0
    owner: float = 0.0
    waiting: int = 0


def reached(usage: Usage, limits: Limits, automatic: bool = False) -> Quota | None:
    """The first limit that leaves no room for another run. A push's own run is not a person's, and follows every push."""
    asked = (Quota.REPOSITORY, Quota.OWNER) if automatic else tuple(Quota)
    return next((quota for quota in asked if getattr(usage, quota.value) >= limits.of(quota)), None)

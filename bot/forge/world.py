"""What the forge knows: accounts, repositories, pulls, comments, reactions, checks, the App and its deliveries."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.forge.faults import Fault, Kind, Plan
from bot.forge.limits import Meter

SHOWN_PERMISSION = {"admin": "admin", "maintain": "write", "write": "write", "triage": "read", "read": "read", "none": "none"}


def now() -> str:
    """UTC to the second, as GitHub writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Account:
    id: int
    login: str
    kind: str = "User"  # User, Bot or Organization


@dataclass
class Repository:
    id: int
    owner: str
    name: str
    path: Path
    roles: dict[str, str]
    default_branch: str = "main"
    private: bool = False
    fork_of: str = ""
    description: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    def role(self, login: str) -> str:
        """admin, maintain, write, triage, read or none; an outsider of a public repository reads."""
        if login == self.owner:
            return "admin"
        return self.roles.get(login, "none" if self.private else "read")

    def permission(self, login: str) -> str:
        """The role as the permission API shows it: maintain as write, triage as read."""
        return SHOWN_PERMISSION[self.role(login)]


@dataclass
class Pull:
    id: int
    number: int
    repository: str
    title: str
    body: str
    author: str
    base_ref: str
    head_repository: str
    head_ref: str
    head_sha: str
    state: str = "open"
    draft: bool = False
    locked: bool = False
    created: str = field(default_factory=now)
    updated: str = field(default_factory=now)
    closed: str | None = None


@dataclass
class Comment:
    id: int
    repository: str
    number: int
    author: str
    body: str
    created: str = field(default_factory=now)
    updated: str = field(default_factory=now)
    by_app: bool = False


@dataclass
class Reaction:
    id: int
    comment: int
    author: str
    content: str
    created: str = field(default_factory=now)


@dataclass
class CheckRun:
    id: int
    repository: str
    head_sha: str
    name: str
    fields: dict[str, Any]  # as the App sent them: status, conclusion, output, details_url, ...


@dataclass
class App:
    id: int
    slug: str
    name: str
    owner: str
    public_key: str = ""
    installation: int = 0  # none: made, but not installed
    suspended: bool = False
    permissions: dict[str, str] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Registration:
    """What an App's maker is given for a code, once, until `end` (seconds since the epoch)."""

    app: App
    private_key: str
    secret: str
    end: float


@dataclass
class Hook:
    id: int
    url: str
    secret: str


@dataclass
class Delivery:
    id: int
    guid: str
    event: str
    action: str | None
    repository: int | None
    body: bytes
    headers: dict[str, str]
    redelivery: bool = False
    delivered: str = field(default_factory=now)
    duration: float = 0.0
    status: str = "pending"
    status_code: int = 0
    answer: str = ""

    @property
    def outcome(self) -> str:
        """success or failure; "" while it is under way."""
        return "" if self.status == "pending" else "success" if self.status == "OK" else "failure"


class World:
    """The state, behind one lock; every id is unique over all kinds, as GitHub's nearly are."""

    def __init__(self, url: str = "") -> None:
        self.url = url
        self.lock = threading.RLock()
        self.ids = itertools.count(1001)
        self.accounts: dict[str, Account] = {}
        self.tokens: dict[str, str] = {}
        self.repositories: dict[str, Repository] = {}
        self.pulls: dict[tuple[str, int], Pull] = {}
        self.comments: dict[int, Comment] = {}
        self.reactions: dict[int, Reaction] = {}
        self.checks: dict[int, CheckRun] = {}
        self.moved: dict[str, str] = {}
        self.app: App | None = None
        self.registrations: dict[str, Registration] = {}
        self.hooks: list[Hook] = []
        self.deliveries: dict[int, Delivery] = {}
        self.violations: list[str] = []
        self.faults = Plan()
        self.meter = Meter()

    def next_id(self) -> int:
        with self.lock:
            return next(self.ids)

    def account(self, login: str, kind: str = "User") -> Account:
        """The account of this name, made on first mention."""
        with self.lock:
            if login not in self.accounts:
                self.accounts[login] = Account(self.next_id(), login, kind)
            return self.accounts[login]

    def add_repository(self, entry: dict[str, Any]) -> Repository:
        entry = {**entry, "path": Path(entry["path"])}
        repository = Repository(id=self.next_id(), **entry)
        self.repositories[repository.full_name] = repository
        self.account(repository.owner)
        return repository

    def rename(self, repository: Repository, name: str) -> None:
        """All that is kept under a repository's name goes with it."""
        before = repository.full_name
        repository.name = name
        self.moved[before] = repository.full_name
        self.repositories[repository.full_name] = self.repositories.pop(before)
        for one in (*self.pulls.values(), *self.comments.values(), *self.checks.values()):
            one.repository = repository.full_name if one.repository == before else one.repository
        self.pulls = {(pull.repository, pull.number): pull for pull in self.pulls.values()}

    def pulls_of(self, repository: str) -> list[Pull]:
        return [pull for (name, _), pull in sorted(self.pulls.items()) if name == repository]

    def comments_of(self, repository: str, number: int) -> list[Comment]:
        return [c for c in self.comments.values() if (c.repository, c.number) == (repository, number)]

    def reactions_to(self, comment: int) -> list[Reaction]:
        return [reaction for reaction in self.reactions.values() if reaction.comment == comment]

    def checks_on(self, repository: str, sha: str) -> list[CheckRun]:
        return [check for check in self.checks.values() if (check.repository, check.head_sha) == (repository, sha)]

    def bot_login(self) -> str:
        return f"{self.app.slug}[bot]" if self.app else "app[bot]"


def load(told: dict[str, Any]) -> World:
    """A world from its JSON: organizations, users with tokens, app, hooks, repositories (bare, on disk), faults to come."""
    world = World()
    for login in told.get("organizations", []):
        world.account(login, "Organization")
    for login, token in told.get("users", {}).items():
        world.account(login)
        world.tokens[token] = login
    if "app" in told:
        world.app = App(**told["app"])
        world.account(world.bot_login(), "Bot")
    world.hooks = [Hook(world.next_id(), hook["url"], hook["secret"]) for hook in told.get("hooks", [])]
    for entry in told.get("repositories", []):
        world.add_repository(entry)
    world.faults.add(Fault(Kind(entry["kind"]), entry.get("seconds", 0.0)) for entry in told.get("faults", []))
    return world

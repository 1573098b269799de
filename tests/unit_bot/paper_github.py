"""GitHub on paper: the port of the control loop in memory, for tests that run a scenario dozens of times."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from bot.core.missed import Attempt
from bot.core.records import PullState
from bot.flow.ports import Ancestry, CheckBody, RepositoryState, Unavailable

REPO = "kernelgate/sample"
HEAD, BASE = "b" * 40, "a" * 40
CONFIG = 'version = 1\n[gate]\nrequired = ["host"]\n'


@dataclass
class PaperGitHub:
    """One repository and one pull request; `lossy`: every first try of a write is done and then answered with a 502."""

    lossy: bool = False
    comments: dict[str, str] = field(default_factory=dict)
    checks: dict[str, CheckBody] = field(default_factory=dict)
    reactions: set[tuple[int, str]] = field(default_factory=set)
    head: str = HEAD
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    lost: set[str] = field(default_factory=set)

    def permission(self, repository: str, login: str) -> str:
        return "write" if login == "mira" else "read"

    def writers(self, repository: str) -> list[str]:
        return ["mira"]

    def pull(self, repository: str, number: int) -> PullState:
        return PullState(REPO, number, "t", "mira", True, self.head, REPO, "main", "http://127.0.0.1/x.git")

    def ancestry(self, repository: str, base_ref: str, head: str) -> Ancestry:
        return Ancestry(BASE, BASE)

    def branch_tip(self, repository: str, branch: str) -> str:
        return BASE

    def is_ancestor(self, repository: str, sha: str, descendant: str) -> bool:
        return sha == BASE

    def changed_files(self, repository: str, since: str, sha: str) -> dict[str, str]:
        return {}

    def file(self, repository: str, path: str, ref: str) -> str | None:
        return CONFIG

    def repository(self, repository: str) -> RepositoryState:
        return RepositoryState(REPO, "http://127.0.0.1/x.git", False, "main")

    def failed_deliveries(self, since: float) -> list[Attempt]:
        return []

    def redeliver(self, attempt: int) -> None:
        raise AssertionError("nothing has failed")

    def find_comment(self, repository: str, number: int, marker: str) -> str | None:
        return next((key for key, body in self.comments.items() if marker in body), None)

    def create_comment(self, repository: str, number: int, body: str) -> str:
        key = str(next(self.ids))
        self.comments[key] = body
        self._lose(f"create {body[:60]}")
        return key

    def edit_comment(self, repository: str, number: int, comment: str, body: str) -> None:
        self.comments[comment] = body
        self._lose(f"edit {comment} {body}")

    def react(self, repository: str, number: int, comment: int, content: str) -> str:
        self.reactions.add((comment, content))
        self._lose(f"react {comment} {content}")
        return "1"

    def find_check(self, repository: str, sha: str, name: str, external_id: str) -> str | None:
        return next((key for key, body in self.checks.items() if body.external_id == external_id), None)

    def create_check(self, repository: str, body: CheckBody) -> str:
        key = str(next(self.ids))
        self.checks[key] = body
        self._lose(f"check {body.external_id}")
        return key

    def edit_check(self, repository: str, check: str, body: CheckBody) -> None:
        self.checks[check] = body
        self._lose(f"check {check} {body.status}")

    def _lose(self, write: str) -> None:
        if self.lossy and write not in self.lost:
            self.lost.add(write)
            raise Unavailable("502 Bad Gateway", wait=1.0)

    def starting(self, kind: str) -> list[str]:
        return [body for body in self.comments.values() if body.startswith(f"<!-- kernelgate:{kind}:")]

"""The control side over GitHub on paper, one node by hand, and a process that dies before a chosen write."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from control_house import Bell, Clock, good, outcome
from paper_github import HEAD, REPO, PaperGitHub

from bot.adapters import rendering
from bot.adapters.store import Store, migrate, open_store
from bot.core.records import RunStatus
from bot.flow.loop import tick
from bot.flow.ports import World
from kernels.spec import canonical_json
from runners.protocol import Enumeration, dump

WRITES = frozenset({
    "settle", "delay", "open_jobs", "heard", "finish", "end_leases", "end_waiting", "begin", "posted", "failed", "give_up", "declined",
    "forget_remote", "ring", "create_comment", "edit_comment", "react", "create_check", "edit_check",
})  # fmt: skip
ROUNDS = 12


def never() -> bool:
    return False


class Killed(BaseException):
    """SIGKILL, as far as the code can tell."""


class Mortal:
    """Passes every call through, but for one write in a scenario: there the process dies before it."""

    def __init__(self, target: object, dies: Callable[[], bool]) -> None:
        self._target, self._dies = target, dies

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if name in WRITES:
            return self._fatal(value)
        return Mortal(value, self._dies) if not callable(value) and not isinstance(value, (str, int, tuple)) else value

    def _fatal(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            if self._dies():
                raise Killed
            return write(*args, **more)

        return call


class Scene:
    """A comment, a node that works when there is work, and the loop, over one database."""

    def __init__(self, folder: Path, github: PaperGitHub, dies: Callable[[], bool] = never) -> None:
        self.clock, self.github, self.bell, self.found = Clock(), github, Bell(), [good()]
        self.store = open_store(f"sqlite:///{folder}/gate.db", self.clock)
        migrate(self.store.db.engine)
        self.store.nodes.add("node-1", "host", [REPO])
        self.node = self.store.nodes.all()[0].id
        self.world = World(
            _as_store(Mortal(self.store, dies)), Mortal(github, dies), rendering, Mortal(self.bell, dies),  # type: ignore[arg-type]
            "http://127.0.0.1:8000", lambda _: True, ("llama-1b",), self.clock, card_seconds=0.0,
        )  # fmt: skip

    def comment(self, text: str, number: int = 1) -> None:
        comment = {"id": number, "body": text}
        self._deliver("issue_comment", f"d-{number}", action="created", issue={"number": 1, "pull_request": {"url": "x"}}, comment=comment)

    def push(self) -> None:
        self._deliver("pull_request", "d-push", action="synchronize", pull_request={"number": 1, "head": {"sha": self.github.head}})

    def _deliver(self, event: str, guid: str, **payload: object) -> None:
        payload |= {"sender": {"login": "mira", "type": "User"}, "repository": {"full_name": REPO}}
        headers = {"X-GitHub-Delivery": guid, "X-GitHub-Event": event}
        assert self.store.deliveries.add(guid, headers, json.dumps(payload).encode())

    def play(self) -> int:
        """Rounds of loop and node; a loop that is killed starts again half a minute later. How often it was killed."""
        killed = 0
        for _ in range(ROUNDS):
            try:
                assert tick(self.world) == 0
            except Killed:
                killed += 1
                self.clock.now += 31
            self._work()
            self.clock.now += 2
        return killed

    def _work(self) -> None:
        claimed = self.store.attempts.claim(self.node)
        if claimed is None:
            return
        attempt = claimed.job.attempt
        self.store.attempts.beat(self.node, attempt, "build", {})
        self.store.attempts.enumerate(self.node, attempt, Enumeration(tuple(one.case for one in self.found)))
        for one in self.found:
            self.store.attempts.result(self.node, attempt, one.case.id, canonical_json(one.tunables), gzip.compress(dump(one)))
        self.store.attempts.done(self.node, attempt, outcome())

    def is_whole(self) -> None:
        """Exactly one of everything, and nothing left to do."""
        runs = self.store.runs.recent()
        assert [run.state for run in runs] == [RunStatus.ENDED]
        assert len(self.github.starting("answer")) == 1 and len(self.github.starting("card")) == 1
        assert [(check.head, check.conclusion) for check in self.github.checks.values()] == [(HEAD, "success")]
        assert self.github.reactions == {(1, "eyes")}
        assert self.store.outbox.due(0.0) == [] and self.store.deliveries.due() == [] and self.store.asks.due() == []
        with self.store.db.engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        self.store.db.engine.dispose()


def _as_store(mortal: Mortal) -> Store:
    return mortal  # type: ignore[return-value]

"""The whole control side in one process: a real forge over HTTP, SQLite, the web application, the loop's stages, one node by hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from forged_github import Forged
from werkzeug.test import TestResponse

from bot.adapters import rendering
from bot.adapters.github import GitHubApi
from bot.adapters.store import Store, migrate, open_store
from bot.core.plan import MODEL_EDGE
from bot.core.records import Hint, JobStatus
from bot.flow.loop import tick
from bot.flow.ports import BrokerDown, World
from bot.settings import Settings
from bot.web import create_app
from kernels.models import MODELS
from kernels.spec import Case, Tier
from runners.protocol import (
    PROTOCOL,
    Accuracies,
    Accuracy,
    BuildRecord,
    Builds,
    Ending,
    Enumeration,
    Measurement,
    NodeInfo,
    Outcome,
    dump,
)  # fmt: skip

REPO = "kernelgate/sample"
SECRET = "s3cret"
CASE = Case("gemm/llama-1b/ffn_down/m16/f32", "gemm", "llama-1b", "ffn_down", {"m": 16}, "f32", Tier.SMOKE)
GOOD = Accuracy(1e-7, 1e-14, 1e-6, 1.0, 0, 0, 0, 1e-5, True, elements=256)


class Clock:
    """The server's clock, moved by hand."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Bell:
    """Hints, kept; `down` plays a broker that is not there."""

    rung: list[Hint] = field(default_factory=list)
    down: bool = False

    def ring(self, hint: Hint) -> None:
        if self.down:
            raise BrokerDown("down")
        self.rung.append(hint)


@dataclass
class House:
    forged: Forged
    settings: Settings
    store: Store
    world: World
    client: FlaskClient
    clock: Clock
    bell: Bell
    key: str
    sent: int = 0

    def deliver(self) -> None:
        """Post every webhook that the forge wrote since the last time."""
        self.forged.settle()
        log = list(self.forged.world.deliveries.values())
        for delivery in log[self.sent :]:
            assert self.client.post("/webhook", data=delivery.body, headers=delivery.headers).status_code in (200, 202)
        self.sent = len(log)

    def turn(self, times: int = 3) -> None:
        """Deliver what happened and run every stage, until nothing of it is left to do."""
        for _ in range(times):
            self.deliver()
            assert tick(self.world) == 0
            self.clock.now += 1.0

    def comment(self, text: str, who: str = "mira", number: int = 1) -> int:
        answer = self.forged.call("POST", f"/repos/{REPO}/issues/{number}/comments", who, body=text)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])

    def open_pull(self, who: str = "noor", head: str = "change") -> int:
        answer = self.forged.call("POST", f"/repos/{REPO}/pulls", who, title="t", head=head, base="main")
        assert answer.status_code == 201, answer.text
        return int(answer.json()["number"])

    def forget_deliveries(self) -> None:
        """What happened so far was before the bot was there."""
        self.forged.settle()
        self.sent = len(self.forged.world.deliveries)

    def bot_comments(self, number: int = 1) -> list[str]:
        return [one.body for one in self.forged.world.comments_of(REPO, number) if one.by_app]

    def answers(self, number: int = 1) -> list[str]:
        return [body for body in self.bot_comments(number) if body.startswith("<!-- kernelgate:answer")]

    def cards(self, number: int = 1) -> list[str]:
        return [body for body in self.bot_comments(number) if body.startswith("<!-- kernelgate:card")]

    def reactions(self, comment: int) -> list[str]:
        return [one.content for one in self.forged.world.reactions_to(comment)]

    def checks(self, number: int = 1) -> list[dict[str, Any]]:
        head = self.forged.world.pulls[REPO, number].head_sha
        return [check.fields for check in self.forged.world.checks_on(REPO, head)]

    def node(self, verb: str, path: str, body: bytes | dict[str, Any] | None = None, key: str = "") -> TestResponse:
        data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        return self.client.open(f"/node/v1{path}", method=verb, data=data, headers={"Authorization": f"Bearer {key or self.key}"})

    def claim(self, pool: str = "host", key: str = "", protocol: int = PROTOCOL) -> TestResponse:
        said = {"pool": pool, "devices": ["host"], "toolchains": [], "protocol": protocol, "harness": "0.1.0"}
        return self.node("POST", "/claim", said, key)

    def has_work(self) -> bool:
        """Whether a job waits for a node."""
        return any(job.state is JobStatus.QUEUED for run in self.store.runs.active_in(REPO) for job in run.jobs)

    def work(self, found: Sequence[Measurement] | None = None) -> str:
        """Claim one job, bring its results, end it; the run's id."""
        job = self.claim().get_json()
        attempt = f"/attempts/{job['attempt']}"
        measured = list(found if found is not None else [good()])
        assert self.node("POST", f"{attempt}/beat", {"phase": "build", "telemetry": {}}).get_json() == {"cancel": False}
        assert self.node("PUT", f"{attempt}/cases", dump(Enumeration(tuple(one.case for one in measured)))).status_code == 204
        for one in measured:
            assert self.node("PUT", f"{attempt}/cases/{one.case.id}", gzip.compress(dump(one))).status_code == 204
        assert self.node("POST", f"{attempt}/done", {"outcome": json.loads(dump(outcome()))}).status_code == 204
        return str(job["run"])


def good() -> Measurement:
    """A case whose code is the same on both sides."""
    record = BuildRecord(True, "a" * 64)
    return Measurement(CASE, {"bm": 16}, identical=True, build=Builds(record, record), accuracy=Accuracies(GOOD, GOOD))


def outcome() -> Outcome:
    return Outcome(Ending.COMPLETED, NodeInfo("liar", "cpu", "host", "emulator", "none", "g++", "0.1.0"))


def settings_for(forged: Forged, folder: Path, **more: object) -> Settings:
    return Settings(
        repositories="kernelgate/sample", webhook_secrets=SECRET, database=f"sqlite:///{folder}/gate.db", github_api=forged.api,
        broker="redis://127.0.0.1:9/0", github_app_id=7, github_app_key=forged.private_key, github_write_spacing=0.0, **more,
    )  # fmt: skip


@pytest.fixture
def house(hooked: Forged, tmp_path: Path) -> Iterator[House]:
    """A house with one node of the pool `host` and no pull request yet."""
    settings, clock, bell = settings_for(hooked, tmp_path), Clock(), Bell()
    store = open_store(settings.database, clock)
    migrate(store.db.engine)
    ports = (store, GitHubApi(settings), rendering, bell)
    world = World(*ports, settings.url, settings.serves, (*MODELS, MODEL_EDGE), clock, card_seconds=0.0)
    app = create_app(settings, store)
    yield House(hooked, settings, store, world, app.test_client(), clock, bell, store.nodes.add("node-1", "host", [REPO]))
    store.db.engine.dispose()

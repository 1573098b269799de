"""Two real nodes at the real node API, over HTTP: one slow, or cut off for longer than its lease and back with what it had."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from control_house import CASE, REPO, House, good, house, outcome
from werkzeug.serving import make_server

from runners.node import Node
from runners.node_client import Claim, HttpReporter, NodeClient
from runners.node_settings import NodeSettings
from runners.protocol import Enumeration, Outcome, Phase

__all__ = ["house"]
SECONDS = 30.0


@dataclass
class Wire:
    """What stands between one node and the server: it may be cut, or slow."""

    application: Callable[..., object]
    cut: bool = False
    slow: float = 0.0
    heard: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, environ: dict[str, object], start: Callable[..., object]) -> object:
        time.sleep(self.slow)
        if self.cut:
            start("502 Bad Gateway", [("Content-Length", "0")])
            return [b""]

        def noted(status: str, *more: object) -> object:
            self.heard.append((str(environ["PATH_INFO"]), status[:3]))
            return start(status, *more)

        return self.application(environ, noted)

    def of(self, ending: str) -> list[str]:
        return [status for path, status in self.heard if path.endswith(ending)]


@dataclass
class Worker(Node):
    """A node whose work is one good case: begun when `begun` is set, found when `may_end` is."""

    begun: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)
    done: int = 0

    def _fit(self) -> bool:
        return True

    def _execute(self, claim: Claim, reporter: HttpReporter) -> Outcome:
        reporter.phase(Phase.TIMING)
        reporter.enumerated(Enumeration((CASE,)))
        self.begun.set()
        assert self.may_end.wait(SECONDS)
        reporter.measured(good())
        self.done += 1
        return outcome()


@contextmanager
def node_of(house: House, name: str, key: str, folder: Path) -> Iterator[tuple[Worker, Wire]]:
    wire = Wire(house.client.application.wsgi_app)
    server = make_server("127.0.0.1", 0, wire, threaded=True)  # type: ignore[arg-type]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    settings = NodeSettings(url=url, node_key=key, pool="host", device="host", state=folder, node_name=name)
    try:
        yield Worker(settings, NodeClient(url, key)), wire
    finally:
        server.shutdown()
        thread.join()


@pytest.fixture
def queued(house: House) -> House:
    house.open_pull()
    house.turn()
    return house


def until(look: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not look():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_node_back_from_beyond_its_lease_changes_nothing_of_a_job_that_another_did(queued: House, tmp_path: Path) -> None:
    other = queued.store.nodes.add("node-2", "host", [REPO])
    with node_of(queued, "node-1", queued.key, tmp_path) as (lost, wire), node_of(queued, "node-2", other, tmp_path) as (second, _):
        working = threading.Thread(target=lost.work)
        working.start()
        assert lost.begun.wait(SECONDS)
        wire.cut = True
        queued.clock.now += 300
        queued.turn()
        second.may_end.set()
        second.work()
        queued.turn()
        before = queued.store.runs.recent()[0].report
        wire.cut = False
        lost.may_end.set()
        working.join(SECONDS)
    queued.turn()
    assert before and queued.store.runs.recent()[0].report == before and b"node-2" in before and b"node-1" not in before
    assert "204" not in wire.of(CASE.id) and set(wire.of("/done")) == {"409"} and second.done == 1
    assert [check["conclusion"] for check in queued.checks()] == ["success"] and not working.is_alive()


def test_a_slow_node_keeps_its_job_as_long_as_each_lease_sees_a_beat(queued: House, tmp_path: Path) -> None:
    other = queued.store.nodes.add("node-2", "host", [REPO])
    with node_of(queued, "node-1", queued.key, tmp_path) as (slow, wire), node_of(queued, "node-2", other, tmp_path) as (second, _):
        wire.slow = 0.3
        working = threading.Thread(target=slow.work)
        working.start()
        assert slow.begun.wait(SECONDS)
        for _ in range(3):
            beats = len(wire.of("/beat"))
            until(lambda beats=beats: len(wire.of("/beat")) > beats)
            queued.clock.now += 40
            queued.turn(1)
            second.work()
        slow.may_end.set()
        working.join(SECONDS)
    queued.turn()
    assert (slow.done, second.done) == (1, 0) and set(wire.of("/beat")) == {"200"}
    assert [check["conclusion"] for check in queued.checks()] == ["success"]

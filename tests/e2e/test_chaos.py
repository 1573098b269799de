"""Random kills of everything but GitHub, under load, with a fixed seed: each run ends once, each command is answered once.

The environment says how many (`kernelgate bench chaos`: two hundred); a few are a test.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from small_suite import SOURCE, lay
from test_control_processes import Town, until

from bot.adapters.store import open_store
from bot.cli.demo import stack
from bot.cli.demo.processes import Processes
from bot.cli.demo.visitor import Visitor
from bot.core import report
from bot.core.records import RunStatus
from bot.forge import git
from bot.forge import sample_repository as sample
from runners.node_client import NodeClient

KILLS = int(os.environ.get("KERNELGATE_CHAOS_KILLS", "10"))
LONG = KILLS > 20  # then the node dies too, whose job another attempt takes 45 s later, and commands come in between
SEED = 20261205
PULLS = ("one", "two", "three") if LONG else ("one",)
COMMAND = "/run-test models=edge mode=accuracy"
END = 600.0


def small_sample(folder: Path) -> list[dict[str, object]]:
    """A suite of one kernel, and three branches that each compute the same in another way."""
    work, bare = folder / "work", folder / "sample.git"
    lay(work)
    git.git(work, "init", "-q", "-b", "main")
    for number, branch in enumerate(("main", *PULLS)):
        if branch != "main":
            git.git(work, "checkout", "-q", "-b", branch, "main")
        changed = SOURCE.replace("KG_FACTOR * x[i]", f"x[i] * (n > {-number} ? 2.0f : 3.0f)") if number else SOURCE
        (work / "kernels/scale/scale.cu").write_text(changed)
        git.git(work, "add", ".")
        git.git(work, "-c", "user.name=mira", "-c", "user.email=mira@forge.invalid", "commit", "-q", "-m", branch)
    git.git(folder, "clone", "-q", "--bare", str(work), str(bare))
    return [{"owner": sample.OWNER, "name": sample.NAME, "path": str(bare), "roles": sample.ROLES}]


@dataclass
class Chaos:
    town: Town
    key: Path
    draw: random.Random = field(default_factory=lambda: random.Random(SEED))
    said: Counter[int] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)

    def start_node(self) -> None:
        place = self.town.place
        settings = stack.environment(
            url=place.web, node_key_file=str(self.key), broker=place.broker, pool="host", device="host", node_name="n",
            state=str(place.state / "node"), poll_seconds="2",
        )  # fmt: skip
        self.town.processes.start("node", [*stack.kernelgate(), "runner"], settings)

    def say(self, number: int, text: str) -> None:
        self.town.mira.say(number, text)
        self.said[number] += 1

    def kill(self) -> None:
        """One of the ways, drawn; one that has no victim now gives its turn to the next."""
        ways: list[Callable[[], bool]] = [self.sandbox, self.web, self.loop, self.broker, self.emptied_broker]
        ways += [self.node] if LONG else []
        self.draw.shuffle(ways)
        way = next(way for way in ways if way())
        self.killed[way.__name__] += 1

    def node(self) -> bool:
        process = self.town.processes.running.pop("node")
        process.kill()
        process.wait()
        self.start_node()
        return True

    def sandbox(self) -> bool:
        return self._one_of("node", "bwrap")

    def web(self) -> bool:
        return self._one_of("serve", "gunicorn")

    def loop(self) -> bool:
        return self._one_of("serve", "bot.tasks")

    def broker(self) -> bool:
        self.town.kill_broker()
        self.town.start_broker()
        return True

    def emptied_broker(self) -> bool:
        self.town.kill_broker()
        shutil.rmtree(self.town.place.state / "valkey")
        (self.town.place.state / "valkey").mkdir()
        self.town.start_broker()
        return True

    def _one_of(self, part: str, word: str) -> bool:
        """A process below a part, by a word of its command line."""
        try:
            family = psutil.Process(self.town.processes.running[part].pid).children(recursive=True)
            found = [process for process in family if word in " ".join(process.cmdline())]
            if found:
                self.draw.choice(sorted(found, key=lambda process: process.pid)).kill()
            return bool(found)
        except psutil.NoSuchProcess:  # it ended by itself meanwhile
            return False

    def settled(self) -> bool:
        """Whether every command has its answer and nothing is left to do."""
        store = self.town.store
        if any(len(self.town.mira.answers(number)) < count for number, count in self.said.items()):
            return False
        quiet = all(run.state is RunStatus.ENDED for run in store.runs.recent(1000))
        return quiet and not store.outbox.due(0.0) and not store.deliveries.due() and not store.asks.due()


@pytest.fixture
def chaos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chaos]:
    monkeypatch.setattr(sample, "build", small_sample)
    monkeypatch.setattr(sample, "PULLS", tuple(sample.SamplePull(n, name, "", "noor", name) for n, name in enumerate(PULLS, start=1)))
    place = stack.plan(tmp_path, 0)
    with Processes(tmp_path) as processes:
        stack.start_broker(place, processes)
        stack.start_forge(place, processes)
        stack.start_service(place, processes)
        command = [*stack.kernelgate(), "node", "add", "n", "--pool", "host", "--repos", stack.REPOSITORY]
        made = subprocess.run(command, env=stack.control_environment(place), capture_output=True, text=True, check=True)
        key = stack.private(tmp_path / "node.key", made.stdout.split()[-1])
        town = Town(place, processes, open_store(place.database), NodeClient(place.web, key.read_text()), Visitor(place, "mira"))
        made_chaos = Chaos(town, key)
        made_chaos.start_node()
        yield made_chaos


@pytest.mark.timeout(3600)
def test_whatever_is_killed_each_command_is_answered_once(chaos: Chaos) -> None:
    began = time.monotonic()
    for number in range(1, len(PULLS) + 1):
        chaos.say(number, COMMAND)
    until(lambda: len(chaos.town.store.runs.recent()) == len(PULLS))
    for count in range(KILLS):
        time.sleep(chaos.draw.uniform(0.2, 0.8) if not LONG else chaos.draw.uniform(0.2, 4.0))
        chaos.kill()
        if LONG and count % 10 == 5:
            chaos.say(chaos.draw.randint(1, len(PULLS)), chaos.draw.choice([COMMAND, "/help", "/status"]))
    until(chaos.settled, END)
    time.sleep(2)  # a second answer, were there one, would come now
    for number, count in chaos.said.items():
        assert len(chaos.town.mira.answers(number)) == count
    runs = chaos.town.store.runs.recent(1000)
    assert len({run.id for run in runs}) == len(runs) and all(run.state is RunStatus.ENDED and run.report for run in runs)
    verdicts = Counter(report.load(run.report).verdict.value for run in runs if run.report)
    with chaos.town.store.db.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert connection.exec_driver_sql("SELECT count(*) FROM attempts WHERE state = 'current'").scalar() == 0
    assert sum(chaos.killed.values()) == KILLS
    print(f"{KILLS} kills {dict(chaos.killed)}, {len(runs)} runs {dict(verdicts)}, {time.monotonic() - began:.0f} s")

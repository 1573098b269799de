"""`kernelgate runner` as a real process, with the three settings that a node needs and no broker to be had."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from control_side import Call, ControlSide, control_side
from small_suite import SOURCE, job, lay

from bot.cli.demo import stack
from bot.cli.demo.processes import Processes
from bot.forge.git import git
from runners.protocol import Job, Mode, Selection

KEY = "the-key"
Start = Callable[[ControlSide], subprocess.Popen[bytes]]


CHANGED = SOURCE.replace("KG_FACTOR * x[i]", "x[i] * (n > 0 ? 2.0f : 3.0f)")
ENDLESS = SOURCE.replace("if (i < n)", "while (n > 0) __syncthreads();\n    if (i < n)")


def small_job(folder: Path, head_source: str) -> Job:
    """Of a repository on disk with two commits."""
    origin, who = lay(folder), ("-c", "user.name=a", "-c", "user.email=a@localhost")
    git(origin, "init", "-q", "-b", "main")
    commits = []
    for source in (SOURCE, head_source):
        (origin / "kernels/scale/scale.cu").write_text(source)
        git(origin, "add", "-A")
        git(origin, *who, "commit", "-qm", "a step")
        commits.append(git(origin, "rev-parse", "HEAD").strip())
    base, head = commits
    return job(clone_url=f"file://{origin}", base=base, judge=base, head=head, selection=Selection(modes=(Mode.ACCURACY,)))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    (tmp_path / "node.key").write_text(f"{KEY}\n")
    with Processes(tmp_path) as processes:

        def begin(side: ControlSide) -> subprocess.Popen[bytes]:
            three = stack.environment(url=side.url, broker="redis://127.0.0.1:9/0", node_key_file=str(tmp_path / "node.key"))
            processes.start("node", [*stack.kernelgate(), "runner"], {**three, "KERNELGATE_STATE": str(tmp_path / "state")})
            return processes.running["node"]

        yield begin


@pytest.mark.timeout(240)
def test_a_node_joins_with_three_settings_and_ends_its_job_before_it_obeys_a_sigterm(start: Start, tmp_path: Path) -> None:
    in_hand, told = threading.Event(), threading.Event()

    def slow(call: Call) -> None:
        if call.kind == "cases":
            in_hand.set()
            told.wait(25)

    with control_side(jobs=[small_job(tmp_path / "origin", CHANGED), job()], when=slow) as side:
        node = start(side)
        assert in_hand.wait(60)
        claim = side.of("claim")[0]
        assert claim.said.items() >= {"pool": "host", "devices": ["host"]}.items() and claim.key == f"Bearer {KEY}"
        node.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            node.wait(2)
        told.set()
        assert node.wait(120) == 0
        assert [call.said["outcome"]["ending"] for call in side.of("done")] == ["completed"]
        assert len(side.of("claim")) == 1


@pytest.mark.timeout(240)
def test_a_second_sigterm_gives_the_job_back_within_ten_seconds(start: Start, tmp_path: Path) -> None:
    with control_side(jobs=[small_job(tmp_path / "origin", ENDLESS), job()]) as side:
        node = start(side)
        side.wait_for("cases")
        node.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            node.wait(2)
        again = time.monotonic()
        node.send_signal(signal.SIGTERM)
        assert node.wait(60) == 0 and time.monotonic() - again < 10
        (outcome,) = [call.said["outcome"] for call in side.of("done")]
        assert outcome["failure"]["kind"] == "infrastructure" and "was stopped" in outcome["failure"]["message"]
        assert len(side.of("claim")) == 1

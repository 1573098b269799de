"""From a committed cancel to a free device: seconds until the last sandboxed process of the job is gone, and until its node says so.

    kernelgate bench cancel [--device host] [--times 5] [--phases build,accuracy,…]

The whole suite, every kernel changed, worked by a real node over HTTP. The cancel is committed at a random moment of a phase, so the
figures hold the wait for the node's next beat.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import click
import psutil
from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit_runners"))

from control_side import Answer, Call, control_side

from runners.node import Node
from runners.node_client import NodeClient
from runners.node_settings import NodeSettings
from runners.protocol import Job, Phase, Selection

SUITE = Path(__file__).resolve().parents[2] / "kernels"
PHASES = "build,accuracy"
SPREAD = 3.0  # seconds into a phase within which the cancel comes


@dataclass
class Cancel:
    """Commits the cancel `after` seconds into `phase`, then looks on."""

    phase: Phase
    after: float
    told: threading.Event = field(default_factory=threading.Event)
    began: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    at: float = 0.0
    last: float = 0.0

    def answer(self, call: Call) -> Answer | None:
        if call.kind == "beat" and call.said["phase"] == self.phase:
            self.began.set()
        return Answer(200, b'{"cancel": true}') if call.kind == "beat" and self.told.is_set() else None

    def watch(self) -> None:
        while not self.began.wait(0.1):
            if self.ended.is_set():
                return
        self.ended.wait(self.after)
        self.at = self.last = time.monotonic()
        self.told.set()
        while not self.ended.is_set():
            if sandboxed():
                self.last = time.monotonic()
            time.sleep(0.01)


def sandboxed() -> bool:
    """Whether a sandbox is below this process."""
    return any(_name(process) == "bwrap" for process in psutil.Process().children(recursive=True))


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout.strip()


def suite(folder: Path) -> tuple[str, str]:
    """The suite, and a commit in which every source compiles to something else."""
    shutil.copytree(SUITE, folder / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    git(folder, "init", "-q", "-b", "main")
    commits = []
    for _ in range(2):
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "a step")
        commits.append(git(folder, "rev-parse", "HEAD"))
        for source in (folder / "kernels").rglob("*.cu"):
            source.write_text(source.read_text().replace("0.0f", "(-0.0f)"))
    return commits[0], commits[1]


def cancelled(job: Job, phase: Phase, device: str, state: Path) -> tuple[float, float] | None:
    """Seconds to the last process and to `done`; None for a job that never came to the phase, or was through before."""
    cancel = Cancel(phase, random.uniform(0, SPREAD))
    watcher = threading.Thread(target=cancel.watch)
    with control_side(jobs=[job], when=cancel.answer) as side:
        settings = NodeSettings(url=side.url, node_key="k", pool="p", device=device, state=state, node_name="n")
        watcher.start()
        Node(settings, NodeClient(side.url, "k")).work()
        done = time.monotonic()
        cancel.ended.set()
        watcher.join()
        (end,) = [call.said["outcome"]["ending"] for call in side.of("done")]
    return (cancel.last - cancel.at, done - cancel.at) if end == "cancelled" else None


@click.command()
@click.option("--device", default="host", show_default=True)
@click.option("--times", default=5, show_default=True)
@click.option("--phases", default=PHASES, show_default=True)
@click.option("--kernels", default="", help="comma list; all where it is empty")
def main(device: str, times: int, phases: str, kernels: str) -> None:
    """See the head of this file."""
    with tempfile.TemporaryDirectory(prefix="kernelgate-bench-") as made:
        origin, rows = Path(made, "origin"), []
        base, head = suite(origin)
        chosen = Selection(kernels=tuple(filter(None, kernels.split(","))))
        job = Job(
            schema=1, id="j", run="r", attempt="a", repository="o/r", clone_url=f"file://{origin}", base=base, head=head, judge=base,
            pool="p", selection=chosen, budget_seconds=600.0, floor=0.1, harm=0.1,
        )  # fmt: skip
        for phase in map(Phase, phases.split(",")):
            found = [one for _ in range(times) if (one := cancelled(job, phase, device, Path(made, "state")))]
            click.echo(f"{phase}: {', '.join(f'{last:.2f}' for last, _ in found)}", err=True)
            rows.append((phase, len(found), *(f"{max(kind):.2f}" for kind in zip(*found, strict=True))))
    click.echo(tabulate(rows, ["phase", "n", "processes gone, worst s", "node says so, worst s"], disable_numparse=True))
    click.echo(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()

"""Every tree of `trees/` through the worker, with secrets all around it: what became of each, and of everything else."""

from __future__ import annotations

import json
import os
import platform
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from town import ATTACKS, NEXT, lay_base, lay_head, lay_next

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the trees make system calls of x86-64"),
    pytest.mark.timeout(600),  # thirty trees in one job, of which some have to run into their limits
]

CANARY = f"kgn_canary_{secrets.token_hex(8)}"
MARK = f"kg-{secrets.token_hex(4)}"
DENIED = ("", "")  # it ran, and what it tried came to nothing: its result is right
CRASHED, REFUSED, WRONG = "crashed", "build_failed", "incorrect"
TOO_MUCH = "wrote more than is allowed"
OUTSIDE = "names a file outside the checkout"
ENDED = {
    "asm_file": (REFUSED, "embeds a file by the assembler"),
    "daemon": DENIED,
    "deaf_sleeps": ("timed_out", "took longer than"),
    "deaf_spins": ("timed_out", "took longer than"),
    "environ": (REFUSED, OUTSIDE),
    "escapes": DENIED,
    "fifo": (REFUSED, "pipe.h:1: error: is no regular file of the checkout"),
    "forks": DENIED,
    "key": (REFUSED, OUTSIDE),
    "macros": (REFUSED, "compiler"),
    "outside": (CRASHED, "signal 11"),
    "p_deaf_sleeps": (REFUSED, "p_deaf_sleeps/plan.py: took longer than"),
    "p_deaf_spins": (REFUSED, "p_deaf_spins/plan.py: took longer than"),
    "p_forges": (REFUSED, "is no regular file of the checkout"),
    "p_huge": (REFUSED, f"p_huge/plan.py: {TOO_MUCH}"),
    "p_nested": (REFUSED, "RecursionError"),
    "p_slow": (REFUSED, "p_slow/plan.py: took longer than"),
    "p_stays": DENIED,
    "p_steals": (REFUSED, "ValueError"),
    "p_vast": (REFUSED, "the plan's scratch does not fit: 1125899906"),
    "prints": (CRASHED, TOO_MUCH),
    "reads": DENIED,
    "sleeps": ("timed_out", "took longer than"),
    "sockets": DENIED,
    "templates": (REFUSED, "compiler"),
    "trap": (CRASHED, "signal 4"),
    "zdisk": (CRASHED, TOO_MUCH),
    "zlinks": (CRASHED, "File exists"),
    "zzforges": (WRONG, "can't be read"),
    "r_zforges": ("infrastructure", "the judge's reference of r_zforges failed: its process gave a malformed answer"),
    "r_prints": ("infrastructure", f"the judge's reference of r_prints failed: {TOO_MUCH}"),
}


@dataclass(frozen=True)
class Ended:
    """All that the worker said, and its lines."""

    stdout: str
    stderr: str
    seconds: float
    folder: Path

    def of(self, job: str) -> dict[str, Any]:
        """The measurements of a job by kernel, that of a case which head adds before all others."""
        lines = [json.loads(line) for line in self.stdout.splitlines()]
        found = [line["measured"] for line in lines if line["job"] == job and "measured" in line]
        return {one["case"]["kernel"]: one for one in sorted(found, key=lambda one: one["case"]["id"])}

    def outcome(self, job: str) -> dict[str, Any]:
        lines = [json.loads(line) for line in self.stdout.splitlines()]
        return next(line["outcome"] for line in lines if line["job"] == job and "outcome" in line)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    root = tmp_path_factory.mktemp("hostile")
    home = root / "home"
    home.mkdir()
    (home / "secret.h").write_text(f"{CANARY}\n")
    with socket.create_server(("127.0.0.1", 0)) as inet, socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as hidden:
        named.bind(f"/tmp/{MARK}")  # a longer path would not fit into a socket's name
        hidden.bind(f"\0{MARK}")
        named.listen()
        hidden.listen()
        words = {"HOME": str(home), "PORT": str(inet.getsockname()[1]), "MARK": MARK, "PID": str(os.getpid())}
        base = lay_base(root / "base")
        lay_head(base, root / "hostile", words)
        lay_next(base, root / "next")
        yield drive(root, home)
        Path(f"/tmp/{MARK}").unlink()


def drive(root: Path, home: Path) -> Ended:
    """The worker as a node runs it, its key in its environment, its command line, and files of its own."""
    env = {**os.environ, "HOME": str(home), "KERNELGATE_NODE_KEY": CANARY, "TMPDIR": str(root), "PYTHONPATH": os.pathsep.join(sys.path)}
    env["KERNELGATE_CACHE"] = os.environ.get("KERNELGATE_CACHE") or str(Path.home() / ".cache/kernelgate")
    command = [sys.executable, str(Path(__file__).with_name("drive.py")), str(root), f"--key={CANARY}"]
    began = time.monotonic()
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return Ended(done.stdout, done.stderr, time.monotonic() - began, root)


def test_every_tree_has_an_end(attacked: Ended) -> None:
    assert set(ENDED) == set(ATTACKS) == set(attacked.of("hostile")) - {NEXT}
    assert attacked.outcome("hostile")["ending"] == "completed"


@pytest.mark.parametrize("name", sorted(ENDED))
def test_it_ended_as_it_had_to(attacked: Ended, name: str) -> None:
    found, (kind, says) = attacked.of("hostile")[name], ENDED[name]
    told = [(one["kind"], one["message"] + one.get("log", "")) for one in found["failures"]]
    told += [(WRONG, one["reason"]) for one in [found["accuracy"].get("head")] if one and not one["ok"]]
    if not kind:
        assert not told and (found["identical"] or found["accuracy"]["head"]["ok"])
    else:
        assert [one for one in told if one[0] == kind and says in one[1]], told


def test_base_has_taken_no_harm(attacked: Ended) -> None:
    found = attacked.of("hostile")
    assert found[NEXT]["identical"]
    sides = [one for name, measured in found.items() for one in measured["failures"] if one["side"] == "base"]
    assert not sides


def test_no_canary_is_in_anything_it_said(attacked: Ended) -> None:
    for text in (attacked.stdout, attacked.stderr):
        assert CANARY not in text and "root:x:" not in text


def test_nothing_of_it_is_left(attacked: Ended) -> None:
    time.sleep(2)
    assert not [process for process in psutil.process_iter(["name"]) if process.info["name"] == MARK]
    assert {path.name for path in attacked.folder.iterdir()} == {"home", "base", "hostile", "next"}


def test_the_next_job_is_as_any_other(attacked: Ended) -> None:
    found = attacked.of("next")
    assert attacked.outcome("next")["ending"] == "completed"
    assert found.pop(NEXT)["accuracy"]["head"]["ok"] and all(one["identical"] for one in found.values())

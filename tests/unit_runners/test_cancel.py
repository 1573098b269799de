"""A cancelled job starts nothing more: what is queued behind a running compiler or case is dropped, not started and killed one by one."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_suite import lay

from kernels.spec import Build
from runners import child, sandbox
from runners.building import Builder
from runners.child import Room, Stopped
from runners.sandbox import Ended
from runners.toolchains import CompileError, for_target

CORES = os.cpu_count() or 2


def refuse(*_: object) -> subprocess.Popen[bytes]:
    raise AssertionError("a process was started after the stop")


def stopped() -> threading.Event:
    stop = threading.Event()
    stop.set()
    return stop


def test_after_a_stop_no_process_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_start", refuse)
    assert sandbox.run(["/bin/true"], stop=stopped()).ended is Ended.STOPPED
    with pytest.raises(Stopped):
        child.ask("probe", {}, Room(stopped()))
    with pytest.raises(Stopped):
        Room(stopped()).go_on()


def test_compilers_that_wait_for_their_turn_are_not_started_once_the_job_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    started: list[bool] = []
    start: Callable[..., subprocess.Popen[bytes]] = sandbox._start

    def counting(*words: Any) -> subprocess.Popen[bytes]:
        started.append(stop.is_set())
        stop.set()
        return start(*words)

    builder = Builder(for_target("host"), "host", tmp_path / "code")
    tree = lay(tmp_path / "tree")
    token = sandbox.STOP.set(stop)
    monkeypatch.setattr(sandbox, "_start", counting)
    try:
        builds = [Build("scale.cu", 64, defines={"KG_FACTOR": float(number)}) for number in range(4 * CORES)]
        orders = [builder.order(tree, "kernels/scale", build) for build in builds]
        for order in orders:
            with pytest.raises(CompileError):
                order.result()
    finally:
        sandbox.STOP.reset(token)
        builder.close()
    assert 1 <= len(started) <= CORES  # the first, and those that had looked just before

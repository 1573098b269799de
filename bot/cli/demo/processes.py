"""Processes of the demo: each with a log of its own, each ended by its id whatever ends the demo."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from runners.parent import ends_with_me

PATIENCE = 20.0
PORTS = range(20000, 32768)  # below those that systems give to outgoing connections
TRIES = 100
TAIL = 2000  # characters of a log shown when its process has failed


class DemoError(RuntimeError):
    """The demo cannot go on; the message says what failed or is missing, and what to do."""


def free_port() -> int:
    """A port of 127.0.0.1 nobody listens on now; OSError where there is none.

    One that the system draws may be taken by any connection before its server has begun, and anew while that restarts.
    """
    for port in random.sample(PORTS, TRIES):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError(f"none of {TRIES} ports of 127.0.0.1 is free")


class Processes:
    """Started in order, ended in reverse."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
        with self.log(name).open("ab") as log:
            self.running[name] = subprocess.Popen(
                argv, env=dict(env), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, preexec_fn=ends_with_me()
            )

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def check(self) -> None:
        """DemoError with the end of its log if any process has ended."""
        for name, process in self.running.items():
            if process.poll() is not None:
                raise DemoError(f"{name} ended with {process.returncode}:\n{self.tail(name)}")

    def tail(self, name: str) -> str:
        return self.log(name).read_text(encoding="utf-8", errors="replace")[-TAIL:].strip()

    def wait_for(self, name: str, ready: Callable[[], bool], seconds: float = 60.0) -> None:
        """Until a started process answers; DemoError if it ends or takes too long."""
        end = time.monotonic() + seconds
        while not ready():
            self.check()
            if time.monotonic() > end:
                raise DemoError(f"{name} did not answer within {seconds:.0f} s:\n{self.tail(name)}")
            time.sleep(0.05)

    def stop(self) -> None:
        for process in reversed(self.running.values()):
            _end(process)
        self.running.clear()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask, wait, then end what is left of its own session."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

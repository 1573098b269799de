"""Starts every process that touches a repository's code: bubblewrap, no network, empty environment, hard limits.

The root inside holds /usr and what the caller mounts, nothing else of the machine. The process is pid 1's child
in its own pid namespace, so killing bubblewrap ends the whole tree, daemons and double forks included.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import IO

from runners import bubblewrap
from runners.cgroup import Cgroup
from runners.interpreter import python as python  # re-exported: the interpreter is mounted the same way everywhere

NOTHING: Mapping[str, Path] = MappingProxyType({})
NO_ENV: Mapping[str, str] = MappingProxyType({})
STOP: ContextVar[threading.Event | None] = ContextVar("stop", default=None)  # a job's stop event, for callers too deep to be handed it
TICK = 0.1  # seconds between looks at the clock, the stop event and the written bytes
DEATH = 10.0  # a tree that outlives SIGKILL by this long hangs in the kernel
_SURVIVORS: set[int] = set()


@dataclass(frozen=True)
class Limits:
    """`memory_bytes` bounds address space (None for CUDA and sanitizers, which reserve far more than they use)."""

    seconds: float = 60.0
    cpu_seconds: int = 60
    memory_bytes: int | None = 4 << 30
    processes: int = 256
    file_bytes: int = 512 << 20
    output_bytes: int = 8 << 20


class Ended(StrEnum):
    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    OUTPUT_LIMIT = "output_limit"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Finished:
    """How a sandboxed process ended; `code` is negative for a signal."""

    code: int
    ended: Ended
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def ok(self) -> bool:
        return self.ended is Ended.EXITED and self.code == 0


class SandboxError(RuntimeError):
    """There is no sandbox to be had, or one could not be ended; the message names the remedy."""


def run(
    argv: Sequence[str],
    *,
    read: Mapping[str, Path] = NOTHING,
    write: Mapping[str, Path] = NOTHING,
    cwd: str = "/",
    env: Mapping[str, str] = NO_ENV,
    stdin: bytes = b"",
    limits: Limits = Limits(),
    devices: Sequence[Path] = (),
    stop: threading.Event | None = None,
) -> Finished:
    """Run `argv` to its end or its limits; `read` and `write` map a path inside to the one outside."""
    inside = [*bubblewrap.mounts(read, write, devices), *bubblewrap.environment(env), "--chdir", cwd, "--", *_rlimits(limits), *argv]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as status, _group(limits) as group:
        given.write(stdin)
        given.seek(0)
        command = group.wrap([*_isolation(), "--json-status-fd", str(status.fileno()), *inside])
        watch = _Watch(_start(command, given.fileno(), status.fileno()), limits, list(write.values()), stop or STOP.get())
        try:
            ended = watch.until_end()
        finally:
            _end(watch.process, status)
        status.seek(0)
        return _finished(ended, watch, status.read())


def _start(command: Sequence[str], stdin: int, status: int) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd="/", env={}, stdin=stdin, stdout=pipe, stderr=pipe, pass_fds=[status], start_new_session=True)


def _isolation() -> list[str]:
    try:
        return bubblewrap.isolation()
    except bubblewrap.BubblewrapMissing as error:
        raise SandboxError(str(error)) from error


def _rlimits(limits: Limits) -> list[str]:
    return bubblewrap.rlimits(limits.cpu_seconds, limits.file_bytes, limits.processes, limits.memory_bytes)


def _group(limits: Limits) -> Cgroup:
    return Cgroup.create(limits.memory_bytes, limits.processes)


def _finished(ended: Ended | None, watch: _Watch, status: bytes) -> Finished:
    stdout, stderr = bytes(watch.output[0]), bytes(watch.output[1])
    if ended is None and b'"exit-code"' not in status:  # bubblewrap writes it for a command that was really started
        raise SandboxError(f"bubblewrap did not start the command: {stderr.decode(errors='replace').strip()}. {bubblewrap.REMEDY}")
    code, how = _decode(watch.process.returncode)
    return Finished(code, ended or how, stdout, stderr, time.monotonic() - watch.began)


class _Watch:
    """Reads both pipes and looks at the limits until the process ends or breaks one."""

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits, written: list[Path], stop: threading.Event | None) -> None:
        self.process, self.limits, self.written, self.stop = process, limits, written, stop
        self.output = (bytearray(), bytearray())
        self.overflowed = False
        self.began = self.looked = time.monotonic()

    def until_end(self) -> Ended | None:
        assert self.process.stdout is not None and self.process.stderr is not None
        with selectors.DefaultSelector() as selector:
            for pipe, buffer in zip((self.process.stdout, self.process.stderr), self.output, strict=True):
                selector.register(pipe, selectors.EVENT_READ, buffer)
            while selector.get_map() or self.process.poll() is None:
                self._drain(selector)
                if broken := self._broken_limit():
                    return broken
        return None

    def _drain(self, selector: selectors.BaseSelector) -> None:
        if not selector.get_map():
            time.sleep(TICK / 10)  # both pipes closed by the process itself, which still runs
        for key, _ in selector.select(TICK):
            data = os.read(key.fd, 65536)
            room = self.limits.output_bytes - sum(map(len, self.output))
            key.data.extend(data[: max(room, 0)])
            if not data:
                selector.unregister(key.fileobj)
            elif len(data) > room:
                self.overflowed = True

    def _broken_limit(self) -> Ended | None:
        if self.stop is not None and self.stop.is_set():
            return Ended.STOPPED
        if time.monotonic() - self.began > self.limits.seconds:
            return Ended.TIMED_OUT
        if self.overflowed or self._wrote_too_much():
            return Ended.OUTPUT_LIMIT
        return None

    def _wrote_too_much(self) -> bool:
        if time.monotonic() - self.looked < 5 * TICK:
            return False
        self.looked = time.monotonic()
        return _written_bytes(self.written) > self.limits.file_bytes


def _written_bytes(folders: list[Path]) -> int:
    total = 0
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(FileNotFoundError):  # removed between listing and looking
                    total += Path(root, name).lstat().st_size
    return total


def _end(process: subprocess.Popen[bytes], status: IO[bytes]) -> None:
    """Kill bubblewrap, and wait until the tree below it is gone: its first process ends after all others of its namespace."""
    process.kill()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    first, end = _first_process(status), time.monotonic() + DEATH
    while process.poll() is None or _alive(first):
        if time.monotonic() > end:
            _SURVIVORS.add(first if process.poll() is not None else process.pid)
            raise SandboxError("a sandboxed process outlived SIGKILL by 10 s: its device hangs; take the card out of rotation")
        time.sleep(TICK / 20)


def _first_process(status: IO[bytes]) -> int:
    """The sandbox's process 1 as the machine numbers it, 0 where bubblewrap did not get so far."""
    status.seek(0)
    found = re.search(rb'"child-pid": (\d+)', status.read())
    return int(found[1]) if found else 0


def _alive(pid: int) -> bool:
    """Whether there is a process of that number that has not ended; one that nobody waited for has."""
    try:
        return pid > 0 and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def survivors() -> list[int]:
    """Processes that SIGKILL did not end, as long as they are there."""
    _SURVIVORS.intersection_update({pid for pid in _SURVIVORS if _alive(pid)})
    return sorted(_SURVIVORS)


def _decode(code: int) -> tuple[int, Ended]:
    """bubblewrap reports a signal of its child as 128 + number, and dies of one only when we kill it."""
    if code == 128 + signal.SIGXCPU:
        return -signal.SIGXCPU, Ended.TIMED_OUT
    if code > 128:
        return 128 - code, Ended.SIGNALLED
    return code, Ended.SIGNALLED if code < 0 else Ended.EXITED

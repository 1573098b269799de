"""Starts every process that touches a repository's code: bubblewrap, no network, empty environment, hard limits.

The root inside holds /usr and what the caller mounts, nothing else of the machine. The process is pid 1's child
in its own pid namespace, so killing bubblewrap ends the whole tree, daemons and double forks included.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

from runners import bubblewrap, identity, seccomp
from runners.cgroup import Cgroup
from runners.identity import Identity
from runners.interpreter import python as python  # re-exported: the interpreter is mounted the same way everywhere
from runners.watching import TICK, Watch
from runners.watching import Ended as Ended  # re-exported with Limits: both are words of `run`
from runners.watching import Limits as Limits

NOTHING: Mapping[str, Path] = MappingProxyType({})
NO_ENV: Mapping[str, str] = MappingProxyType({})
STOP: ContextVar[threading.Event | None] = ContextVar("stop", default=None)  # a job's stop event, for callers too deep to be handed it
DEATH = 10.0  # a tree that outlives SIGKILL by this long hangs in the kernel
_SURVIVORS: set[int] = set()


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
    """Run `argv` to its end or its limits; `read` and `write` map a path inside to the one outside. After a stop nothing starts."""
    stop = stop or STOP.get()
    if stop is not None and stop.is_set():  # of hundreds that queue, each would take its moment to start and to be killed
        return Finished(-signal.SIGKILL, Ended.STOPPED, b"", b"", 0.0)
    who, written = _identity(read), list(write.values())
    inside = [*bubblewrap.mounts(read, write, devices), *bubblewrap.environment(env), "--chdir", cwd]
    command = ["--", *who.words(devices), *_rlimits(limits), *argv]
    who.take(written)
    filtered = seccomp.program(card=bool(devices))
    with tempfile.TemporaryFile() as status, _sealed(stdin) as given, _sealed(filtered) as refused, _group(limits) as group:
        inside += ["--json-status-fd", str(status.fileno()), *(["--seccomp", str(refused.fileno())] if filtered else [])]
        with _sealed(b"\0".join(word.encode() for word in inside) + b"\0") as words:  # a command line can be read from inside
            whole = group.wrap([*_isolation(who), "--args", str(words.fileno()), *command])
            process = _start(whole, given.fileno(), [file.fileno() for file in (status, refused, words)])
        watch = Watch(process, limits, written, stop, group)
        try:
            ended = watch.until_end()
        finally:
            _end(process, status)
        status.seek(0)
        return _finished(ended or (Ended.MEMORY_LIMIT if group.has_killed() else None), watch, status.read())


def _sealed(data: bytes) -> IO[bytes]:
    """`data` to be read from its beginning; nobody who gets the descriptor can write there, not even by opening it anew."""
    file = os.fdopen(os.memfd_create("kernelgate", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC), "w+b")
    file.write(data)
    file.seek(0)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return file


def _start(command: Sequence[str], stdin: int, more: Sequence[int]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd="/", env={}, stdin=stdin, stdout=pipe, stderr=pipe, pass_fds=more, start_new_session=True, umask=0o022
    )


def _identity(read: Mapping[str, Path]) -> Identity:
    try:
        return identity.draw(read.values())
    except bubblewrap.BubblewrapMissing as error:
        raise SandboxError(str(error)) from error


def _isolation(who: Identity) -> list[str]:
    try:
        return bubblewrap.isolation(dropping=who.uid is not None)
    except bubblewrap.BubblewrapMissing as error:
        raise SandboxError(str(error)) from error


def _rlimits(limits: Limits) -> list[str]:
    return bubblewrap.rlimits(limits.cpu_seconds, limits.file_bytes, limits.processes, limits.memory_bytes)


def _group(limits: Limits) -> Cgroup:
    return Cgroup.create(limits.resident_bytes, limits.processes)


def _finished(ended: Ended | None, watch: Watch, status: bytes) -> Finished:
    stdout, stderr = bytes(watch.output[0]), bytes(watch.output[1])
    if ended is None and watch.process.returncode < 0:  # not by us, and a signal of the command is an exit code of bubblewrap's
        raise SandboxError(f"bubblewrap was killed by signal {-watch.process.returncode} from outside, perhaps as memory ran out")
    if ended is None and b'"exit-code"' not in status:  # bubblewrap writes it for a command that was really started
        raise SandboxError(f"bubblewrap did not start the command: {stderr.decode(errors='replace').strip()}. {bubblewrap.REMEDY}")
    code, how = _decode(watch.process.returncode)
    return Finished(code, ended or how, stdout, stderr, time.monotonic() - watch.began)


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

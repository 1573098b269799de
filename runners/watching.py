"""Reads what a sandboxed process says and looks at its limits until it ends or breaks one."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import subprocess
import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psutil

from runners.cgroup import Cgroup

TICK = 0.1  # seconds between looks at the clock and the stop event
LOOK = 5 * TICK  # between looks at files and memory, which cost more
DEEPEST = 500  # folders in folders
OUR_OWN = 4  # processes that are there before and beside the command's
ENTRY_BYTES = 4096  # what a file or folder counts for at least: an empty one takes room too


@dataclass(frozen=True)
class Limits:
    """`memory_bytes` bounds address space (None for CUDA and sanitizers, which reserve far more than they use: then only what they use
    is bounded, by the machine's size). `silence` bounds the seconds without a word on stdout."""

    seconds: float = 60.0
    silence: float = math.inf
    cpu_seconds: int = 60
    memory_bytes: int | None = 4 << 30
    processes: int = 256
    file_bytes: int = 512 << 20
    output_bytes: int = 8 << 20

    @property
    def resident_bytes(self) -> int:
        """What all processes together may use: four fifths of the machine where the caller says nothing."""
        return self.memory_bytes if self.memory_bytes is not None else int(0.8 * psutil.virtual_memory().total)


class Ended(StrEnum):
    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    OUTPUT_LIMIT = "output_limit"
    MEMORY_LIMIT = "memory_limit"
    STOPPED = "stopped"


class Watch:
    """Of one process with two pipes; `written` are the folders it may write to, `group` what holds its memory where the machine can."""

    def __init__(
        self, process: subprocess.Popen[bytes], limits: Limits, written: list[Path], stop: threading.Event | None, group: Cgroup
    ) -> None:
        self.process, self.limits, self.written, self.stop, self.group = process, limits, written, stop, group
        self.output = (bytearray(), bytearray())
        self.overflowed = False
        self.began = self.looked = self.heard = time.monotonic()

    def until_end(self) -> Ended | None:
        """The limit that was broken, None if the process ended before."""
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
            if key.data is self.output[0]:
                self.heard = time.monotonic()
            if not data:
                selector.unregister(key.fileobj)
            elif len(data) > room:
                self.overflowed = True

    def _broken_limit(self) -> Ended | None:
        now = time.monotonic()
        if self.stop is not None and self.stop.is_set():
            return Ended.STOPPED
        if now - self.began > self.limits.seconds or now - self.heard > self.limits.silence:
            return Ended.TIMED_OUT
        if self.overflowed:
            return Ended.OUTPUT_LIMIT
        if now - self.looked < LOOK:
            return None
        self.looked = now
        return self._used_too_much()

    def _used_too_much(self) -> Ended | None:
        if written_bytes(self.written, self.limits.file_bytes) > self.limits.file_bytes:
            return Ended.OUTPUT_LIMIT
        return Ended.MEMORY_LIMIT if self._took_too_much() else None

    def _took_too_much(self) -> bool:
        """The group kills one process only, which may have been the one that the others wait for. Where there is none, processes are
        counted too: no rlimit bounds those of a user that is root outside."""
        if self.group.bounds_memory:
            return self.group.has_killed()
        held = _memory_of(self.process.pid)
        return sum(held) > self.limits.resident_bytes or len(held) > self.limits.processes + OUR_OWN


def written_bytes(folders: list[Path], enough: int) -> float:
    """Bytes below `folders`; counting stops once there are more than `enough`. A tree too deep for a path has no end."""
    total, left = 0.0, [(str(folder), 0) for folder in folders]
    while left and total <= enough:
        folder, depth = left.pop()
        if depth > DEEPEST:
            return math.inf
        with contextlib.suppress(OSError), os.scandir(folder) as entries:  # closed or removed meanwhile
            for entry in entries:
                total += _entry_bytes(entry)
                if entry.is_dir(follow_symlinks=False):
                    left.append((entry.path, depth + 1))
    return total


def _entry_bytes(entry: os.DirEntry[str]) -> int:
    try:
        return max(entry.stat(follow_symlinks=False).st_size, ENTRY_BYTES)
    except OSError:  # removed between listing and looking
        return ENTRY_BYTES


def _memory_of(pid: int) -> list[int]:
    """Bytes that each process below one holds in memory."""
    held = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                held.append(process.memory_info().rss)
    return held

"""Reads what a sandboxed process says and looks at its limits until it ends or breaks one."""

from __future__ import annotations

import contextlib
import errno
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

TICK = 0.1  # seconds between looks at the clock and the stop event
LOOK = 5 * TICK  # between looks at files and memory, which cost more
ENTRY_BYTES = 4096  # what a file or folder counts for at least: an empty one takes room too


@dataclass(frozen=True)
class Limits:
    """`memory_bytes` bounds address space (None for CUDA and sanitizers, which reserve far more than they use: then only what they use
    is bounded, by the machine's size)."""

    seconds: float = 60.0
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
    """Of one process with two pipes; `written` are the folders it may write to, `bounded` says that a control group holds its memory."""

    def __init__(
        self, process: subprocess.Popen[bytes], limits: Limits, written: list[Path], stop: threading.Event | None, bounded: bool
    ) -> None:
        self.process, self.limits, self.written, self.stop, self.bounded = process, limits, written, stop, bounded
        self.output = (bytearray(), bytearray())
        self.overflowed = False
        self.began = self.looked = time.monotonic()

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
            if not data:
                selector.unregister(key.fileobj)
            elif len(data) > room:
                self.overflowed = True

    def _broken_limit(self) -> Ended | None:
        now = time.monotonic()
        if self.stop is not None and self.stop.is_set():
            return Ended.STOPPED
        if now - self.began > self.limits.seconds:
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
        if not self.bounded and _memory_of(self.process.pid) > self.limits.resident_bytes:
            return Ended.MEMORY_LIMIT
        return None


def written_bytes(folders: list[Path], enough: int) -> float:
    """Bytes below `folders`; counting stops once there are more than `enough`. A tree too deep to be walked has no end."""
    total = 0.0

    def unseen(error: OSError) -> None:
        nonlocal total
        total = math.inf if error.errno == errno.ENAMETOOLONG else total

    for folder in folders:
        for root, inner, names in os.walk(folder, onerror=unseen):
            total += ENTRY_BYTES * len(inner)
            for name in names:
                with contextlib.suppress(FileNotFoundError):  # removed between listing and looking
                    total += max(Path(root, name).lstat().st_size, ENTRY_BYTES)
            if total > enough:
                return total
    return total


def _memory_of(pid: int) -> int:
    """Bytes that a process and all below it hold in memory."""
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
    return total

"""Code objects of both sides, each distinct one compiled once: keyed by what the compiler reads, not by side or commit."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path

from kernels.spec import Build, canonical_json
from runners.protocol import BuildRecord, Failure, FailureKind, Side
from runners.toolchains import CodeObject, CompileError, CompileRequest, Toolchain
from runners.trees import SourceDigests

LOG_BYTES = 8000


@dataclass
class Builder:
    """Compiles for one target below `out`; the same key is never compiled twice, also when asked from two threads."""

    toolchain: Toolchain
    target: str
    out: Path
    workers: ThreadPoolExecutor | None = None  # shared with other builders; else this one has its own
    _done: dict[str, Future[CodeObject]] = field(default_factory=dict)
    _sources: SourceDigests = field(default_factory=SourceDigests)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._pool = self.workers or ThreadPoolExecutor(os.cpu_count() or 2)
        self.version = self.toolchain.version()

    def order(self, checkout: Path, folder: str, build: Build, instrument: bool = False) -> Future[CodeObject]:
        """The code object of one build, now or later; its result may raise CompileError."""
        try:
            key = self.key(checkout, folder, build, instrument)
        except CompileError as error:
            failed: Future[CodeObject] = Future()
            failed.set_exception(error)
            return failed
        with self._lock:
            if key not in self._done:
                out = self.out / key[:16]
                out.mkdir(parents=True)
                request = CompileRequest(checkout, folder, build, self.target, out, instrument)
                self._done[key] = self._pool.submit(copy_context().run, self.toolchain.compile, request)
            return self._done[key]

    def key(self, checkout: Path, folder: str, build: Build, instrument: bool) -> str:
        """Hash of source and include closure, build, target and compiler; the prelude is the installed one on both sides."""
        parts = (self._sources.of(checkout, folder, build.source), folder, canonical_json(build), self.target, self.version, instrument)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def close(self) -> None:
        if self.workers is None:
            self._pool.shutdown(cancel_futures=True)


def collect(side: Side, orders: Mapping[str, Future[CodeObject]]) -> dict[str, CodeObject] | Failure:
    """The code objects of one plan, or why one of them does not compile."""
    try:
        return {name: order.result() for name, order in orders.items()}
    except CompileError as error:
        return Failure(FailureKind.BUILD_FAILED, str(error), side, error.log[-LOG_BYTES:], error.file, error.line)


def record(code: Mapping[str, CodeObject] | Failure, used: Sequence[tuple[str, str]] = ()) -> BuildRecord:
    """What the report says of one plan's builds; `used` are (build, kernel) of its launches, all kernels if empty."""
    if isinstance(code, Failure):
        return BuildRecord(ok=False, log=code.log or code.message)
    pairs = list(dict.fromkeys(used)) or [(name, kernel.name) for name, built in code.items() for kernel in built.kernels]
    kernels = tuple(kernel for name, wanted in pairs for kernel in code[name].kernels if kernel.name == wanted)
    digest = hashlib.sha256(repr([code[name].hashes.get(kernel) for name, kernel in pairs]).encode()).hexdigest()
    seconds = sum(built.seconds for built in code.values())
    return BuildRecord(True, digest, seconds, "\n".join(built.log for built in code.values())[-LOG_BYTES:], kernels)

"""Compiled everywhere, run nowhere: resources of every kernel and tuning row on every target, for base and head."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from pathlib import Path

from runners.child import Room, Stopped
from runners.protocol import Job, StaticEntry
from runners.sandbox import STOP
from runners.static_memo import Answer, Memo
from runners.static_target import TargetGate, unchanged
from runners.toolchains import ToolchainMissing, for_target
from runners.trees import Trees, kernels_of

LOOK = 0.2  # seconds between looks at the stop event
TARGETS = ("gfx906", "gfx1030", "gfx1151", "sm_61", "sm_90")


def entries(
    job: Job, trees: Trees, room: Room, targets: Sequence[str] = TARGETS, everything: bool = False, without: Collection[str] = ()
) -> tuple[StaticEntry, ...]:
    """Both sides' entries of the kernels that differ between the trees, or of all; a target without a compiler is left out."""
    names = [name for name in kernels_of(trees.head, job.suite) if name not in without]
    folders = tuple(name for name in names if everything or not unchanged(job, trees, name))
    able = [target for target in targets if not missing(target)]
    if not folders or not able:
        return ()
    memo = Memo.of(job, trees, folders)
    kept = {target: memo.recall(target) for target in able}
    made = _made(job, trees, room, folders, [target for target in able if kept[target] is None], memo)
    return tuple(entry for target in able for entry in {**kept, **made}[target] or ())


def missing(target: str) -> str:
    """Why this machine can't compile for `target`; empty if it can."""
    try:
        for_target(target).version()
    except ToolchainMissing as error:
        return str(error)
    return ""


def _made(
    job: Job, trees: Trees, room: Room, folders: tuple[str, ...], targets: Sequence[str], memo: Memo
) -> dict[str, tuple[StaticEntry, ...]]:
    """The entries of targets that nothing was kept of: planned side by side, compiled by as many workers as there are cores."""
    with tempfile.TemporaryDirectory(prefix="kernelgate-static-") as out, ThreadPoolExecutor(len(targets) or 1) as gates:
        compilers = ThreadPoolExecutor((os.cpu_count() or 2) + 1)  # one more: each pauses while its result is read
        made = {target: TargetGate(job, trees, room, target, folders, Path(out, target), compilers) for target in targets}
        try:
            found = {target: gates.submit(copy_context().run, _stoppable, gate) for target, gate in made.items()}
            _await(set(found.values()), room)
        finally:
            compilers.shutdown(cancel_futures=True)
    answers = {target: future.result() for target, future in found.items()}
    for target, answer in answers.items():
        memo.keep(target, answer)
    return {target: answer.entries for target, answer in answers.items()}


def _stoppable(gate: TargetGate) -> Answer:
    """Its answer, from compilers that end with the room's stop event; run in a context of its own."""
    STOP.set(gate.room.stop)
    return gate.answer()


def _await(pending: set[Future[Answer]], room: Room) -> None:
    """Returns when all are done; raises the first one's trouble at once, and Stopped when the job is."""
    while pending:
        done, pending = wait(pending, LOOK, FIRST_EXCEPTION)
        if room.stop.is_set():  # before any result: what a stopped compiler leaves looks like an error of the source
            raise Stopped
        for future in done:
            future.result()

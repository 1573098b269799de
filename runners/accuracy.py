"""Correctness of both sides: each runs alone in its sandbox, then the judge's reference in another, then we compare out here."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernels import check
from kernels.spec import Buffer, Role, canonical_json, plain
from runners import cache, lfs, outputs
from runners.answers import Ended, Ran, Referred, answer_of
from runners.batches import keeping, through
from runners.child import Reply, Room, ask
from runners.children.patience import STALLED
from runners.children.reference import part_shape
from runners.protocol import Accuracy, Failure, FailureKind, Side
from runners.rows import Row, SideWork
from runners.sandbox import Limits
from runners.toolchains import CodeObject
from runners.trees import Trees, folder_digest

SLOWEST = 16e6  # bytes a second of a buffer that is drawn, uploaded, downloaded and compared twice; 70e6 were seen on a busy machine
START = 10  # seconds in which a child of the host says its first word


class BadReference(Exception):
    """The judge's reference left no output of the size it must have; no kernel is to blame."""


@dataclass(frozen=True)
class Patience:
    """Seconds of work that one case may take in each kind of child, those of the reference by the clock.

    To fill, copy and compare buffers takes its own time, which no kernel is to blame for.
    """

    run: float = 10.0
    reference: float = 120.0
    session: float = 60.0
    races: float = 60.0

    def with_buffers(self, seconds: float, buffers: Sequence[Buffer]) -> float:
        """`seconds` and what the case's buffers take on a slow processor."""
        return seconds + sum(buffer.storage_bytes for buffer in buffers) / SLOWEST


@dataclass(frozen=True)
class Judge:
    """Runs and judges rows of one job on one device."""

    device: str
    trees: Trees
    suite: str
    work: Path
    room: Room
    patience: Patience = Patience()

    def accuracy(self, rows: Sequence[Row]) -> None:
        """Fill in accuracy and failures of both sides of every row that can run."""
        rows = [row for row in rows if any(row.sides[side].runnable for side in Side)]
        if not rows:
            return
        seeds = {row.index: secrets.randbits(63) for row in rows}
        with ThreadPoolExecutor(2 if self.device == "host" else 1) as pool:
            list(pool.map(lambda side: self._run(side, rows, seeds, self.place(side)), Side))
        ran = [row for row in rows if not row.trouble and any(row.sides[side].runnable for side in Side)]
        found = self.references(ran, {row.index: [seeds[row.index]] for row in ran}, calibrate=True)
        for row in ran:
            self.room.go_on()  # large outputs are compared out here, where no child tells of a stop
            self._judge(row, seeds[row.index], found[row.index])

    def again(self, rows: Sequence[Row], times: int) -> None:
        """Head of right rows `times` more, on new inputs each time; a row that fails here gets its failure, the others the count."""
        for number in range(times):
            out, seeds = self.place(f"again-{number}"), {row.index: secrets.randbits(63) for row in rows}
            self._run(Side.HEAD, rows, seeds, out)
            rows = [row for row in rows if row.sound]
            found = self.references(rows, {row.index: [seeds[row.index]] for row in rows})
            for row in rows:
                self.room.go_on()
                self._judge_again(row, seeds[row.index], found[row.index], out)
        for row in rows:
            if row.sound:
                row.counts["judged_again"] = times

    def _judge_again(self, row: Row, seed: int, said: Referred, out: Path) -> None:
        first = row.sides[Side.HEAD].accuracy
        assert first is not None
        try:
            after = self.compare(row, f"{row.index}", out, seed, first.limit) if not said.trouble else None
        except BadReference as error:
            said, after = Referred(error=str(error)), None
        if after is None:
            row.trouble.append(judge_failure(row, said))
        elif not after.ok:
            row.fail(Failure(FailureKind.INCORRECT, f"right on the first inputs, wrong on others: {after.reason}"[:1000], Side.HEAD))

    def _run(self, side: Side, rows: Sequence[Row], seeds: Mapping[int, int], out: Path) -> None:
        wanted = [row for row in rows if row.sides[side].runnable]
        items = [self._item(row, row.sides[side], seeds[row.index]) for row in wanted]
        answers = self._through("run", items, out, code_of([row.sides[side] for row in wanted]))
        for row in wanted:
            said = answer_of(Ran, answers[row.index])
            if failure := trouble(said, side, row.case.nondeterministic):
                row.fail(replace(failure, file=f"{self.suite}/{row.kernel}/plan.py") if said.too_large else failure)
            row.gpu_seconds += said.seconds

    def _through(self, module: str, items: Sequence[dict[str, Any]], out: Path, code: Mapping[str, Path]) -> dict[int, dict[str, Any]]:
        def one(some: Sequence[dict[str, Any]], own: Path) -> Reply:
            request = {"device": self.room.device, "items": some}
            limits = device_limits(self.device, [STALLED * item["patience"] for item in some])
            return ask(module, request, self.room, read=code, write={"/out": own}, limits=limits, on_device=True)

        return through(items, keeping(out, one))

    def _item(self, row: Row, work: SideWork, seed: int) -> dict[str, Any]:
        facts = {"index": row.index, "kernel": row.kernel, "patience": self.patience.with_buffers(self.patience.run, row.buffers)}
        return {**facts, "buffers": [plain(b) for b in row.buffers], "seed": seed, **side_item(work)}

    def references(self, rows: Sequence[Row], seeds: Mapping[int, Sequence[int]], calibrate: bool = False) -> dict[int, Referred]:
        """Reference outputs in the place of each row's judge; with `calibrate` each answer of a row has its `limit`."""
        keys = {row.index: self._limit_key(row) for row in rows}
        limits = {index: cache.get("limits", key) for index, key in keys.items()} if calibrate else {}
        first = {key: index for index, key in reversed(keys.items())}  # rows of one case share one limit
        items = [
            {
                "index": row.index,
                "kernel": row.kernel,
                "patience": self.patience.with_buffers(self.patience.reference, row.buffers),
                "folder": row.kernel,
                "case": plain(row.case),
                "buffers": [plain(buffer) for buffer in row.buffers],
                "seeds": list(seeds[row.index]),
                "calibrate": calibrate and limits[row.index] is None and first[keys[row.index]] == row.index,
            }
            for row in rows
        ]
        said = self._refer(items, rows)
        answers = {row.index: self._explained(row, answer_of(Referred, said[row.index])) for row in rows}
        for row in rows if calibrate else ():
            known = limits[row.index]
            limit = answers[first[keys[row.index]]].limit if known is None else known
            if limit is not None and row.judge is None:  # what head's own judge says is not kept for later jobs
                cache.put("limits", keys[row.index], limit)
            answers[row.index] = replace(answers[row.index], limit=limit)
        return answers

    def _refer(self, items: Sequence[dict[str, Any]], rows: Sequence[Row]) -> dict[int, dict[str, Any]]:
        """Each judge in processes and a place of its own: what head brings along reaches nothing that judges head."""
        answers: dict[int, dict[str, Any]] = {}
        for judge in dict.fromkeys(row.judge for row in rows):
            mine = [row for row in rows if row.judge is judge]
            indices = {row.index for row in mine}
            answers |= self._refer_to_one([item for item in items if item["index"] in indices], mine, self._refers(mine[0]))
        return answers

    def _refer_to_one(self, items: Sequence[dict[str, Any]], rows: Sequence[Row], out: Path) -> dict[int, dict[str, Any]]:
        folders = {f"/suite/{row.kernel}": self._judge_folder(row) for row in rows}

        def one(some: Sequence[dict[str, Any]], own: Path) -> Reply:
            each = [item["patience"] for item in some]
            whole = Limits(seconds=sum(each), silence=max(each) + START, cpu_seconds=int(8 * sum(each)))
            limits = replace(whole, memory_bytes=None, file_bytes=8 << 30)
            return ask("reference", {"items": some}, self.room, read=folders, write={"/out": own}, limits=limits)

        return through(items, keeping(out, one))

    def _judge_folder(self, row: Row) -> Path:
        tree = self.trees.judge if row.judge is None else {Side.BASE: self.trees.base, Side.HEAD: self.trees.head}[row.judge]
        return tree / self.suite / row.kernel

    def _explained(self, row: Row, said: Referred) -> Referred:
        """What its Python raised, told by a file that is not really there where that is so."""
        if not said.error:
            return said
        return replace(said, error=lfs.explained(said.error, self._judge_folder(row), f"{self.suite}/{row.kernel}"))

    def _limit_key(self, row: Row) -> str:
        parts = (folder_digest(self._judge_folder(row)), canonical_json(row.case), [canonical_json(b) for b in row.buffers], np.__version__)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def _judge(self, row: Row, seed: int, said: Referred) -> None:
        if said.limit is None or said.trouble:
            row.trouble.append(judge_failure(row, said))
            return
        try:
            self._compare_sides(row, seed, said.limit)
        except BadReference as error:
            row.trouble.append(judge_failure(row, Referred(error=str(error))))

    def _compare_sides(self, row: Row, seed: int, limit: float) -> None:
        """Base first, since head may not be much worse than it."""
        for side in (Side.BASE, Side.HEAD):
            work, base = row.sides[side], row.sides[Side.BASE].accuracy
            if work.runnable:
                own = check.head_limit(limit, base.rel_l2) if side is Side.HEAD and base and base.ok else limit
                work.accuracy = self.compare(row, f"{row.index}", self.place(side), seed, own)

    def compare(self, row: Row, folder: str, out: Path, seed: int, limit: float) -> Accuracy:
        """The outputs a side left in `out`/`folder` against the reference's for `seed`; raises BadReference."""
        errors = []
        for buffer in row.buffers:
            if buffer.role in (Role.OUT, Role.INOUT):
                want = self._reference(row, buffer, seed)
                try:
                    got = outputs.read(out, f"{folder}/{buffer.name}.bin", buffer.storage_bytes)
                except outputs.BadOutput as error:
                    return Accuracy(None, None, None, None, 0, 0, 0, limit, False, reason=str(error))
                errors.append(check.measure(buffer, got, want, limit))
        return accuracy_of(check.worst(errors), limit)

    def _reference(self, row: Row, buffer: Buffer, seed: int) -> Any:
        """The whole output, or a projected one: what it is multiplied with, and the products."""
        name = f"{row.index}-{seed}-{buffer.name}"
        if (self._refers(row) / f"{name}.products").exists():
            return self._part(row, buffer, name, "vectors"), self._part(row, buffer, name, "products")
        return self._part(row, buffer, name, "f64")

    def _part(self, row: Row, buffer: Buffer, name: str, part: str) -> Any:
        shape = part_shape(buffer, part)
        try:
            data = outputs.read(self._refers(row), f"{name}.{part}", 8 * math.prod(shape))
        except outputs.BadOutput as error:
            raise BadReference(str(error)) from error
        return data.view("<f8").reshape(shape)

    def _refers(self, row: Row) -> Path:
        return self.place(f"reference-{row.judge or 'judge'}")

    def place(self, name: str) -> Path:
        """Where one kind of child writes."""
        return self.work / name


def accuracy_of(errors: check.Errors, limit: float) -> Accuracy:
    """The figures as they travel; what is not finite is left out, and fails."""
    reason = check.complaint(errors, limit)
    rel_l2, nmse, max_abs, cosine = map(_finite, (errors.rel_l2, errors.nmse, errors.max_abs, errors.cosine))
    counts = (errors.nan, errors.inf, errors.unwritten)
    return Accuracy(rel_l2, nmse, max_abs, cosine, *counts, limit, not reason, errors.elements, errors.outside, reason)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def trouble(said: Ran, side: Side, nondeterministic: bool = False) -> Failure | None:
    """The failure an answer of a device child tells of, if any."""
    if failure := unfinished(said, side):
        return failure
    if said.offences:
        return Failure(FailureKind.INCORRECT, "; ".join(said.offences)[:1000], side)
    if said.unlike and not nondeterministic:
        return Failure(FailureKind.INCORRECT, f"two runs on equal input differ in {', '.join(said.unlike)}"[:1000], side)
    return None


def unfinished(said: Ended, side: Side) -> Failure | None:
    """The failure of an item whose process did not come to its end; a machine out of memory is no side's."""
    if not said.trouble:
        return None
    if said.starved:
        return Failure(FailureKind.INFRASTRUCTURE, said.starved[:1000])
    if said.too_large:
        return Failure(FailureKind.BUILD_FAILED, f"the plan's scratch does not fit: {said.too_large}"[:1000], side)
    return Failure(FailureKind.CRASHED if said.crashed else FailureKind.TIMED_OUT, said.trouble[:1000], side)


def judge_failure(row: Row, said: Referred) -> Failure:
    """A reference process gave no outputs, or no limit: the judge's trouble, never the kernel's."""
    message = f"the judge's reference of {row.kernel} failed: {said.trouble or 'no limit'}"[:1000]
    return Failure(FailureKind.INFRASTRUCTURE, message, None, file=said.file, line=said.line)


def side_item(work: SideWork) -> dict[str, Any]:
    """Plan and code objects of one side as a child takes them."""
    assert isinstance(work.code, dict)
    return {"plan": plain(work.plan), "modules": {name: inside_path(code) for name, code in work.code.items()}}


def code_of(works: Sequence[SideWork]) -> dict[str, Path]:
    """Mounts of the code objects of one side."""
    return {inside_path(code): code.path for work in works if isinstance(work.code, dict) for code in work.code.values()}


def inside_path(code: CodeObject) -> str:
    """Where a code object lies in the sandbox: by its build's own folder, as file names may repeat."""
    return f"/code/{code.path.parent.name}/{code.path.name}"


def device_limits(device: str, each: Sequence[float]) -> Limits:
    """Limits of a child that touches the device: CUDA and HIP reserve more address space than any rlimit should allow.

    It says something after each of its items, which take so many seconds at most; one that is deaf to its alarm is not waited
    for until all of them could have been done.
    """
    start = START if device == "host" else 60
    whole = Limits(seconds=sum(each) + start, silence=max(each) + start, cpu_seconds=int(sum(each)) + start)
    if device == "host":
        return replace(whole, processes=64, file_bytes=2 << 30)
    return replace(whole, memory_bytes=None, processes=1024, file_bytes=32 << 30)

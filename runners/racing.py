"""The race check of changed kernels, and what it counts: both sides' instrumented code on the emulator, with equal inputs."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from kernels.spec import plain
from runners.accuracy import device_limits, inside_path
from runners.answers import Raced, answer_of
from runners.batches import through
from runners.building import Builder, collect
from runners.child import Reply, Room, ask
from runners.children.patience import STALLED
from runners.counting import paired
from runners.protocol import Failure, FailureKind, Race, Side, SourceCounts
from runners.rows import Row
from runners.toolchains import CodeObject
from runners.trees import Trees

MOST = 20
MOST_COUNTED = 4  # base is built and run once more for these
WAVES = (32, 64)  # one schedule each; counts are the same in all
TO_COUNT = (32,)


@dataclass(frozen=True)
class RaceCheck:
    """Runs rows of a host job as instrumented code; builds are ordered early so that they compile beside other work."""

    builder: Builder
    trees: Trees
    suite: str
    room: Room
    patience: float
    seeds: dict[int, int] = field(default_factory=dict)  # a row's, for both sides

    def order(self, row: Row, side: Side) -> dict[str, Future[CodeObject]]:
        """The instrumented builds of one side of a row."""
        self.room.go_on()
        draft, folder = row.sides[side].draft, f"{self.suite}/{row.kernel}"
        checkout = self.trees.head if side is Side.HEAD else self.trees.base
        builds = draft.builds if draft else {}
        return {name: self.builder.order(checkout, folder, build, instrument=True) for name, build in builds.items()}

    def check(self, rows: Sequence[Row]) -> None:
        """Head's findings into `races`, also of a head that is wrong already, since they say where.

        If base has some too, in the same schedules, that is a failure of base, so that head is not blamed alone. Base runs
        beside head, to be counted; where both were, their counts go into the row.
        """
        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(self._run, rows, Side.HEAD, WAVES), pool.submit(self._run, counted(rows), Side.BASE, TO_COUNT)]
            head, base = (job.result() for job in jobs)
        for row in rows:
            if row.index in head:
                row.races.extend(_races(row, Side.HEAD, head[row.index]))
        base |= self._run([row for row in rows if row.races], Side.BASE, WAVES)
        for row in rows:
            if row.index in base:
                self._compare(row, base[row.index], head.get(row.index, Raced()))

    def _compare(self, row: Row, base: Raced, head: Raced) -> None:
        for race in _races(row, Side.BASE, base)[:1] if row.races else ():
            row.fail(Failure(FailureKind.INCORRECT, race.message, Side.BASE, file=race.file, line=race.line))
        if base.counts is not None and head.counts is not None:
            row.counts["source"] = SourceCounts(self.builder.version, paired(self.trees, base.counts, head.counts))

    def _run(self, rows: Sequence[Row], side: Side, waves: Sequence[int]) -> dict[int, Raced]:
        """What the rows with code of this side had to say, by index."""
        wanted = [(row, collect(side, self.order(row, side))) for row in rows if row.sides[side].plan is not None]
        ready = [(row, code) for row, code in wanted if isinstance(code, dict)]
        items = [self._item(row, side, code, waves) for row, code in ready]
        mounts = {inside_path(built): built.path for _, code in ready for built in code.values()}

        def one(some: Sequence[dict[str, Any]]) -> Reply:
            limits = device_limits("host", [STALLED * item["patience"] for item in some])
            return ask("race", {"items": some}, self.room, read=mounts, limits=limits)

        return {index: answer_of(Raced, answer) for index, answer in through(items, one).items()}

    def _item(self, row: Row, side: Side, code: dict[str, CodeObject], waves: Sequence[int]) -> dict[str, Any]:
        modules = {name: inside_path(built) for name, built in code.items()}
        seed = self.seeds.setdefault(row.index, secrets.randbits(62))
        facts = {"index": row.index, "kernel": row.kernel, "patience": self.patience * len(waves), "seed": seed, "waves": waves}
        return {**facts, "buffers": [plain(b) for b in row.buffers], "plan": plain(row.sides[side].plan), "modules": modules}


def counted(rows: Sequence[Row]) -> list[Row]:
    """The rows whose counts are wanted of both sides: of each kernel the first MOST_COUNTED that it lists and both sides run."""
    able = [row for row in rows if not row.held_out and all(row.sides[side].runnable for side in Side)]
    kernels = {row.kernel for row in able}
    first = {row.index for name in kernels for row in [row for row in able if row.kernel == name][:MOST_COUNTED]}
    return [row for row in able if row.index in first]


def _races(row: Row, side: Side, said: Raced) -> list[Race]:
    """The findings; a sound case whose race check did not end is not known to be free of races."""
    if said.races is None and row.sides[side].runnable:
        message = f"the race check did not end: {said.trouble or 'it gave no answer'}"[:1000]
        row.trouble.append(Failure(FailureKind.INFRASTRUCTURE, message, side))
    return [Race(r.file, r.line, r.message[:500]) for r in (said.races or ())[:MOST]]

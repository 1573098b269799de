"""From rows to code and plans on both sides: drafts, builds, launches, and which rows are the same code after all."""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from kernels.spec import Device
from runners.building import Builder, collect
from runners.child import Room
from runners.planning import Planner
from runners.protocol import Failure, Job, Side
from runners.rows import Row, same_code
from runners.toolchains import CodeObject
from runners.trees import Trees

TUNED_ROWS = 3

Orders = Mapping[str, Future[CodeObject]]


@dataclass(frozen=True)
class Preparer:
    """Plans and builds rows of one job for one device."""

    job: Job
    trees: Trees
    device: Device
    room: Room
    builder: Builder

    def prepare(self, rows: Sequence[Row]) -> list[Row]:
        """The rows and some more of other tunables, each with plan and code on both sides or the reason why not."""
        self._each_kernel(rows, self._draft)
        tuned = self._tuned(rows)
        self._each_kernel(tuned, self._draft)
        rows = [*rows, *tuned]
        orders = [(row, side, self._orders(row, side)) for row in rows for side in Side]
        for row, side, order in orders:
            self._collect(row, side, order)
            self.room.go_on()
        self._each_kernel(rows, self._plan)
        for row in rows:
            row.identical = not row.held_out and not row.trouble and same_code(row)
        return rows

    def _each_kernel(self, rows: Sequence[Row], step: Callable[[Side, str, Sequence[Row]], None]) -> None:
        for kernel in dict.fromkeys(row.kernel for row in rows):
            for side in Side:
                if (self._tree(side) / self._folder(kernel) / "plan.py").is_file():  # a new kernel's base has none
                    step(side, kernel, [row for row in rows if row.kernel == kernel])

    def _draft(self, side: Side, kernel: str, rows: Sequence[Row]) -> None:
        for row, draft in zip(rows, self._planner(side, kernel).drafts([row.wanted for row in rows]), strict=True):
            if isinstance(draft, Failure):
                row.fail(draft)
                continue
            row.sides[side].draft = draft
            if side is Side.HEAD and draft.absent:
                asked = {name: value for name, value in row.wanted.tunables.items() if name in draft.absent}
                row.not_measured = "; ".join(_unknown(kernel, *one, draft.legal) for one in asked.items())

    def _plan(self, side: Side, kernel: str, rows: Sequence[Row]) -> None:
        known = [(row, row.sides[side].draft, row.sides[side].code) for row in rows if not row.not_measured]
        ready = [(row, draft, code) for row, draft, code in known if draft is not None and isinstance(code, dict)]
        plans = self._planner(side, kernel).plans([row.wanted for row, _, _ in ready], [d for _, d, _ in ready], [c for _, _, c in ready])
        for (row, _, _), plan in zip(ready, plans, strict=True):
            if isinstance(plan, Failure):
                row.fail(plan)
            else:
                row.sides[side].plan = plan

    def _planner(self, side: Side, kernel: str) -> Planner:
        flags = self.job.selection.head_flags if side is Side.HEAD else self.job.selection.base_flags
        shown = self._folder(kernel)
        return Planner(side, self._tree(side) / shown, shown, self.device, self.room, flags)

    def _tuned(self, rows: Sequence[Row]) -> list[Row]:
        """Held-out rows with other legal values of head's tunables than the default: one drawn shape of each kernel."""
        found: list[Row] = []
        drawn = {row.case.kernel: row for row in rows if row.held_out and row.judge is None}
        index = max((row.index for row in rows), default=0)
        for row in drawn.values() if not self.job.selection.sweep else ():
            draft = row.sides[Side.HEAD].draft
            others = [(name, value) for name, values in (draft.legal if draft else {}).items() for value in values[1:]]
            for name, value in random.sample(others, min(TUNED_ROWS, len(others))):
                index += 1
                found.append(Row(index, row.kernel, row.case, row.buffers, {name: str(value)}, held_out=True))
        return found

    def _orders(self, row: Row, side: Side) -> Orders | None:
        self.room.go_on()
        draft = row.sides[side].draft
        if draft is None or row.not_measured:
            return None
        return {name: self.builder.order(self._tree(side), self._folder(row.kernel), build) for name, build in draft.builds.items()}

    def _collect(self, row: Row, side: Side, orders: Orders | None) -> None:
        if orders is None:
            return
        code = collect(side, orders)
        row.sides[side].code = code
        if isinstance(code, Failure):
            row.fail(code)

    def _folder(self, kernel: str) -> str:
        return f"{self.job.suite}/{kernel}"

    def _tree(self, side: Side) -> Path:
        return self.trees.head if side is Side.HEAD else self.trees.base


def _unknown(kernel: str, name: str, value: str, legal: Mapping[str, Sequence[object]]) -> str:
    """What is wrong with a tunable that a command sets, and what there is instead."""
    if name in legal:
        return f"{kernel} has no {name} of {value}: set one of {', '.join(map(str, legal[name]))}"
    nearest = difflib.get_close_matches(name, legal, 1)
    there = f"did you mean {nearest[0]}?" if nearest else f"it has {', '.join(legal)}" if legal else "it has none"
    return f"{kernel} has no tunable {name}: {there}"

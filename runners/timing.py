"""One session: a fresh process in which rows are timed, base against head, and their timed outputs checked once."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernels.spec import plain
from runners import sampling
from runners.accuracy import BadReference, Judge, code_of, device_limits, judge_failure, side_item, trouble, unfinished
from runners.answers import Checked, Referred, Timed, answer_of
from runners.batches import keeping, through
from runners.child import Reply, ask
from runners.children.patience import STALLED
from runners.protocol import Accuracy, Failure, FailureKind, Session, Side, Stage
from runners.rows import Row
from runners.telemetry import Telemetry, disturbance
from runners.watch_nvidia import processes_on

EXTRA = ("scipy", "scipy.libs", "psutil")


@dataclass(frozen=True)
class Timer:
    """Takes sessions on the judge's device; `number` sessions have been taken by now."""

    judge: Judge

    def take(self, rows: Sequence[Row], stage: Stage, first: Side, rules: sampling.Rules, verify: bool) -> None:
        """One session of each row, added to it; a row that fails here gets its failure instead."""
        seeds = {row.index: secrets.randbits(62) for row in rows}
        items = [self._item(row, stage, first, rules, seeds[row.index], verify) for row in rows]
        out = self.judge.place(f"timed-{secrets.token_hex(4)}")
        answers = {index: answer_of(Timed, said) for index, said in self._children(items, rows, out).items()}
        foreign = foreign_on(answers.values())
        for row in rows:
            self._accept(row, answers[row.index], stage, first, foreign)
        if verify:
            self._verify([row for row in rows if row.sound and not row.control], answers, seeds, out)

    def _item(self, row: Row, stage: Stage, first: Side, rules: sampling.Rules, seed: int, verify: bool) -> dict[str, Any]:
        sides = {side.value: side_item(row.sides[side]) for side in Side}
        seeds = {"seed": secrets.randbits(62), "check_seed": seed, "order_seed": secrets.randbits(62)}
        facts = {"index": row.index, "kernel": row.kernel, "buffers": [plain(b) for b in row.buffers], "cold": row.case.cold}
        return {
            **facts,
            **sides,
            **seeds,
            "patience": self.judge.patience.with_buffers(self.judge.patience.session, row.buffers),
            "stage": stage.value,
            "loaded_first": first.value,
            "rules": asdict(rules),
            "verify": verify and not row.control,
        }

    def _children(self, items: Sequence[dict[str, Any]], rows: Sequence[Row], out: Path) -> dict[int, dict[str, Any]]:
        judge = self.judge
        code = code_of([row.sides[side] for row in rows for side in Side])

        def one(some: Sequence[dict[str, Any]], own: Path) -> Reply:
            limits = device_limits(judge.device, [STALLED * item["patience"] for item in some])
            request = {"device": judge.room.device, "items": some}
            return ask("timed", request, judge.room, read=code, write={"/out": own}, limits=limits, extra=EXTRA, on_device=True)

        return through(items, keeping(out, one))

    def _accept(self, row: Row, said: Timed, stage: Stage, first: Side, foreign: Telemetry) -> None:
        """Both sides ran alone and were right, so a crash of both together is blamed on neither until it is understood."""
        if failure := unfinished(said, Side.HEAD):
            row.trouble.append(Failure(FailureKind.INFRASTRUCTURE, f"while both sides were timed: {failure.message}"[:1000]))
        elif not said.quads or len(said.quads) != len(said.order):
            row.trouble.append(Failure(FailureKind.INFRASTRUCTURE, "a timing process gave no session"))
        else:
            seen = {**said.telemetry, **foreign}
            row.sessions.append(Session(stage, said.quads, said.order, said.launches, first, disturbance(seen), seen))
        row.gpu_seconds += said.gpu_seconds

    def _verify(self, rows: Sequence[Row], answers: Mapping[int, Timed], seeds: Mapping[int, int], out: Path) -> None:
        """Second check: outputs of timed launches, on inputs drawn after everything was built."""
        used = {row.index: sorted({seeds[row.index] + check.set for check in answers[row.index].checks}) for row in rows}
        found = self.judge.references(rows, used)
        for row in rows:
            self.judge.room.go_on()
            checks = answers[row.index].checks
            if sorted(check.side for check in checks) != list(Side):
                row.trouble.append(Failure(FailureKind.INFRASTRUCTURE, "a timing process gave no outputs of both sides to check"))
            elif found[row.index].trouble:
                row.trouble.append(judge_failure(row, found[row.index]))
            else:
                self._check(row, checks, seeds[row.index], out)

    def _check(self, row: Row, checks: Sequence[Checked], seed: int, out: Path) -> None:
        try:
            for check in checks:
                if failure := trouble(check, check.side) or self._wrong(row, check.side, out, seed + check.set):
                    row.fail(failure)
        except BadReference as error:
            row.trouble.append(judge_failure(row, Referred(error=str(error))))

    def _wrong(self, row: Row, side: Side, out: Path, seed: int) -> Failure | None:
        before = row.sides[side].accuracy
        assert before is not None
        after: Accuracy = self.judge.compare(row, f"{row.index}-{side.value}", out, seed, before.limit)
        if after.ok:
            return None
        return Failure(FailureKind.INCORRECT, f"right when checked, wrong when timed: {after.reason}"[:1000], side)


def foreign_on(answers: Iterable[Timed]) -> Telemetry:
    """Other processes on the card whose sessions these are, asked when ours has ended."""
    buses = {bus for said in answers if isinstance(bus := said.telemetry.get("bus"), str)}
    found = sorted({pid for bus in buses for pid in processes_on(bus)})
    return {"foreign": ", ".join(f"pid {pid}" for pid in found)[:200]} if found else {}

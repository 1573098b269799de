"""One job from its checkouts to its measurements: enumerate, plan, build, judge, check for races, time.

It states facts and passes no verdict. What goes wrong with the machine ends the job as `failed`, with a reason;
what goes wrong with a kernel becomes part of that kernel's measurement.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runners import static_gate, toolchains
from runners.accuracy import Judge, Patience
from runners.building import Builder
from runners.child import Room, Stopped
from runners.controls import controls_for, told
from runners.enumeration import Enumerator, JudgeBroken
from runners.preparing import Preparer
from runners.probing import probe
from runners.protocol import (
    Ending,
    Enumeration,
    Failure,
    FailureKind,
    Job,
    Measurement,
    Mode,
    NodeInfo,
    Outcome,
    Phase,
    Roofline,
    Side,
    StaticEntry,
)
from runners.racing import RaceCheck, counted
from runners.roofline import roofline
from runners.room import room_for
from runners.rows import Row
from runners.sampling import TOO_FAST, Rules, estimate_of
from runners.sandbox import STOP, SandboxError
from runners.scratch import scratch
from runners.session import Budget, measure
from runners.timing import Timer
from runners.toolchains import ToolchainMissing
from runners.trees import Trees as Trees
from runners.trees import same_kernel

PATIENCE = Patience()
AGAIN = 3  # inputs more on which a head that is far too fast is judged


class Reporter(Protocol):
    """Where a job's facts go as they become known."""

    def phase(self, phase: Phase) -> None: ...

    def enumerated(self, enumeration: Enumeration) -> None: ...

    def measured(self, measurement: Measurement) -> None: ...


def execute(
    job: Job, trees: Trees, device: str, report: Reporter, stop: threading.Event, node: str = "local", races: bool = True
) -> Outcome:
    """Do the job on `device`; trouble of the machine ends it as `failed`, a set `stop` as `cancelled` within 2 s."""
    began, token = time.monotonic(), STOP.set(stop)
    with scratch("kernelgate-job-") as work:
        try:
            return _Work(job, trees, device, report, room_for(device, stop), work, began, node, races).outcome()
        except Stopped:
            return Outcome(Ending.CANCELLED)
        except JudgeBroken as error:
            return _failed(str(error), error.file, error.line)
        except (SandboxError, ToolchainMissing, OSError) as error:
            return Outcome(Ending.CANCELLED) if stop.is_set() else _failed(str(error))
        finally:
            STOP.reset(token)


def _is_too_fast(row: Row, rules: Rules) -> bool:
    estimate = estimate_of(row.sessions, rules)
    return estimate is not None and estimate.speedup > TOO_FAST


def _failed(message: str, file: str = "", line: int = 0) -> Outcome:
    return Outcome(Ending.FAILED, failure=Failure(FailureKind.INFRASTRUCTURE, message, file=file, line=line))


@dataclass
class _Work:
    """The state of one job while it is done."""

    job: Job
    trees: Trees
    name: str
    report: Reporter
    room: Room
    work: Path
    began: float
    node: str
    races: bool
    info: NodeInfo = field(init=False)
    rows: list[Row] = field(default_factory=list)
    controls: list[Row] = field(default_factory=list)
    roofline: Roofline | None = None

    def outcome(self) -> Outcome:
        self.info, self.device = probe(self.name, self.room.stop, self.node)
        toolchain = toolchains.for_target(self.device.target)
        self.builder = Builder(toolchain, self.device.target, self.work / "code")
        try:
            self._measure()
            static = self._static()
        finally:
            self.builder.close()
        self.report.phase(Phase.DONE)
        seconds = sum(row.gpu_seconds for row in (*self.rows, *self.controls))
        controls = tuple(map(told, self.controls))
        return Outcome(Ending.COMPLETED, node=self.info, static=static, gpu_seconds=seconds, controls=controls, roofline=self.roofline)

    def _measure(self) -> None:
        self.report.phase(Phase.ENUMERATE)
        enumeration, rows = Enumerator(self.job, self.trees, self.device, self.room).find()
        self.report.enumerated(enumeration)
        rows = self._unchanged(rows)
        self.report.phase(Phase.BUILD)
        self.rows = Preparer(self.job, self.trees, self.device, self.room, self.builder).prepare(rows)
        self._tell(row for row in self.rows if row.identical)
        rows = [row for row in self.rows if not row.identical]
        race_check = self._order_races(rows)
        self.report.phase(Phase.ACCURACY)
        judge = Judge(self.name, self.trees, self.job.suite, self.work, self.room, PATIENCE)
        judge.accuracy(rows)
        if race_check is not None:
            self.report.phase(Phase.RACES)
            race_check.check([row for row in rows if not row.hung])
        self._time(rows, judge)

    def _order_races(self, rows: Sequence[Row]) -> RaceCheck | None:
        """On the host, the instrumented builds start to compile while the plain ones run, head's first."""
        if self.device.target != "host" or not self.races:
            return None
        check = RaceCheck(self.builder, self.trees, self.job.suite, self.room, PATIENCE.races)
        for row in rows:
            check.order(row, Side.HEAD)
        for row in counted(rows):
            check.order(row, Side.BASE)
        return check

    def _time(self, rows: Sequence[Row], judge: Judge) -> None:
        """Times of the rows that have some to give; all others are told first."""
        wanted = Mode.PERFORMANCE in self.job.selection.modes
        timed = [row for row in rows if wanted and row.sound and not row.held_out]
        self._tell(row for row in rows if row not in timed)
        self.report.phase(Phase.TIMING)
        rules = Rules(floor=self.job.floor, harm=self.job.harm, share=self.job.alpha_share)
        self.controls = controls_for(timed, self.rows)
        measure(Timer(judge), timed, self.controls, rules, Budget(self.job.budget_seconds, self.began))
        if any(row.sessions for row in timed):
            self.roofline = roofline(self.name, self.info, self.room, self.work)
            judge.again([row for row in timed if row.sound and _is_too_fast(row, rules)], AGAIN)
        self._tell(timed)

    def _static(self) -> tuple[StaticEntry, ...]:
        """Resources on every target, from the job of the host's pool."""
        if not self.job.static:
            return ()
        self.report.phase(Phase.STATIC)
        planned = {row.kernel for row in self.rows if not row.unplanned}
        dead = {row.kernel for row in self.rows} - planned  # asked again, a plan.py that sleeps would cost its time once a target
        return static_gate.entries(self.job, self.trees, self.room, without=dead)

    def _tell(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.report.measured(row.measurement())

    def _unchanged(self, rows: Sequence[Row]) -> list[Row]:
        """Rows left once those of untouched kernels are told as identical; a held-out shape of one says nothing."""
        chosen = self.job.selection
        if chosen.sweep or chosen.head_flags != chosen.base_flags:
            return list(rows)
        kernels = {row.kernel for row in rows}
        same = {name for name in kernels if same_kernel(self.trees.base, self.trees.head, f"{self.job.suite}/{name}")}
        for row in rows:
            row.identical = row.kernel in same and not row.held_out
        self._tell(row for row in rows if row.identical)
        return [row for row in rows if row.kernel not in same]

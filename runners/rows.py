"""The worker's own record of one comparison while it is made; it ends as a Measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kernels.spec import Buffer, Case, Plan, plain
from runners.building import record
from runners.planning import Draft, Wanted, canonical
from runners.protocol import Accuracies, Accuracy, Builds, Failure, FailureKind, KernelResources, Measurement, Race, Session, Side
from runners.toolchains import CodeObject


@dataclass
class SideWork:
    """One side of a comparison: what was planned, built, and found wrong with it."""

    draft: Draft | None = None
    code: dict[str, CodeObject] | Failure | None = None
    plan: Plan | None = None
    accuracy: Accuracy | None = None
    failure: Failure | None = None

    @property
    def runnable(self) -> bool:
        return self.plan is not None and self.failure is None


@dataclass
class Row:
    """One case with one set of tunables; `held_out` rows are judged for accuracy only. `judge` names whose cases it is of.

    A `control` has equal code on both sides and is timed only.
    """

    index: int
    kernel: str
    case: Case
    buffers: tuple[Buffer, ...]
    asked: Mapping[str, str] = field(default_factory=dict)
    held_out: bool = False
    judge: Side | None = None
    control: bool = False
    sides: dict[Side, SideWork] = field(default_factory=lambda: {side: SideWork() for side in Side})
    identical: bool = False
    races: list[Race] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    trouble: list[Failure] = field(default_factory=list)
    gpu_seconds: float = 0.0
    not_measured: str = ""
    counts: dict[str, Any] = field(default_factory=dict)

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.case, self.asked, self.buffers)

    @property
    def sound(self) -> bool:
        """Whether both sides ran and were right, so that their times mean something. Races are the reader's to weigh."""
        works = [self.sides[side] for side in Side]
        return not self.trouble and all(w.runnable and w.accuracy is not None and w.accuracy.ok for w in works)

    @property
    def unplanned(self) -> bool:
        """Whether a side's plan.py gave no plan, for a reason of its own."""
        works = self.sides.values()
        return any(w.failure is not None and w.plan is None and not isinstance(w.code, Failure) for w in works)

    @property
    def hung(self) -> bool:
        """Whether head ran and came to no end, which says where it loops."""
        failure = self.sides[Side.HEAD].failure
        return failure is not None and failure.kind is FailureKind.TIMED_OUT

    def fail(self, failure: Failure) -> None:
        """The first failure of a side is the one that is told."""
        if failure.side is None:
            self.trouble.append(failure)
        elif self.sides[failure.side].failure is None:
            self.sides[failure.side].failure = failure

    def measurement(self) -> Measurement:
        base, head = self.sides[Side.BASE], self.sides[Side.HEAD]
        drafts = [work.draft for work in (head, base) if work.draft is not None]
        return Measurement(
            case=self.case,
            tunables={name: drafts[0].chosen[name] for name in self.asked if drafts and name in drafts[0].chosen},
            identical=self.identical,
            held_out=self.held_out,
            build=Builds(base=_record(base), head=_record(head)),
            accuracy=Accuracies(base=base.accuracy, head=head.accuracy),
            failures=(*self.trouble, *(work.failure for work in (base, head) if work.failure is not None)),
            races=tuple(self.races),
            sessions=tuple(self.sessions),
            gpu_seconds=self.gpu_seconds,
            not_measured=self.not_measured,
            counts=self.counts,
        )


def _record(work: SideWork) -> Any:
    if work.code is None:
        return None
    if work.plan is None:
        return record(work.code)
    built = record(work.code, [(launch.build, launch.kernel) for launch in work.plan.launches])
    shared = {launch.kernel: launch.dynamic_shared for launch in work.plan.launches}
    return replace(built, kernels=tuple(_with_shared(kernel, shared) for kernel in built.kernels))


def _with_shared(kernel: KernelResources, shared: Mapping[str, int]) -> KernelResources:
    return replace(kernel, dynamic_shared=shared.get(kernel.name, 0))


def same_code(row: Row) -> bool:
    """Per launch, in order: equal code, constants and resources, at equal places of equal plans, on both sides."""
    works = [row.sides[side] for side in Side]
    if not all(work.runnable for work in works):
        return False
    return _signature(works[0]) == _signature(works[1])


def _signature(work: SideWork) -> str | None:
    assert work.plan is not None and isinstance(work.code, dict)
    data = plain(work.plan)
    launches = [
        {**launch, "build": work.code[launch["build"]].toolchain, "kernel": work.code[launch["build"]].hashes[launch["kernel"]]}
        for launch in data["launches"]
    ]
    return canonical([launches, data["scratch"], data["tables"]])

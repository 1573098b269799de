"""The static gate on one target.

A tuning row is one distinct pair of builds (base's, head's) among a kernel's gate cases; it is named by its first case,
so that a head which changes its tiles is still compared with what its base used for the same case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernels import devices
from kernels.spec import Device, Launch, Plan, canonical_json
from runners.answers import Draft
from runners.building import Builder, collect
from runners.child import Room
from runners.enumeration import Enumerator, JudgeBroken
from runners.occupancy import infeasible
from runners.planning import Planner, Wanted
from runners.protocol import Failure, Job, KernelResources, Side, StaticEntry
from runners.rows import Row
from runners.static_memo import Answer, Source
from runners.toolchains import CodeObject, CompileError, for_target
from runners.toolchains.remembered import Remembered
from runners.toolchains.resources import with_occupancy
from runners.trees import Trees, same_kernel

Orders = Mapping[str, Future[CodeObject]]


def unchanged(job: Job, trees: Trees, name: str) -> bool:
    """Whether a kernel's folder and all that its sources include are equal on both sides."""
    folder = f"{job.suite}/{name}"
    return (trees.base / folder).is_dir() and same_kernel(trees.base, trees.head, folder)


@dataclass(frozen=True)
class _Pair:
    """One tuning row: the case that stands for it, its name, both sides' drafts, and the builds ordered for them."""

    wanted: Wanted
    row: str
    drafts: Mapping[Side, Draft | Failure]
    orders: dict[Side, Orders] = field(default_factory=dict)


@dataclass(frozen=True)
class _Kernel:
    """One kernel folder, planned and ordered. Of sides that are equal only head's is."""

    planners: Mapping[Side, Planner]
    pairs: Sequence[_Pair]
    equal: bool


@dataclass(frozen=True)
class TargetGate:
    """Makes the answer for one target; `compilers` is shared with the other targets."""

    job: Job
    trees: Trees
    room: Room
    target: str
    folders: tuple[str, ...]
    out: Path
    compilers: ThreadPoolExecutor

    @property
    def device(self) -> Device:
        return devices.for_target(self.target)

    def answer(self) -> Answer:
        try:
            rows = self._rows()
        except JudgeBroken as error:  # both sides alike, so nobody is blamed
            return Answer(
                tuple(StaticEntry(self.target, name, "", side, ok=False, log=str(error)) for name in self.folders for side in Side)
            )
        builder = Builder(Remembered(for_target(self.target)), self.target, self.out, self.compilers)
        # all ordered before the first is waited for, so that compilers never stand still
        kernels = {name: self._ordered(name, [row.wanted for row in rows if row.kernel == name], builder) for name in self.folders}
        sources = self._sources(kernels)
        return Answer(tuple(entry for name in kernels for entry in self._entries(name, kernels[name], builder.version)), sources)

    def _rows(self) -> list[Row]:
        """The gate's own cases of the folders asked for; those new in the head included, drawn shapes not."""
        selection = replace(self.job.selection, tier="gate", sweep={}, kernels=self.folders, models=())
        _, rows = Enumerator(replace(self.job, selection=selection), self.trees, self.device, self.room).find()
        return [row for row in rows if not row.held_out or row.judge is Side.HEAD]

    def _ordered(self, name: str, wanted: Sequence[Wanted], builder: Builder) -> _Kernel:
        chosen = self.job.selection
        equal = chosen.base_flags == chosen.head_flags and unchanged(self.job, self.trees, name)
        folder = f"{self.job.suite}/{name}"
        sides = [side for side in Side if (self._tree(side) / folder).is_dir() and not (equal and side is Side.BASE)]
        planners = {side: self._planner(side, folder) for side in sides}
        pairs = _pairs(wanted, {side: planner.drafts(wanted) for side, planner in planners.items()})
        for pair in pairs:  # both sides of a row next to each other
            for side, draft in pair.drafts.items():
                builds = draft.builds if isinstance(draft, Draft) else {}
                pair.orders[side] = {key: builder.order(self._tree(side), folder, build) for key, build in builds.items()}
        return _Kernel(planners, pairs, equal)

    def _entries(self, name: str, kernel: _Kernel, toolchain: str) -> Iterator[StaticEntry]:
        for side, planner in kernel.planners.items():
            blank = StaticEntry(self.target, name, "", side, ok=False, toolchain=toolchain)
            found = list(self._side(planner, kernel.pairs, blank))
            yield from (replace(entry, side=Side.BASE) for entry in found if kernel.equal)
            yield from found

    def _side(self, planner: Planner, pairs: Sequence[_Pair], blank: StaticEntry) -> Iterator[StaticEntry]:
        good: list[tuple[_Pair, Draft, Mapping[str, CodeObject]]] = []
        for pair in pairs:
            draft = pair.drafts[blank.side]
            made = draft if isinstance(draft, Failure) else collect(blank.side, pair.orders[blank.side])
            if isinstance(draft, Failure) or isinstance(made, Failure):
                assert isinstance(made, Failure)
                yield replace(blank, kernel=pair.wanted.case.kernel, row=pair.row, log=made.log or made.message)
            else:
                good.append((pair, draft, made))
        plans = planner.plans([pair.wanted for pair, _, _ in good], [draft for _, draft, _ in good], [code for _, _, code in good])
        for (pair, _, code), plan in zip(good, plans, strict=True):
            yield from self._planned(replace(blank, kernel=pair.wanted.case.kernel, row=pair.row), plan, code)

    def _planned(self, blank: StaticEntry, plan: Plan | Failure, code: Mapping[str, CodeObject]) -> Iterator[StaticEntry]:
        if isinstance(plan, Failure):
            yield replace(blank, log=plan.message)
            return
        for launch in _heaviest(plan):
            built = code[launch.build]
            kernel = next(k for k in built.kernels if k.name == launch.kernel)
            block = launch.block[0] * launch.block[1] * launch.block[2]
            found = with_occupancy(kernel, self.device, block, launch.dynamic_shared)
            yield replace(
                blank,
                kernel=kernel.name,
                ok=True,
                resources=found,
                hash=built.hashes[kernel.name],
                infeasible=self._infeasible(plan, launch, found),
                seconds=built.seconds,
                block=block,
                declared=plan.builds[launch.build].blocks_per_unit,
            )

    def _infeasible(self, plan: Plan, launch: Launch, kernel: KernelResources) -> str:
        build = plan.builds[launch.build]
        return infeasible(self.device, build.block, build.blocks_per_unit, kernel.static_shared, launch.dynamic_shared)

    def _sources(self, kernels: Mapping[str, _Kernel]) -> tuple[Source, ...]:
        """What is being compiled, of both sides also where they are equal; empty if a source may not be read."""
        try:
            return tuple(found for name, kernel in kernels.items() for found in self._read(f"{self.job.suite}/{name}", kernel))
        except CompileError:
            return ()

    def _read(self, folder: str, kernel: _Kernel) -> Iterator[Source]:
        for side in Side if kernel.equal else kernel.planners:
            drafts = [pair.drafts[Side.HEAD if kernel.equal else side] for pair in kernel.pairs]
            names = {build.source for draft in drafts if isinstance(draft, Draft) for build in draft.builds.values()}
            yield from (Source.of(self.trees, side, folder, name) for name in sorted(names))

    def _planner(self, side: Side, folder: str) -> Planner:
        flags = self.job.selection.base_flags if side is Side.BASE else self.job.selection.head_flags
        return Planner(side, self._tree(side) / folder, folder, self.device, self.room, flags)

    def _tree(self, side: Side) -> Path:
        return self.trees.base if side is Side.BASE else self.trees.head


def _pairs(wanted: Sequence[Wanted], drafts: Mapping[Side, Sequence[Draft | Failure]]) -> list[_Pair]:
    """The distinct pairs of builds, each with the first case that has it and the number of the others."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for index in range(len(wanted)):
        groups.setdefault(tuple(_spelled(found[index]) for found in drafts.values()), []).append(index)
    return [
        _Pair(
            wanted[indices[0]],
            wanted[indices[0]].case.id + (f" (+{len(indices) - 1})" if len(indices) > 1 else ""),
            {side: found[indices[0]] for side, found in drafts.items()},
        )
        for indices in groups.values()
    ]


def _spelled(draft: Draft | Failure) -> str:
    if isinstance(draft, Failure):
        return draft.message
    return repr(sorted((name, canonical_json(build)) for name, build in draft.builds.items()))


def _heaviest(plan: Plan) -> list[Launch]:
    """Each kernel once, in the launch that asks for most dynamic shared memory."""
    found: dict[tuple[str, str], Launch] = {}
    for launch in plan.launches:
        known = found.get((launch.build, launch.kernel))
        if known is None or launch.dynamic_shared > known.dynamic_shared:
            found[launch.build, launch.kernel] = launch
    return list(found.values())

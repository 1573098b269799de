"""The cases of a job, from the judge's cases.py run in the sandbox, and what the head changed about the judge."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from kernels.spec import Buffer, Case, Device, SpecError, plain, read
from runners import lfs
from runners.answers import Fault, Listed
from runners.child import Room, ask
from runners.protocol import Enumeration, Job, Side
from runners.rows import Row
from runners.sandbox import Limits
from runners.trees import Trees, changed, folder_digest, inside, kernels_of

LIMITS = Limits(seconds=60, cpu_seconds=60, memory_bytes=2 << 30, processes=64, file_bytes=1 << 20, output_bytes=64 << 20)


class JudgeBroken(Exception):
    """The judge's own cases can't be had; nobody's kernel is to blame. `file` and `line` say where."""

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.file, self.line = file, line


@dataclass(frozen=True)
class Listing:
    """One kernel folder's cases on one side, and the files that decide them."""

    cases: tuple[Case, ...] = ()
    drawn: tuple[Case, ...] = ()
    buffers: Mapping[str, tuple[Buffer, ...]] = field(default_factory=dict)
    judge: tuple[str, ...] = ("cases.py", "reference.py")


@dataclass(frozen=True)
class Enumerator:
    """Reads the listings of a job's sides."""

    job: Job
    trees: Trees
    device: Device
    room: Room

    def find(self) -> tuple[Enumeration, list[Row]]:
        """The enumeration to report, and a row for each comparison; raises JudgeBroken."""
        found = self._listings(self.trees.judge, self._kernels(self.trees.judge))
        judged = {name: self._sound(listing) for name, listing in found.items()}
        moved = [name for name in self._kernels(self.trees.head) if self._differs(name)]
        theirs = {name: listing for name, listing in self._listings(self.trees.head, moved).items() if isinstance(listing, Listing)}
        known = {case.id for listing in judged.values() for case in listing.cases}
        kept = {name: theirs.get(name, judged.get(name)) for name in self._kernels(self.trees.head)}
        now = {case.id for listing in kept.values() if listing for case in listing.cases}
        added = [case for listing in theirs.values() for case in listing.cases if case.id not in known]
        cases = [case for name, listing in judged.items() for case in listing.cases if self._selected(name, case)]
        moved_judge = tuple(self._changed_judge(judged))
        enumeration = Enumeration(
            tuple(cases),
            new=tuple(case.id for case in added),
            removed=tuple(case.id for case in cases if case.id not in now),
            changed_judge=moved_judge,
            judge_hash=self._judge_hash(moved_judge),
        )
        return enumeration, list(self._rows(judged, theirs, enumeration))

    def _rows(self, judged: Mapping[str, Listing], theirs: Mapping[str, Listing], enumeration: Enumeration) -> Iterator[Row]:
        """Removed cases have no row: head no longer promises them. Nor has what a further round of the run leaves out."""
        here, index = set(self._kernels(self.trees.head)), 0
        added, removed = set(enumeration.new), set(enumeration.removed)
        for name, listing in judged.items():
            if name not in here:
                continue
            wanted = [case for case in listing.cases if self._selected(name, case) and case.id not in removed and self._due(case)]
            for case, asked in product(wanted, self._sweep()):
                yield Row(index := index + 1, name, case, listing.buffers[case.id], asked)
            listed = {case.id for case in listing.cases}  # a drawn shape never takes the place of a case that has to be timed
            for case in (case for case in listing.drawn if wanted and case.id not in listed):
                yield Row(index := index + 1, name, case, listing.buffers[case.id], held_out=True)
        for name, listing in theirs.items():
            for case in listing.cases:
                if case.id in added and self._selected(name, case) and self._due(case):
                    yield Row(index := index + 1, name, case, listing.buffers[case.id], held_out=True, judge=Side.HEAD)

    def _sweep(self) -> list[dict[str, str]]:
        sweep = self.job.selection.sweep
        return [dict(zip(sweep, values, strict=True)) for values in product(*sweep.values())]

    def _kernels(self, checkout: Path) -> tuple[str, ...]:
        return kernels_of(checkout, self.job.suite)

    def _differs(self, name: str) -> bool:
        one, other = (inside(tree, self.job.suite) / name for tree in (self.trees.judge, self.trees.head))
        return not one.is_dir() or folder_digest(one) != folder_digest(other)

    def _selected(self, folder: str, case: Case) -> bool:
        chosen = self.job.selection
        by_kernel = not chosen.kernels or folder in chosen.kernels or case.kernel in chosen.kernels
        return by_kernel and (not chosen.models or case.model in chosen.models)

    def _due(self, case: Case) -> bool:
        return not self.job.only or case.id in self.job.only

    def _judge_hash(self, paths: Sequence[str]) -> str:
        """Of what these judge files hold in head and at the base branch's tip."""
        places = [(path, inside(tree, path)) for path in paths for tree in (self.trees.head, self.trees.tip) if tree is not None]
        held = [(path, hashlib.sha256(place.read_bytes()).hexdigest() if place.is_file() else "") for path, place in places]
        return hashlib.sha256(repr(held).encode()).hexdigest() if held else ""

    def _changed_judge(self, judged: Mapping[str, Listing]) -> Iterator[str]:
        """Judge files that head changes or brings along, and those that the base branch has changed since the merge-base."""
        files = {name: Listing().judge for name in self._kernels(self.trees.head)}
        files |= {name: listing.judge for name, listing in judged.items()}
        moved = [(name, file) for name in files for file in self._moved(name, files[name], self.trees.head)]
        if self.trees.tip is not None:
            moved += [(name, file) for name in judged for file in self._moved(name, files[name], self.trees.tip)]
        yield from (f"{self.job.suite}/{name}/{file}" for name, file in dict.fromkeys(moved))

    def _moved(self, name: str, files: Sequence[str], other: Path) -> list[str]:
        mine, theirs = (inside(tree, self.job.suite) / name for tree in (self.trees.judge, other))
        return changed(mine, theirs, files)

    def _sound(self, listing: Listing | JudgeBroken) -> Listing:
        if isinstance(listing, JudgeBroken):
            raise listing
        return listing

    def _listings(self, checkout: Path, names: Sequence[str]) -> dict[str, Listing | JudgeBroken]:
        if not names:
            return {}
        suite, tier = inside(checkout, self.job.suite), self.job.selection.tier
        tier = "smoke" if self.device.target == "host" and tier == "gate" else tier
        request = {"suite": "/suite", "folders": names, "tier": tier, "seed": secrets.randbits(32), "device": plain(self.device)}
        reply = ask("enumerate", request, self.room, read={f"/suite/{name}": suite / name for name in names}, limits=LIMITS)
        answers = {line["folder"]: line for line in reply.lines if line.get("folder") in names}
        silent = {"error": reply.trouble or "no answer"}
        return {name: self._listing(suite / name, answers.get(name, silent)) for name in names}

    def _listing(self, folder: Path, answer: Mapping[str, Any]) -> Listing | JudgeBroken:
        shown = f"{self.job.suite}/{folder.name}/cases.py"
        try:
            if "error" in answer:
                return self._fault(shown, read(Fault, dict(answer)), folder)
            found = read(Listed, dict(answer))
        except SpecError as error:
            return JudgeBroken(f"{shown}: {error}", shown)
        if len({case.id for case in found.cases}) < len(found.cases):
            return JudgeBroken(f"{shown}: two cases have one id", shown)
        if lost := next((case.id for case in (*found.cases, *found.drawn) if case.id not in found.buffers), ""):
            return JudgeBroken(f"{shown}: {lost} has no buffers", shown)
        return Listing(found.cases, found.drawn, found.buffers, found.judge or Listing().judge)

    def _fault(self, shown: str, fault: Fault, folder: Path) -> JudgeBroken:
        where = f"{self.job.suite}/{folder.name}"
        shown = f"{self.job.suite}/{fault.file}" if fault.file else shown
        said = lfs.explained(f"{shown}: {fault.where} {fault.error}".replace(":  ", ": "), folder, where)
        return JudgeBroken(said[:1000], shown, fault.line)

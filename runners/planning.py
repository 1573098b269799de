"""Plans of one side: its plan.py asked twice in the sandbox, with unlike hash seeds, and checked before anything is launched."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernels.plan_rules import build_faults, violations
from kernels.spec import OPTIONS, Buffer, Build, Case, Device, Plan, SpecError, plain, read
from runners import lfs
from runners.answers import Draft, Fault
from runners.child import Reply, Room, ask
from runners.children.channel import not_json
from runners.protocol import Failure, FailureKind, Side
from runners.sandbox import Limits
from runners.toolchains import CodeObject

LIMITS = Limits(seconds=30, cpu_seconds=20, memory_bytes=1 << 30, processes=16, file_bytes=1 << 20, output_bytes=16 << 20)
HASH_SEEDS = ("1", "2")
PARTS = frozenset({"schema", "tunables", "builds", "scratch", "tables", "launches"})
WIDTHS = {"buffer": 8, "scratch": 8, "table": 8, "i64": 8, "i32": 4, "f32": 4}


@dataclass(frozen=True)
class Wanted:
    """One plan asked for: a case, the tunables somebody named, the case's buffers."""

    case: Case
    tunables: Mapping[str, str] = field(default_factory=dict)
    buffers: tuple[Buffer, ...] = ()


@dataclass(frozen=True)
class Planner:
    """Asks the plan.py of one kernel folder of one side."""

    side: Side
    folder: Path
    shown: str
    device: Device
    room: Room
    flags: tuple[str, ...] = ()

    def drafts(self, wanted: Sequence[Wanted]) -> list[Draft | Failure]:
        """Tunables and builds of each wanted plan."""
        asked = [{"case": plain(w.case), "tunables": dict(w.tunables)} for w in wanted]
        return [self._draft(answer) for answer in self._twice(asked)]

    def plans(self, wanted: Sequence[Wanted], drafts: Sequence[Draft], code: Sequence[Mapping[str, CodeObject]]) -> list[Plan | Failure]:
        """The whole plans, once the code objects say what each kernel takes."""
        asked = [
            {"case": plain(w.case), "tunables": d.chosen, "resources": _resources(d, c)}
            for w, d, c in zip(wanted, drafts, code, strict=True)
        ]
        answers = self._twice(asked)
        return [self._plan(*parts) for parts in zip(answers, wanted, drafts, code, strict=True)]

    def _twice(self, asked: Sequence[dict[str, Any]]) -> list[dict[str, Any] | Failure]:
        if not asked:
            return []
        with ThreadPoolExecutor(len(HASH_SEEDS)) as pool:
            first, second = pool.map(lambda seed: self._ask(asked, seed), HASH_SEEDS)
        return [self._agreed(*pair) for pair in zip(first, second, strict=True)]

    def _ask(self, asked: Sequence[dict[str, Any]], seed: str) -> list[dict[str, Any]]:
        inside = f"/suite/{self.folder.name}"
        request = {"folder": inside, "device": plain(self.device), "wanted": asked}
        reply = ask("plan", request, self.room, read={inside: self.folder}, env={"PYTHONHASHSEED": seed}, limits=LIMITS)
        return _by_index(reply, len(asked))

    def _agreed(self, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any] | Failure:
        try:
            if "error" in first:
                fault = read(Fault, first)
                return self._failure(fault.error, fault.where, fault.file, fault.line)
        except SpecError as error:
            return self._failure(f"its process gave a malformed answer: {error}", "")
        if first != second:
            return self._failure("two runs with different hash seeds gave different plans", "")
        bad = not_json(first)
        return self._failure(bad[1], bad[0]) if bad else first

    def _draft(self, answer: dict[str, Any] | Failure) -> Draft | Failure:
        if isinstance(answer, Failure):
            return answer
        try:
            draft = read(Draft, {**answer, "builds": _builds(answer.get("builds"))})
            return replace(draft, builds={name: _sound(name, flagged(build, self.flags)) for name, build in draft.builds.items()})
        except SpecError as error:
            return self._failure(error.problem, error.where)

    def _plan(self, answer: dict[str, Any] | Failure, wanted: Wanted, draft: Draft, code: Mapping[str, CodeObject]) -> Plan | Failure:
        if isinstance(answer, Failure):
            return answer
        try:
            plan = assemble(draft, answer.get("launches"))
            faults = [*violations(plan, wanted.buffers, self.device), *_parameter_faults(plan, code)]
            if faults:
                raise faults[0]
        except SpecError as error:
            return self._failure(error.problem, error.where)
        return plan

    def _failure(self, problem: str, where: str, file: str = "", line: int = 0) -> Failure:
        shown = f"{Path(self.shown).parent}/{file}" if file else f"{self.shown}/plan.py"
        place = f"{shown}: {where}: " if where else f"{shown}: "
        said = lfs.explained(f"{place}{problem}", self.folder, self.shown)
        return Failure(FailureKind.BUILD_FAILED, said[:1000], self.side, file=shown, line=line)


def assemble(draft: Draft, launches: object) -> Plan:
    """The canonical plan from both halves of a plan.py's answer."""
    if not isinstance(launches, dict):
        raise SpecError("launches", "launches() returned no object")
    parts = {key: value for key, value in launches.items() if key not in ("schema", "tunables", "builds")}
    plan = read(Plan, {"schema": 1, "tunables": draft.chosen, "builds": {}, **parts})
    return replace(plan, builds=draft.builds)


def flagged(build: Build, flags: Sequence[str]) -> Build:
    """A build with the compiler flags of a command on top; flags outside the allow-list are refused."""
    options, defines = list(build.options), dict(build.defines)
    for flag in flags:
        if flag.startswith("-DKG_"):
            name, _, value = flag.removeprefix("-D").partition("=")
            defines[name] = int(value) if re.fullmatch(r"-?\d{1,18}", value, re.ASCII) else value
            continue
        option = flag[2:] if flag.startswith("-f") else flag[1:]
        if option not in OPTIONS:
            raise SpecError("flags", f"{flag!r} is not allowed")
        options = [kept for kept in options if _family(kept) != _family(option)] + [option]
    return replace(build, options=tuple(options), defines=defines)


def _family(option: str) -> str:
    return "O" if option.startswith("O") else option.partition("=")[0]


def _sound(name: str, build: Build) -> Build:
    """`build`, if its options are allowed and its source can be the name of a file: no system call takes others."""
    if not build.source.isprintable() or len(build.source.encode()) > 200:
        raise SpecError(f"builds.{name}.source", "is no file's name")
    if faults := build_faults(f"builds.{name}", build):
        raise faults[0]
    return build


def _builds(answer: object) -> object:
    """builds() may give the mapping of builds, or a part of the plan that holds it."""
    if isinstance(answer, dict) and set(answer) <= PARTS and "builds" in answer:
        return answer["builds"]
    return answer


def _resources(draft: Draft, code: Mapping[str, CodeObject]) -> dict[str, dict[str, dict[str, int]]]:
    def one(name: str, kernel: Any) -> dict[str, int]:
        block = draft.builds[name].block
        return {
            "registers": kernel.registers,
            "static_shared": kernel.static_shared,
            "local_bytes": kernel.local_bytes,
            "max_block": block,
        }

    return {name: {kernel.name: one(name, kernel) for kernel in built.kernels} for name, built in code.items()}


def _parameter_faults(plan: Plan, code: Mapping[str, CodeObject]) -> list[SpecError]:
    """Launches whose kernel the code object lacks, or whose arguments it takes in other sizes."""
    found = []
    for index, launch in enumerate(plan.launches):
        sizes = code[launch.build].parameter_bytes if launch.build in code else {}
        if launch.build in code and launch.kernel not in sizes:
            found.append(SpecError(f"launches.{index}.kernel", f"{launch.kernel!r} is not in build {launch.build!r}: {sorted(sizes)}"))
        elif launch.kernel in sizes:
            given = tuple(next((WIDTHS[key] for key in WIDTHS if getattr(arg, key) is not None), 0) for arg in launch.args)
            if given != sizes[launch.kernel]:
                found.append(SpecError(f"launches.{index}.args", f"sizes {list(given)}, but the kernel takes {list(sizes[launch.kernel])}"))
    return found


def _by_index(reply: Reply, count: int) -> list[dict[str, Any]]:
    """One answer per question; where the child ended early, the rest is its trouble."""
    answers: list[dict[str, Any]] = [{"error": reply.trouble or "no answer"} for _ in range(count)]
    for line in reply.lines:
        if line.get("index") is None and "error" in line:
            return [line] * count
        index = line.get("index")
        if isinstance(index, int) and 0 <= index < count:
            answers[index] = line
    return answers


def canonical(value: object) -> str:
    """The spelling of plain data that is compared."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))

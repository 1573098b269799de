"""What control side and node say to each other: Job, Measurement, Failure; version 1.

Version 1: first. `dump` and `load` lie side by side; programs' unknown keys are tolerated on reading.
Times are microseconds, sizes bytes, SHAs 40 hex digits. Nothing here does I/O.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from kernels.spec import Case

PROTOCOL = 1
TOLERANT = ConfigDict(extra="ignore")
T = TypeVar("T")


class ProtocolError(ValueError):
    """A message that does not fit this protocol version; names the key."""


class Side(StrEnum):
    BASE = "base"
    HEAD = "head"


class Mode(StrEnum):
    ACCURACY = "accuracy"
    PERFORMANCE = "performance"


class FailureKind(StrEnum):
    BUILD_FAILED = "build_failed"
    INCORRECT = "incorrect"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    INFRASTRUCTURE = "infrastructure"


class Stage(StrEnum):
    SCREEN = "screen"
    CONFIRM = "confirm"


class Phase(StrEnum):
    FETCH = "fetch"
    ENUMERATE = "enumerate"
    BUILD = "build"
    ACCURACY = "accuracy"
    RACES = "races"
    TIMING = "timing"
    STATIC = "static"
    DONE = "done"


@dataclass(frozen=True, config=TOLERANT)
class Selection:
    """What of the suite a job runs; an empty tuple means all."""

    models: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = (Mode.ACCURACY, Mode.PERFORMANCE)
    sweep: dict[str, tuple[str, ...]] = field(default_factory=dict)
    head_flags: tuple[str, ...] = ()
    base_flags: tuple[str, ...] = ()
    tier: Literal["smoke", "gate", "full"] = "gate"


@dataclass(frozen=True, config=TOLERANT)
class Job:
    """One pool's share of a run. `judge` is the merge-base, whose cases.py and reference.py decide; `tip` the base branch's, "" the same.

    `alpha_share` is the job's part of the run's confirmation level: one over the number of timed pools. `only` names the cases
    that are measured, () for all that are selected.
    """

    schema: Literal[1]
    id: str
    run: str
    attempt: str
    repository: str
    clone_url: str
    base: str
    head: str
    judge: str
    pool: str
    selection: Selection
    budget_seconds: float
    floor: float
    harm: float
    suite: str = "kernels"
    trusted: bool = True
    static: bool = False
    alpha_share: float = 1.0
    tip: str = ""
    only: tuple[str, ...] = ()


@dataclass(frozen=True, config=TOLERANT)
class Failure:
    """Why a side has no good result; `file` and `line` point into the repository where known."""

    kind: FailureKind
    message: str
    side: Side | None = None
    log: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, config=TOLERANT)
class KernelResources:
    """One kernel of one code object as the compiler left it, with our own occupancy arithmetic.

    `allocated_registers` are those a wave takes from the file where that is more than it uses, else 0. `compiler_waves`
    is clang's own occupancy without dynamic shared memory (0: none given). `instructions` counts the listing by kind.
    """

    name: str
    registers: int = 0
    static_shared: int = 0
    dynamic_shared: int = 0
    spill_bytes: int = 0
    local_bytes: int = 0
    blocks_per_unit: int = 0
    waves_per_simd: int = 0
    limiter: str = ""
    code_bytes: int = 0
    max_block: int = 0
    allocated_registers: int = 0
    compiler_waves: int = 0
    instructions: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, config=TOLERANT)
class BuildRecord:
    ok: bool
    hash: str = ""
    seconds: float = 0.0
    log: str = ""
    kernels: tuple[KernelResources, ...] = ()


@dataclass(frozen=True, config=TOLERANT)
class Accuracy:
    """Error of one side against the fp64 reference, worst over its outputs; `ok` needs `rel_l2 <= limit`."""

    rel_l2: float | None
    nmse: float | None
    max_abs: float | None
    cosine: float | None
    nan: int
    inf: int
    unwritten: int
    limit: float
    ok: bool
    elements: int = 0
    outside: int = 0
    reason: str = ""


@dataclass(frozen=True, config=TOLERANT)
class Session:
    """Quads taken in one fresh process: µs in launch order, `order` 0 for A B B A and 1 for B A A B (A base)."""

    stage: Stage
    quads: tuple[tuple[float, float, float, float], ...]
    order: tuple[int, ...]
    launches_per_batch: int = 1
    loaded_first: Side = Side.BASE
    disturbed: str = ""
    telemetry: dict[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, config=TOLERANT)
class Control:
    """Equal code on both sides, measured as a comparison is: `identical` code of the run, else base against base.

    `trouble` says why it has no sessions.
    """

    case: str
    identical: bool
    sessions: tuple[Session, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, config=TOLERANT)
class Race:
    """A finding of the emulator's race check."""

    file: str
    line: int
    message: str


class Access(StrEnum):
    """What a source line can do that the emulator counts."""

    SHARED_LOAD = "shared load"
    SHARED_STORE = "shared store"
    GLOBAL_LOAD = "global load"
    GLOBAL_STORE = "global store"
    BARRIER = "barrier"
    WARP_BARRIER = "warp barrier"
    SHUFFLE = "shuffle"


BANK_MODELS = ("nvidia", "gfx906", "rdna")
Amount = Annotated[int, Field(ge=0, lt=2**63)]
PerModel = tuple[Amount, Amount, Amount]


@dataclass(frozen=True, config=TOLERANT)
class Count:
    """What one source line did in the blocks the emulator counts.

    `times`: accesses of a warp of 32 lanes, or barriers of a block. Per bank model, `lost` cycles went to conflicts and
    the worst access took `ways` cycles. `sectors` of 32 bytes of global memory, the worst access's in `worst_sectors`.
    """

    file: Annotated[str, Field(max_length=300)]
    line: Annotated[int, Field(ge=0, le=10**7)]
    access: Access
    times: Amount
    sectors: Amount = 0
    worst_sectors: Amount = 0
    lost: PerModel = (0, 0, 0)
    ways: PerModel = (0, 0, 0)

    def plus(self, other: Count) -> Count:
        """Both together, at this one's place: sums, and the worst of the two."""
        (a, b, c), (d, e, f), (u, v, w), (x, y, z) = self.lost, other.lost, self.ways, other.ways
        sums = (self.times + other.times, self.sectors + other.sectors, max(self.worst_sectors, other.worst_sectors))
        return Count(self.file, self.line, self.access, *sums, (a + d, b + e, c + f), (max(u, x), max(v, y), max(w, z)))


@dataclass(frozen=True, config=TOLERANT)
class CountPair:
    """One line's count on both sides; None where a side has no such line or it did nothing there."""

    base: Count | None = None
    head: Count | None = None


@dataclass(frozen=True, config=TOLERANT)
class SourceCounts:
    """A measurement's `counts["source"]`: both sides under one compiler, on equal inputs."""

    compiler: str
    lines: tuple[CountPair, ...]


@dataclass(frozen=True, config=TOLERANT)
class Builds:
    base: BuildRecord | None = None
    head: BuildRecord | None = None


@dataclass(frozen=True, config=TOLERANT)
class Accuracies:
    base: Accuracy | None = None
    head: Accuracy | None = None


@dataclass(frozen=True, config=TOLERANT)
class Measurement:
    """All a node found of one comparison. It states facts; the verdict is the control side's."""

    case: Case
    tunables: dict[str, int | str] = field(default_factory=dict)
    identical: bool = False
    held_out: bool = False
    build: Builds = field(default_factory=Builds)
    accuracy: Accuracies = field(default_factory=Accuracies)
    failures: tuple[Failure, ...] = ()
    races: tuple[Race, ...] = ()
    sessions: tuple[Session, ...] = ()
    gpu_seconds: float = 0.0
    not_measured: str = ""
    counts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, config=TOLERANT)
class StaticEntry:
    """Resources of one kernel on one target for one side; `log` says why it did not compile.

    `block` threads are launched; `declared` blocks per unit are what its build promises; `seconds` is the compiler's time.
    """

    target: str
    kernel: str
    row: str
    side: Side
    ok: bool
    toolchain: str = ""
    resources: KernelResources | None = None
    hash: str = ""
    log: str = ""
    infeasible: str = ""
    seconds: float = 0.0
    block: int = 0
    declared: int = 0


@dataclass(frozen=True, config=TOLERANT)
class NodeInfo:
    name: str
    device: str
    target: str
    backend: str
    driver: str
    toolchain: str
    harness: str


@dataclass(frozen=True, config=TOLERANT)
class Enumeration:
    """The job's cases before any result, from the judge's cases.py; later gaps are `removed` cases.

    `judge_hash` is of what the changed judge files hold now, "" where none changed.
    """

    cases: tuple[Case, ...]
    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed_judge: tuple[str, ...] = ()
    judge_hash: str = ""


@dataclass(frozen=True, config=TOLERANT)
class Roofline:
    """What loops of ours reached on a device: FMAs in FLOP/s (`f16`: packed halves; 0 where not measured), memory in bytes/s.

    `read` and `copy` (both ways counted) are of memory, `cached` of reads from the cache that all units share. `measured` is a date.
    """

    f32: float
    f16: float
    read: float
    copy: float
    cached: float
    driver: str = ""
    measured: str = ""


class Ending(StrEnum):
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, config=TOLERANT)
class Outcome:
    """How an attempt ended. `failure` is set for trouble that is nobody's kernel (fetch, sandbox, compiler)."""

    ending: Ending
    node: NodeInfo | None = None
    failure: Failure | None = None
    static: tuple[StaticEntry, ...] = ()
    gpu_seconds: float = 0.0
    controls: tuple[Control, ...] = ()
    roofline: Roofline | None = None


def dump(value: object) -> bytes:
    """The JSON of a value of this module."""
    return TypeAdapter(type(value)).dump_json(value)


def load(kind: type[T], data: bytes | str) -> T:
    """A `kind` from its JSON; ProtocolError names the first key that does not fit."""
    try:
        return TypeAdapter(kind).validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise ProtocolError(f"{kind.__name__}.{'.'.join(map(str, first['loc']))}: {first['msg']}") from error

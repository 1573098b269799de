"""The Run: everything known of one run, as a value. Text is made from it and never read back (contracts §4)."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from bot.core.enums import CaseVerdict, RunVerdict, StaticVerdict
from bot.core.remarks import Remark
from runners.protocol import Accuracies, Builds, Failure, Race, Roofline

TOLERANT = ConfigDict(extra="ignore")


@dataclass(frozen=True, config=TOLERANT)
class ControlReport:
    """Equal code on both sides (`identical` code of the run, else base against base): None where it was not measured.

    `fence`: how far from 1 the speedup of its first sessions may lie; `inside` is False if it left it there and again.
    """

    case: str
    identical: bool
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    fence: float | None = None
    inside: bool | None = None
    reason: str = ""


@dataclass(frozen=True, config=TOLERANT)
class NodeReport:
    name: str
    pool: str
    device: str
    target: str
    backend: str
    driver: str
    toolchain: str
    harness: str
    verdict: RunVerdict
    controls: tuple[ControlReport, ...] = ()
    roofline: Roofline | None = None


@dataclass(frozen=True, config=TOLERANT)
class SideTime:
    """Median µs per launch and every sample behind it; `cycles` are the median's at the SM clock seen, where one was."""

    median: float
    samples: tuple[float, ...] = ()
    cycles: float | None = None


@dataclass(frozen=True, config=TOLERANT)
class SideTimes:
    base: SideTime | None = None
    head: SideTime | None = None


@dataclass(frozen=True, config=TOLERANT)
class CaseReport:
    """One comparison with its verdict; speedup is base time over head time, interval its 95 % interval.

    `holds`: undecided, and a harmful slow-down is not ruled out; `slowdown_at_most` is the upper end of the 90 % interval
    (0.016 is 1.6 %). `discarded` counts disturbed sessions, `disturbances` says by what; `telemetry` is of each session in turn.
    `least_us` is what a launch takes at the node's measured roofline, None where that or the counts are missing.
    """

    id: str
    kernel: str
    model: str
    shape: dict[str, Any]
    dtype: str
    tunables: dict[str, int | str]
    pool: str
    verdict: CaseVerdict
    reason: str = ""
    role: str = ""
    flops: float = 0.0
    bytes: float = 0.0
    held_out: bool = False
    build: Builds = field(default_factory=Builds)
    accuracy: Accuracies = field(default_factory=Accuracies)
    time_us: SideTimes = field(default_factory=SideTimes)
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    sessions: int = 0
    quads: int = 0
    gpu_seconds: float = 0.0
    counts: dict[str, Any] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    races: tuple[Race, ...] = ()
    base_failed: bool = False
    holds: bool = False
    slowdown_at_most: float | None = None
    discarded: int = 0
    disturbances: tuple[str, ...] = ()
    telemetry: tuple[dict[str, float | str], ...] = ()
    remarks: tuple[Remark, ...] = ()
    least_us: float | None = None


@dataclass(frozen=True, config=TOLERANT)
class StaticReport:
    """Resources of one kernel and tuning row on one target, and how the head changed them (compiled, not run)."""

    target: str
    kernel: str
    row: str = ""
    toolchain: str = ""
    registers: int = 0
    static_shared: int = 0
    dynamic_shared: int = 0
    spill_bytes: int = 0
    local_bytes: int = 0
    blocks_per_unit: int = 0
    waves_per_simd: int = 0
    limiter: str = ""
    change: str = ""
    bad: bool = False
    log: str = ""
    verdict: StaticVerdict = StaticVerdict.OK
    seconds: float = 0.0
    code_bytes: int = 0
    instructions: dict[str, int] = field(default_factory=dict)
    compiler_waves: int = 0


@dataclass(frozen=True, config=TOLERANT)
class WaiverReport:
    """A maintainer's word that a finding is accepted, until an ISO time. `covers` is empty once the code has changed.

    `own`: the author's own, since nobody else may write.
    """

    scope: str
    reason: str
    by: str
    until: str
    own: bool = False
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, config=TOLERANT)
class Run:
    schema: Literal[1]
    verdict: RunVerdict
    reason: str
    repo: str
    base: str
    head: str
    command: str
    started: str
    seconds: float
    gate: bool
    nodes: tuple[NodeReport, ...] = ()
    cases: tuple[CaseReport, ...] = ()
    static: tuple[StaticReport, ...] = ()
    waived: tuple[str, ...] = ()
    changed_judge: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    waivers: tuple[WaiverReport, ...] = ()
    judge_hash: str = ""


def dump(run: Run) -> bytes:
    """The Run's JSON, indented, as written by --json."""
    return TypeAdapter(Run).dump_json(run, indent=1)


def load(data: bytes | str) -> Run:
    """A Run from its JSON; pydantic.ValidationError if it is none."""
    return TypeAdapter(Run).validate_json(data)

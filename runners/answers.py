"""What the children of a job answer, as types: read in one place, since each of them ran a repository's code before it spoke.

An answer that does not fit its type reads as a crash: only a process that was tampered with gives one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from kernels.spec import Buffer, Build, Case, Device, SpecError, read
from runners.protocol import TOLERANT, Count, Side
from runners.sampling import LONGEST

MOST_SETS = 64
MOST_COUNTS = 1024

Name = Annotated[str, Field(max_length=300)]
Line = Annotated[int, Field(ge=0, le=10**7)]
Tunable = bool | int | Annotated[str, Field(max_length=64)]
Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]  # µs or seconds
Rate = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]  # FLOP/s or bytes/s
Telemetry = Annotated[dict[Name, Amount | Name], Field(max_length=64)]
T = TypeVar("T", bound="Ended")


@dataclass(frozen=True, config=TOLERANT)
class Fault:
    """What a repository's Python raised, and where: `file` and `line` in the kernel's folder, `where` a key of what it returned."""

    error: str
    where: Name = ""
    file: Name = ""
    line: Line = 0


@dataclass(frozen=True, config=TOLERANT)
class Listed:
    """One kernel folder's cases, held-out cases and all their buffers, and the files of the folder that decide them."""

    cases: tuple[Case, ...]
    drawn: tuple[Case, ...]
    buffers: dict[str, tuple[Buffer, ...]]
    judge: tuple[Name, ...]


@dataclass(frozen=True, config=TOLERANT)
class Probed:
    """What a device is, what it is spoken to through, and the digest of its answer to a known question."""

    device: Device
    backend: Name
    driver: Name
    memory_bytes: Annotated[int, Field(ge=0, le=2**50)] = 0
    pageable: bool = False
    known: Name = ""


@dataclass(frozen=True, config=TOLERANT)
class Draft:
    """What is known before the compiler ran: chosen tunables, their legal values, the builds to make."""

    chosen: dict[Name, Tunable]
    legal: dict[Name, list[Tunable]]
    absent: Annotated[tuple[Name, ...], Field(max_length=32)]
    builds: dict[Name, Build]


@dataclass(frozen=True, config=TOLERANT)
class Ended:
    """Why an item has no more to tell than this: its process crashed or hung, it was not tried after others had hung, the machine
    had no memory for it (`starved`), or its plan's scratch is more than the device has (`too_large`)."""

    crashed: str = ""
    hung: str = ""
    skipped: str = ""
    starved: str = ""
    too_large: str = ""

    @property
    def trouble(self) -> str:
        return self.starved or self.too_large or self.crashed or self.hung or (self.skipped and f"not tried: {self.skipped}")


@dataclass(frozen=True, config=TOLERANT)
class Ran(Ended):
    """Two runs of one side: writes it may not do, and outputs in which the two differ."""

    offences: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    seconds: Amount = 0.0


@dataclass(frozen=True, config=TOLERANT)
class Referred(Ended):
    """A reference's run, with what its Python raised, or the limit where that was asked for."""

    error: str = ""
    file: Name = ""
    line: Line = 0
    limit: Amount | None = None

    @property
    def trouble(self) -> str:
        return self.error or super().trouble


@dataclass(frozen=True, config=TOLERANT)
class FoundRace:
    file: Name
    line: Line
    message: str


@dataclass(frozen=True, config=TOLERANT)
class Raced(Ended):
    """The race check's findings, None where it did not come to its end; counts, None where they are not complete."""

    races: tuple[FoundRace, ...] | None = None
    counts: Annotated[tuple[Count, ...], Field(max_length=MOST_COUNTS)] | None = None


@dataclass(frozen=True, config=TOLERANT)
class Checked(Ran):
    """One side's outputs of timed launches, on the inputs of one set."""

    side: Side = field(kw_only=True)
    set: Annotated[int, Field(ge=0, lt=MOST_SETS)] = field(kw_only=True)


@dataclass(frozen=True, config=TOLERANT)
class Timed(Ended):
    """One session: quads in µs, what was seen of the device meanwhile, and the outputs that were left to be checked."""

    quads: Annotated[tuple[tuple[Amount, Amount, Amount, Amount], ...], Field(max_length=LONGEST)] = ()
    order: Annotated[tuple[Literal[0, 1], ...], Field(max_length=LONGEST)] = ()
    launches: Annotated[int, Field(ge=1, le=10**9)] = 1
    telemetry: Telemetry = field(default_factory=dict)
    checks: tuple[Checked, ...] = ()
    gpu_seconds: Amount = 0.0


@dataclass(frozen=True, config=TOLERANT)
class Reached(Ended):
    """FLOP/s and bytes/s of the loops that make a roofline, and what was seen of the device meanwhile."""

    f32: Rate = 0.0
    f16: Rate = 0.0
    read: Rate = 0.0
    copy: Rate = 0.0
    cached: Rate = 0.0
    telemetry: Telemetry = field(default_factory=dict)


def answer_of(kind: type[T], said: Mapping[str, Any]) -> T:
    """`said` as a `kind`, or the crash that a malformed answer is."""
    try:
        return read(kind, dict(said))
    except SpecError as error:
        return kind(crashed=f"its process gave a malformed answer: {error}"[:500])

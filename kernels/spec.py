"""What a kernel folder and its harness say to each other: device, case, buffer, launch plan.

Plain JSON outside, frozen values inside. Reading is strict where people write (cases.py, plan.py):
an unknown key is refused with the place and the nearest legal key. Nothing here does I/O.
"""

from __future__ import annotations

import json
from dataclasses import field
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

STRICT = ConfigDict(extra="forbid")
FINITE = ConfigDict(extra="forbid", allow_inf_nan=False)  # JSON, as a case is sent in, has no other numbers
T = TypeVar("T")


class SpecError(ValueError):
    """A plan, case or buffer breaks its schema; `where` names the key, e.g. `launches.0.grid`."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}" if where else problem)
        self.where = where
        self.problem = problem


class Dtype(StrEnum):
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    I32 = "i32"
    I64 = "i64"
    PTR = "ptr"
    Q4_0 = "q4_0"

    @property
    def bytes(self) -> int:
        """Bytes of one storage unit; for q4_0 that is ggml's block of 32 weights."""
        return {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i64": 8, "ptr": 8, "q4_0": 18}[self.value]


class Role(StrEnum):
    IN = "in"
    CONST = "const"
    OUT = "out"
    INOUT = "inout"
    STRUCTURE = "structure"


class Tier(StrEnum):
    SMOKE = "smoke"
    GATE = "gate"
    FULL = "full"


class Unit(StrEnum):
    SM = "SM"
    CU = "CU"
    WGP = "WGP"
    CORE = "core"


@dataclass(frozen=True, config=STRICT)
class Device:
    """One card (or the host) as numbers; sizes in bytes, registers as 32-bit lanes-wide registers per SIMD."""

    name: str
    target: str
    wave: int
    unit: Unit
    units: int
    simds_per_unit: int
    waves_per_simd: int
    regs_per_simd: int
    reg_granule: int
    shared_per_unit: int
    shared_per_block: int
    shared_optin: int
    shared_granule: int
    shared_reserved_per_block: int
    blocks_per_unit: int
    grid_max: tuple[int, int, int]
    l2_bytes: int
    llc_bytes: int
    fast_fp16: bool
    dot2: bool
    async_copy: bool
    copy_bytes: int


@dataclass(frozen=True, config=STRICT)
class Distribution:
    """How the agent fills a buffer. `values` is for `structure` buffers only, whose content the plan may see.

    `block_mask`: normal of `scale`, but -inf in half of all 32 x 32 blocks and in every eighth row, both drawn.
    `outlier_row`: normal of `scale`, but one drawn row (last axis) of each leading index is `value` times that.
    """

    kind: Literal["normal", "uniform", "constant", "values", "unit_rows", "causal_mask", "block_mask", "outlier_row"]
    scale: float = 1.0
    low: float = -1.0
    high: float = 1.0
    value: float = 0.0
    values: tuple[int, ...] = ()


@dataclass(frozen=True, config=STRICT)
class Buffer:
    """A strided view (strides and offset in elements) into storage whose remaining elements hold `pad_fill`."""

    name: str
    role: Role
    dtype: Dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    offset: int = 0
    pad_fill: Literal["nan", "zero"] = "nan"
    distribution: Distribution = field(default_factory=lambda: Distribution(kind="normal"))

    @property
    def element_strides(self) -> tuple[int, ...]:
        """Strides in elements, row-major and contiguous when none were given."""
        if self.strides is not None:
            return self.strides
        steps: list[int] = []
        step = 1
        for size in reversed(self.shape):
            steps.append(step)
            step *= size
        return tuple(reversed(steps))

    @property
    def storage_elements(self) -> int:
        """Elements from the start of the storage to the last one of the view."""
        if any(size == 0 for size in self.shape):
            return self.offset
        reach = sum((size - 1) * step for size, step in zip(self.shape, self.element_strides, strict=True))
        return self.offset + reach + 1

    @property
    def storage_bytes(self) -> int:
        return self.storage_elements * self.dtype.bytes


@dataclass(frozen=True, config=FINITE)
class Case:
    """One kernel with one shape and dtype; `shape` holds the numbers its plan and reference read."""

    id: str
    kernel: str
    model: str
    role: str
    shape: dict[str, int | float | str | bool | list[int]]
    dtype: str
    tier: Tier
    nondeterministic: bool = False
    flops: float = 0.0
    bytes: float = 0.0
    cold: bool = False


@dataclass(frozen=True, config=STRICT)
class Build:
    """One set of defines over one source; `options` come from the allow-list of `OPTIONS`."""

    source: str
    block: int
    defines: dict[str, int | float | str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    blocks_per_unit: int = 1


@dataclass(frozen=True, config=STRICT)
class Scratch:
    bytes: int
    align: int = 256
    init: Literal["none", "zero"] = "none"


@dataclass(frozen=True, config=STRICT)
class Table:
    """Small read-only data the plan computed: numbers (`values`) or addresses into a buffer (`of`, `byte_offsets`)."""

    dtype: Dtype
    of: str | None = None
    byte_offsets: tuple[int, ...] = ()
    values: tuple[int, ...] = ()


@dataclass(frozen=True, config=STRICT)
class Arg:
    """One positional kernel argument; exactly one of the fields but `byte_offset` is set."""

    buffer: str | None = None
    scratch: str | None = None
    table: str | None = None
    byte_offset: int = 0
    i32: int | None = None
    i64: int | None = None
    f32: float | None = None


@dataclass(frozen=True, config=STRICT)
class Launch:
    build: str
    kernel: str
    grid: Annotated[tuple[int, ...], Field(min_length=3, max_length=3)]
    block: Annotated[tuple[int, ...], Field(min_length=3, max_length=3)]
    args: tuple[Arg, ...]
    dynamic_shared: int = 0
    phase: Literal["prepare", "run"] = "run"


@dataclass(frozen=True, config=STRICT)
class Plan:
    """builds(...) and launches(...) of a plan.py put together (contracts §2)."""

    schema: Literal[1]
    tunables: dict[str, int | str]
    builds: dict[str, Build]
    launches: tuple[Launch, ...]
    scratch: dict[str, Scratch] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)


@dataclass(frozen=True, config=STRICT)
class Resources:
    """What the code object that will run says of one kernel; handed to `launches`."""

    registers: int
    static_shared: int
    local_bytes: int
    max_block: int


OPTIONS = frozenset({"fast-math", "fp-contract=fast", "fp-contract=off", "fp-contract=on", "O1", "O2", "O3"})


def read(kind: type[T], value: object, where: str = "") -> T:
    """A frozen `kind` from plain JSON data; SpecError names the first offending key."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join([where, *map(str, first["loc"])]) if where else ".".join(map(str, first["loc"]))
        raise SpecError(path, first["msg"]) from error


def plain(value: object) -> Any:
    """The JSON data of a frozen value of this module."""
    return TypeAdapter(type(value)).dump_python(value, mode="json")


def canonical_json(value: object) -> str:
    """The one spelling of a value that is hashed: sorted keys, no blanks, defaults written out."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)

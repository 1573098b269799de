"""What a host code object says of itself, appended behind the library as JSON, so that one file is the whole object."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MAGIC = b"kernelgate-host-1"
TAIL = len(MAGIC) + 8
MAX_BYTES = 4 << 20


class NotAHostObject(ValueError):
    """The file is no library that the host toolchain wrote."""


@dataclass(frozen=True)
class Parameter:
    bytes: int
    is_float: bool


@dataclass(frozen=True)
class Variable:
    """A variable at `offset` from the runtime's anchor."""

    name: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class Kernel:
    name: str
    parameters: tuple[Parameter, ...]
    shared: tuple[Variable, ...]

    @property
    def static_shared(self) -> int:
        return sum(variable.bytes for variable in self.shared)


@dataclass(frozen=True)
class Description:
    """`anchor` is the address of the runtime's anchor in the file: line numbers are looked up from it.

    `kept` are the device's globals: as on a GPU they start as declared and then keep what is written to them.
    """

    anchor: int
    kernels: tuple[Kernel, ...]
    kept: tuple[Variable, ...] = ()


def append(library: bytes, description: Description) -> bytes:
    """The library with its description behind it; a loader reads no further than the ELF's own tables."""
    text = json.dumps(asdict(description), sort_keys=True, separators=(",", ":")).encode()
    return library + text + len(text).to_bytes(8, "little") + MAGIC


def read(path: Path) -> Description:
    """The description of a code object on disk."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - TAIL, 0))
        tail = file.read(TAIL)
        length = int.from_bytes(tail[:8], "little")
        if tail[8:] != MAGIC or length > min(MAX_BYTES, size - TAIL):
            raise NotAHostObject(f"{path.name} is no host code object")
        file.seek(size - TAIL - length)
        return _description(json.loads(file.read(length)))


def _description(data: dict[str, Any]) -> Description:
    return Description(int(data["anchor"]), tuple(_kernel(item) for item in data["kernels"]), _all(Variable, data["kept"]))


def _kernel(data: dict[str, Any]) -> Kernel:
    return Kernel(str(data["name"]), _all(Parameter, data["parameters"]), _all(Variable, data["shared"]))


def _all(kind: Any, items: Iterable[dict[str, Any]]) -> tuple[Any, ...]:
    return tuple(kind(**item) for item in items)

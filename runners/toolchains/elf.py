"""What a GPU code object says of its kernels: resources, parameters, and a hash of all that decides what a launch does.

The hash covers code, constants, callees and resources and leaves out names of files, dates and build ids, so equal
hashes on one toolchain mean that timing would compare a thing with itself. In doubt it takes in too much.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from runners.toolchains import ToolchainMissing


@dataclass(frozen=True)
class KernelFacts:
    """One kernel of one code object; sizes in bytes, registers per thread, parameters in order.

    `allocated` registers are those its descriptor asks for, where these are more than it uses; else 0.
    """

    name: str
    registers: int
    static_shared: int
    spill_bytes: int
    local_bytes: int
    code_bytes: int
    max_block: int
    parameters: tuple[int, ...]
    hash: str
    allocated: int = 0


class BadCodeObject(ToolchainMissing):
    """A file that a compiler wrote and we cannot read: our or the toolchain's fault, never the kernel's."""


def kernels(path: Path) -> tuple[KernelFacts, ...]:
    """The kernels of a cubin or an AMD code object, by name."""
    from runners.toolchains import amdhsa, cubin

    readers = {"EM_CUDA": cubin.facts, "EM_AMDGPU": amdhsa.facts}
    with path.open("rb") as file:
        try:
            image = ELFFile(file)
            reader = readers[image["e_machine"]]
            return tuple(sorted(reader(image), key=lambda kernel: kernel.name))
        except (ELFError, KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise BadCodeObject(f"{path.name} is no code object that can be read: {error!r}") from error


def digest(parts: Iterable[bytes | str | int]) -> str:
    """SHA-256 of the parts with their boundaries."""
    total = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()

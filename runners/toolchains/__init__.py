"""Source and build in, code object and resources out; one module per compiler, each run inside the sandbox.

Inside, the checkout is always /src and the output folder /out, whichever side is compiled, so equal
code gives equal bytes and no path of the machine enters a log.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kernels.spec import Build
from runners.protocol import KernelResources


@dataclass(frozen=True)
class CompileRequest:
    """Compile `build.source` of the kernel folder `folder` (relative to `checkout`) for one target."""

    checkout: Path
    folder: str
    build: Build
    target: str
    out: Path
    instrument: bool = False


@dataclass(frozen=True)
class CodeObject:
    """A compiled build. `hashes` maps kernel to the hash of its code, constants, callees and resources.

    `listing` is the compiler's text for people, where it gives one: AMD's assembly, NVIDIA's PTX.
    """

    path: Path
    toolchain: str
    seconds: float
    log: str
    kernels: tuple[KernelResources, ...]
    hashes: dict[str, str]
    parameter_bytes: dict[str, tuple[int, ...]]
    listing: Path | None = None


class CompileError(Exception):
    """The repository's source does not compile: `log` is the compiler's, with paths inside the checkout."""

    def __init__(self, message: str, log: str = "", file: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.log, self.file, self.line = log, file, line


class ToolchainMissing(Exception):
    """No compiler for the target on this machine; the message names the remedy. Never the PR's fault."""


class Toolchain(Protocol):
    def version(self) -> str:
        """Name and version, e.g. `g++ 12.2.0`; ToolchainMissing if there is none."""
        ...

    def compile(self, request: CompileRequest) -> CodeObject:
        """Raises CompileError, ToolchainMissing, or sandbox.SandboxError."""
        ...


def for_target(target: str) -> Toolchain:
    """The toolchain of `host`, `sm_…` or `gfx…`."""
    if target == "host":
        from runners.toolchains.host import HostToolchain

        return HostToolchain()
    if target.startswith("sm_"):
        from runners.toolchains.nvrtc import Nvrtc

        return Nvrtc(target)
    if target.startswith("gfx"):
        from runners.toolchains.amdgpu import AmdGpu

        return AmdGpu()
    raise ValueError(f"{target!r} is no target: use host, sm_NN or gfxNNN")

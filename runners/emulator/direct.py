"""A kernel on NumPy arrays in this process, without plan and sandboxed child: for kernels under one's own hands."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kernels.spec import Build
from runners.emulator.description import Parameter
from runners.emulator.library import Call, Library
from runners.host_device import launch_error
from runners.toolchains import CompileRequest
from runners.toolchains.host import HostToolchain


class Loaded:
    """A compiled kernel file; `launch` takes arrays and numbers in the order of the kernel's parameters."""

    def __init__(self, library: Library, folder: tempfile.TemporaryDirectory[str]) -> None:
        self.library = library
        self._folder = folder  # lines are looked up in the file, which must live as long

    def launch(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        *arguments: np.ndarray[Any, Any] | int | float,
        dynamic_shared: int = 0,
        wave: int = 32,
        seed: int = 0,
    ) -> None:
        """Run to the end; RuntimeError names the lines where threads wait for ever."""
        parameters = self.library.kernels[kernel].parameters
        packed = tuple(_packed(value, parameter) for value, parameter in zip(arguments, parameters, strict=True))
        call = Call(kernel, grid, block, packed, dynamic_shared, wave, seed)
        if stopped := self.library.launch(call):
            raise launch_error(self.library, call, stopped)


def load(
    source: Path, defines: dict[str, int | float | str], block: int, instrument: bool, toolchain: HostToolchain | None = None
) -> Loaded:
    """Compile in the sandbox, the file's folder standing for the checkout's kernel folder, and load the result here."""
    folder, made = source.resolve().parent, tempfile.TemporaryDirectory(prefix="kernelgate-direct-")
    request = CompileRequest(folder.parent, folder.name, Build(source.name, block, defines), "host", Path(made.name), instrument)
    return Loaded(Library((toolchain or HostToolchain()).compile(request).path), made)


def _packed(value: np.ndarray[Any, Any] | int | float, parameter: Parameter) -> bytes:
    if isinstance(value, np.ndarray):
        return int(value.ctypes.data).to_bytes(8, "little")
    if parameter.is_float:
        return struct.pack("<f" if parameter.bytes == 4 else "<d", value)
    return int(value).to_bytes(parameter.bytes, "little", signed=True)

"""From what a code object says to what the harness hands on: resources with our occupancy, hashes, parameter sizes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from kernels import devices, spec
from kernels.spec import Device
from runners.occupancy import occupancy
from runners.protocol import KernelResources
from runners.toolchains import CodeObject, CompileRequest, elf, listing
from runners.toolchains.elf import KernelFacts


def store(request: CompileRequest, made: Path) -> Path:
    """The made file under the output folder, named by all that went in: several builds share a folder."""
    key = elf.digest([request.folder, spec.canonical_json(request.build), request.target])
    request.out.mkdir(parents=True, exist_ok=True)
    path = request.out / f"{Path(request.build.source).stem}-{request.target}-{key[:16]}{made.suffix}"
    shutil.copyfile(made, path)
    return path


def code_object(
    request: CompileRequest,
    path: Path,
    toolchain: str,
    seconds: float,
    log: str,
    kernels: tuple[KernelFacts, ...],
    shown: Path | None = None,
) -> CodeObject:
    """The CodeObject of a compiled build; occupancy is that of the build's block without dynamic shared memory."""
    device = devices.by_target().get(request.target)
    text = shown.read_text(encoding="utf-8", errors="replace") if shown else ""
    return CodeObject(
        path=path,
        toolchain=toolchain,
        seconds=seconds,
        log=log,
        kernels=tuple(_counted(_resources(kernel, device, request.build.block), text, request.target) for kernel in kernels),
        hashes={kernel.name: kernel.hash for kernel in kernels},
        parameter_bytes={kernel.name: kernel.parameters for kernel in kernels},
        listing=shown,
    )


def with_occupancy(kernel: KernelResources, device: Device, block: int, dynamic_shared: int) -> KernelResources:
    """The kernel as one launch would run it: `block` threads and `dynamic_shared` bytes."""
    registers = max(kernel.registers, kernel.allocated_registers)
    found = occupancy(device, block, registers, kernel.static_shared, dynamic_shared)
    return replace(
        kernel,
        dynamic_shared=dynamic_shared,
        blocks_per_unit=found.blocks_per_unit,
        waves_per_simd=found.waves_per_simd,
        limiter=found.limiter.value,
    )


def _resources(kernel: KernelFacts, device: Device | None, block: int) -> KernelResources:
    plain = KernelResources(
        name=kernel.name,
        registers=kernel.registers,
        static_shared=kernel.static_shared,
        spill_bytes=kernel.spill_bytes,
        local_bytes=kernel.local_bytes,
        code_bytes=kernel.code_bytes,
        max_block=kernel.max_block,
        allocated_registers=kernel.allocated,
    )
    return with_occupancy(plain, device, block, 0) if device else plain


def _counted(kernel: KernelResources, text: str, target: str) -> KernelResources:
    """The kernel with what the compiler's listing says of it."""
    lines = listing.own(text, kernel.name)
    return replace(kernel, instructions=listing.mix(lines, target), compiler_waves=listing.compiler_waves(text, kernel.name))

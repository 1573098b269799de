"""Runs cases of a kernel folder on the emulator, without worker and judge around it: buffers in, outputs and errors out."""

from __future__ import annotations

import functools
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernels import check, storage
from kernels.catalog import load_folder
from kernels.plan_rules import violations
from kernels.spec import Arg, Buffer, Build, Device, Dtype, Launch, Plan, Role, Table, plain, read
from runners.emulator.library import Call, Library
from runners.host_device import HOST
from runners.toolchains import CompileRequest
from runners.toolchains.host import HostToolchain

REPOSITORY = Path(__file__).resolve().parents[2]
SUITE = REPOSITORY / "kernels"


@dataclass(frozen=True)
class Ran:
    """What a case left behind; `outputs` are the views, `errors` the worst over them against the fp64 reference."""

    outputs: dict[str, np.ndarray[Any, Any]]
    errors: check.Errors
    damaged: int
    buffers: tuple[Buffer, ...]
    storage: dict[str, storage.Bytes]


def buffers_of(folder: Path, case: Mapping[str, Any]) -> tuple[Buffer, ...]:
    return tuple(read(Buffer, buffer) for buffer in load_folder(folder).cases.buffers(case))


def chosen(folder: Path, case: Mapping[str, Any], device: Device, tunables: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults with `tunables` on top."""
    legal = load_folder(folder).plan.tunables(case, plain(device))
    return {name: tunables.get(name, values[0]) for name, values in legal.items()}


def resources(builds: Mapping[str, Build], kernels: Mapping[str, tuple[str, ...]], shared: Mapping[str, int]) -> dict[str, Any]:
    one = {"registers": 64, "local_bytes": 0}
    return {
        name: {k: one | {"static_shared": shared.get(k, 0), "max_block": build.block} for k in kernels[name]}
        for name, build in builds.items()
    }


def run(
    folder: Path,
    case: Mapping[str, Any],
    tunables: Mapping[str, Any] | None = None,
    device: Device = HOST,
    wave: int = 32,
    seed: int = 1,
    given: Mapping[str, storage.Bytes] | None = None,
) -> Ran:
    """One case with fresh inputs (or `given` ones) through plan, host compiler and emulator."""
    module, asked = load_folder(folder), chosen(folder, case, device, tunables or {})
    builds = read(dict[str, Build], _builds(module.plan.builds(case, plain(device), asked)))
    libraries = {name: library(folder, build_key(build)) for name, build in builds.items()}
    shared = {k.name: k.static_shared for lib in libraries.values() for k in lib.kernels.values()}
    known = resources(builds, {name: tuple(lib.kernels) for name, lib in libraries.items()}, shared)
    rest = {k: v for k, v in module.plan.launches(case, plain(device), asked, known).items() if k in ("scratch", "tables", "launches")}
    plan = read(Plan, {"schema": 1, "tunables": asked, "builds": {name: plain(build) for name, build in builds.items()}, **rest})
    buffers = buffers_of(folder, case)
    assert not violations(plan, buffers, device)
    drawn = storage.draw_all(buffers, seed) | dict(given or {})
    memory = {**drawn, **{name: storage.unset(scratch.bytes) for name, scratch in plan.scratch.items()}}
    memory |= {name: np.array(table.values, _TABLES[table.dtype]).view(np.uint8) for name, table in plan.tables.items() if not table.of}
    framed = {name: _framed(data) for name, data in memory.items()}
    framed |= {name: _framed(_addresses(table, framed)) for name, table in plan.tables.items() if table.of}
    for launch in plan.launches:
        stopped = libraries[launch.build].launch(_call(launch, framed, wave, seed))
        assert stopped is None, stopped
    after = {name: block[_BAND:-_BAND] for name, block in framed.items()}
    damaged = sum(storage.damage(block[:_BAND]) + storage.damage(block[-_BAND:]) for block in framed.values())
    damaged += sum(storage.misplaced_writes(buffer, drawn[buffer.name], after[buffer.name]) for buffer in buffers)
    outs = [buffer for buffer in buffers if buffer.role in (Role.OUT, Role.INOUT)]
    want = module.reference.reference(case, storage.views(buffers, drawn))
    errors = check.worst(check.measure(buffer, after[buffer.name], want[buffer.name]) for buffer in outs)
    return Ran({b.name: storage.view(b, after[b.name]).copy() for b in outs}, errors, damaged, buffers, after)


def limit(folder: Path, case: Mapping[str, Any], seeds: int = 4) -> float:
    module = load_folder(folder)
    return check.calibrate(case, buffers_of(folder, case), module.reference.plain, module.reference.reference, seeds)


def build_key(build: Build) -> tuple[Any, ...]:
    return (build.source, build.block, tuple(sorted(build.defines.items())), build.options, build.blocks_per_unit)


@functools.cache
def library(folder: Path, key: tuple[Any, ...], instrument: bool = False) -> Library:
    source, block, defines, options, blocks = key
    build = Build(source, block, dict(defines), options, blocks)
    out = Path(tempfile.mkdtemp(prefix="kernelgate-test-"))
    shown = folder.relative_to(folder.parents[1])
    made = HostToolchain().compile(CompileRequest(folder.parents[1], str(shown), build, "host", out, instrument))
    return Library(made.path)


_BAND = 4096
_TABLES = {Dtype.I32: "<i4", Dtype.I64: "<i8"}


def _builds(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = answer.get("builds", answer)
    return found


def _framed(data: storage.Bytes) -> storage.Bytes:
    """A copy at a 256-byte boundary between two guard bands."""
    room = np.empty(len(data) + 2 * _BAND + 256, np.uint8)
    start = -room.ctypes.data % 256
    block = room[start : start + len(data) + 2 * _BAND]
    block[:_BAND], block[_BAND:-_BAND], block[-_BAND:] = storage.guard(_BAND), data, storage.guard(_BAND)
    return block


def _addresses(table: Table, framed: Mapping[str, storage.Bytes]) -> storage.Bytes:
    start = framed[table.of or ""].ctypes.data + _BAND
    return np.array([start + offset for offset in table.byte_offsets], "<i8").view(np.uint8)


def _call(launch: Launch, framed: Mapping[str, storage.Bytes], wave: int, seed: int) -> Call:
    packed = tuple(_pack(arg, framed) for arg in launch.args)
    return Call(launch.kernel, launch.grid, launch.block, packed, launch.dynamic_shared, wave, seed)  # type: ignore[arg-type]


def _pack(arg: Arg, framed: Mapping[str, storage.Bytes]) -> bytes:
    if arg.i32 is not None:
        return struct.pack("<i", arg.i32)
    if arg.f32 is not None:
        return struct.pack("<f", arg.f32)
    if arg.i64 is not None:
        return struct.pack("<q", arg.i64)
    return struct.pack("<Q", framed[arg.buffer or arg.scratch or arg.table or ""].ctypes.data + _BAND + arg.byte_offset)

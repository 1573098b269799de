"""The rules a launch plan keeps beyond its schema: names that exist, blocks, grids and shared memory that the device allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels.spec import OPTIONS, Buffer, Build, Device, Launch, Plan, Role, SpecError


def violations(plan: Plan, buffers: Sequence[Buffer], device: Device) -> list[SpecError]:
    """Everything that would make launching `plan` on `device` wrong, each with its place."""
    names = {buffer.name: buffer for buffer in buffers}
    found = [e for key, build in plan.builds.items() for e in build_faults(f"builds.{key}", build)]
    for index, launch in enumerate(plan.launches):
        where = f"launches.{index}"
        found += _shape_faults(where, launch, plan, device)
        found += _argument_faults(where, launch, plan, names)
    if not any(launch.phase == "run" for launch in plan.launches):
        found.append(SpecError("launches", "no launch has the phase 'run'"))
    return found


def build_faults(where: str, build: Build) -> list[SpecError]:
    """Options that no toolchain is to be given."""
    bad = sorted(set(build.options) - OPTIONS)
    return [SpecError(f"{where}.options", f"{name!r} is not one of {sorted(OPTIONS)}") for name in bad]


def _shape_faults(where: str, launch: Launch, plan: Plan, device: Device) -> list[SpecError]:
    found = []
    if launch.build not in plan.builds:
        found.append(SpecError(f"{where}.build", f"no build is called {launch.build!r}"))
    elif launch.block[0] * launch.block[1] * launch.block[2] > plan.builds[launch.build].block:
        found.append(SpecError(f"{where}.block", f"{launch.block} is above the build's block {plan.builds[launch.build].block}"))
    for axis, (size, limit) in enumerate(zip(launch.grid, device.grid_max, strict=True)):
        if not 1 <= size <= limit:
            found.append(SpecError(f"{where}.grid.{axis}", f"{size} is outside 1 to {limit} of {device.name}"))
    if not 0 <= launch.dynamic_shared <= device.shared_optin:
        problem = f"{launch.dynamic_shared} is outside 0 to {device.shared_optin} of {device.name}"
        found.append(SpecError(f"{where}.dynamic_shared", problem))
    return found


def _argument_faults(where: str, launch: Launch, plan: Plan, buffers: Mapping[str, Buffer]) -> list[SpecError]:
    found = []
    known = {"buffer": buffers, "scratch": plan.scratch, "table": plan.tables}
    for index, arg in enumerate(launch.args):
        place = f"{where}.args.{index}"
        given = [k for k in ("buffer", "scratch", "table", "i32", "i64", "f32") if getattr(arg, k) is not None]
        if len(given) != 1:
            found.append(SpecError(place, f"needs exactly one of buffer, scratch, table, i32, i64, f32; has {given}"))
        elif given[0] in known and getattr(arg, given[0]) not in known[given[0]]:
            found.append(SpecError(place, f"no {given[0]} is called {getattr(arg, given[0])!r}"))
        elif launch.phase == "prepare" and given[0] == "buffer" and buffers[arg.buffer or ""].role not in (Role.CONST, Role.STRUCTURE):
            found.append(SpecError(place, f"a prepare launch may read const buffers only, not {arg.buffer!r}"))
    return found

"""Every kernel of the suite, every tuning row, every target: compiled, in registers, on the card as declared.

A row is one of the gate tier's builds with default tunables; what `set=` can ask for beyond is left to the kernels' own tests.
The user's cache is used, keyed by all that a compiler reads, so that the demo's test and this one compile each row once.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kernels import devices
from kernels.catalog import SUITE, kernel_names
from runners import static_gate
from runners.child import Room
from runners.occupancy import compiler_waves
from runners.protocol import Job, KernelResources, Selection, Side, StaticEntry
from runners.trees import Trees

PER_KERNEL = {"fa_tile": 30, "gemm": 4, "la_prefill": 4}  # rows at least; a kernel that is not named has one


@pytest.mark.parametrize("target", static_gate.TARGETS)
def test_every_row_compiles_and_keeps_its_promises(tmp_path: Path, target: str) -> None:
    entries = walk(tmp_path, target)
    for name in kernel_names():
        assert len({entry.row for entry in entries if entry.row.startswith(f"{name}/")}) >= PER_KERNEL.get(name, 1)
    wrong = [(entry.kernel, entry.row, fault) for entry in entries for fault in faults(entry)]
    assert not wrong, wrong[:5]


def walk(empty: Path, target: str) -> tuple[StaticEntry, ...]:
    job = Job(1, "j", "r", "1", "o/r", "", "0" * 40, "0" * 40, "0" * 40, "host", Selection(), 1.0, 0.1, 0.03)
    room = Room(threading.Event())
    return static_gate.entries(job, Trees(empty, SUITE.parent, SUITE.parent), room, [target], everything=True)


def faults(entry: StaticEntry) -> list[str]:
    """What one row breaks."""
    found, device = entry.resources, devices.for_target(entry.target)
    if not entry.ok or found is None:
        return [entry.log or "no resources"]
    checks = {
        entry.infeasible or "feasible": not entry.infeasible,
        "it spills": (found.spill_bytes, found.local_bytes) == (0, 0),
        "static shared memory": found.static_shared <= device.shared_per_block,
        "shared memory of a block": found.static_shared + found.dynamic_shared <= device.shared_optin,
        f"{found.blocks_per_unit} blocks resident, {entry.declared} declared": found.blocks_per_unit >= entry.declared,
        f"{entry.block} threads launched, {found.max_block} compiled for": 0 < entry.block <= found.max_block,
        "no instructions counted": found.instructions.get("total", 0) > 10 and found.instructions.get("global", 0) > 0,
        "no code, no seconds": found.code_bytes > 100 and entry.seconds > 0,
        f"clang counts {found.compiler_waves} waves": _agreed(entry),
    }
    return [fault for fault, holds in checks.items() if not holds]


def _agreed(entry: StaticEntry) -> bool:
    """Our arithmetic against clang's remark, which NVIDIA's compilers don't make and dynamic shared memory is no part of."""
    found = entry.resources
    if found is None or not entry.target.startswith("gfx") or found.dynamic_shared:
        return True
    registers = max(found.registers, found.allocated_registers)
    return found.compiler_waves == compiler_waves(devices.for_target(entry.target), entry.block, registers, found.static_shared)


def test_a_row_that_breaks_everything_is_seen() -> None:
    spilled = KernelResources("k", static_shared=70000, spill_bytes=4, max_block=64, blocks_per_unit=1, compiler_waves=3)
    entry = StaticEntry("gfx906", "k", "r", Side.HEAD, True, resources=spilled, infeasible="too large", block=128, declared=2)
    assert len(faults(entry)) == 9

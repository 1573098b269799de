"""How many blocks of a kernel are resident on one unit (SM, CU, WGP), and what limits them: arithmetic over descriptions.

Static and dynamic shared memory both count. On RDNA the unit is the WGP: four SIMDs, a pool of 128 KiB,
at most 64 KiB a block. The runtimes' own occupancy queries are not asked: several of them are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from kernels.spec import Device, Unit


class Limiter(StrEnum):
    REGISTERS = "registers"
    SHARED = "shared memory"
    WAVES = "waves"
    BLOCKS = "blocks"


@dataclass(frozen=True)
class Occupancy:
    """Whole blocks resident on one unit, the waves they put on the fullest SIMD, and the first resource to run out."""

    blocks_per_unit: int
    waves_per_simd: int
    limiter: Limiter


def occupancy(device: Device, block: int, registers: int, static_shared: int, dynamic_shared: int) -> Occupancy:
    """Residency of blocks of `block` threads whose threads use `registers` each; 0 blocks if one alone does not fit."""
    waves = _ceil_div(block, device.wave)
    limits = {
        Limiter.WAVES: device.simds_per_unit * device.waves_per_simd // waves,
        Limiter.REGISTERS: device.simds_per_unit * waves_by_registers(device, registers) // waves,
        Limiter.SHARED: blocks_by_shared(device, static_shared, dynamic_shared),
        Limiter.BLOCKS: _blocks_by_slots(device, waves),
    }
    limiter = min(limits, key=lambda name: limits[name])  # the first named wins a tie: waves, then registers
    blocks = limits[limiter]
    return Occupancy(blocks, _ceil_div(blocks * waves, device.simds_per_unit), limiter)


def waves_by_registers(device: Device, registers: int) -> int:
    """Waves one SIMD's register file holds, which is what compilers call occupancy."""
    granules = max(_ceil_div(registers, device.reg_granule), 1) * device.reg_granule
    return min(device.regs_per_simd // granules, device.waves_per_simd)


def compiler_waves(device: Device, block: int, registers: int, static_shared: int) -> int:
    """Occupancy in waves per SIMD as clang counts it: registers wave by wave, shared memory by blocks, its granule left out."""
    loose = replace(device, shared_granule=1)
    return min(waves_by_registers(device, registers), occupancy(loose, block, 1, static_shared, 0).waves_per_simd)


def blocks_by_shared(device: Device, static_shared: int, dynamic_shared: int) -> int:
    """Blocks whose shared memory fits a unit together; 0 where one block is over the limit of a block."""
    asked = static_shared + dynamic_shared
    if asked > device.shared_optin or static_shared > device.shared_per_block:
        return 0
    granule = max(device.shared_granule, 1)
    each = _ceil_div(asked + device.shared_reserved_per_block, granule) * granule
    return device.shared_per_unit // each if each else device.blocks_per_unit * device.waves_per_simd


def infeasible(device: Device, block: int, blocks_per_unit: int, static_shared: int, dynamic_shared: int) -> str:
    """Why a plan's declared residency can't be had whatever the compiler does; empty if it can."""
    asked = static_shared + dynamic_shared
    if asked > device.shared_optin or static_shared > device.shared_per_block:
        limit = device.shared_per_block if static_shared > device.shared_per_block else device.shared_optin
        return f"a block asks for {asked} B of shared memory, {device.name} allows {limit} B"
    fits = blocks_by_shared(device, static_shared, dynamic_shared)
    if fits < blocks_per_unit:
        pool = f"{device.shared_per_unit} B of shared memory per {device.unit}"
        return f"{blocks_per_unit} blocks of {asked} B are declared resident, {pool} hold {fits}"
    slots = min(device.simds_per_unit * device.waves_per_simd // _ceil_div(block, device.wave), device.blocks_per_unit)
    if slots < blocks_per_unit:
        return f"{blocks_per_unit} blocks of {block} threads are declared resident, one {device.unit} holds {slots}"
    return ""


def _blocks_by_slots(device: Device, waves: int) -> int:
    """AMD counts barrier slots, which a block of a single wave does not take."""
    if device.unit in (Unit.CU, Unit.WGP) and waves == 1:
        return device.simds_per_unit * device.waves_per_simd
    return device.blocks_per_unit


def _ceil_div(value: int, by: int) -> int:
    return -(-value // by)

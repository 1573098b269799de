"""How many blocks a card holds at once: arithmetic over its description and the compiled resources.

The runtimes are never asked: their occupancy queries answer 0 on some cards (RDNA2 under ROCm 7.1), and count shared
memory wrongly where two compute units are one WGP. Here a unit is what the description says: SM, CU or WGP.
"""

from __future__ import annotations

from math import ceil
from typing import Any

Json = dict[str, Any]

HOST_BLOCKS = 2  # the emulator runs one block after another; the second makes its lone queries split, as on a card


def resident_blocks(device: Json, threads: int, compiled: Json) -> int:
    """Blocks of `threads` on the whole card by registers, waves, shared memory and slots; at least one a unit."""
    if device["target"] == "host":
        return HOST_BLOCKS
    granule = device["reg_granule"]
    registers = max(granule, ceil(compiled["registers"] / granule) * granule)
    waves = min(device["waves_per_simd"], device["regs_per_simd"] // registers) * device["simds_per_unit"]
    by_shared = device["shared_per_unit"] // footprint(device, compiled["static_shared"])
    each = ceil(threads / device["wave"])
    return device["units"] * max(1, min(waves // each, by_shared, _slots(device, each)))


def declared(device: Json, wanted: int, shared: int) -> int:
    """The blocks per unit of a tuning row, or fewer where shared memory holds fewer: a launch bound must be true."""
    return max(1, min(wanted, device["shared_per_unit"] // footprint(device, shared)))


def _slots(device: Json, waves: int) -> int:
    """AMD counts barrier slots, which a block of a single wave does not take."""
    alone = device["unit"] in ("CU", "WGP") and waves == 1
    return int(device["waves_per_simd"] * device["simds_per_unit"] if alone else device["blocks_per_unit"])


def footprint(device: Json, shared: int) -> int:
    """Bytes of a unit's pool that a block of `shared` bytes takes."""
    granule = device["shared_granule"]
    return max(1, ceil((shared + device["shared_reserved_per_block"]) / granule) * granule)

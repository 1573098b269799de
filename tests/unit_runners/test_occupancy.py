"""Residency by our own arithmetic, against figures that compilers and upstream tables give."""

from __future__ import annotations

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kernels import devices
from kernels.spec import Device
from runners.occupancy import Limiter, blocks_by_shared, infeasible, occupancy, waves_by_registers

ALL = sorted(devices.by_target())


def device(target: str) -> Device:
    return devices.for_target(target)


@pytest.mark.parametrize(
    ("target", "registers", "waves"),
    [
        ("gfx906", 25, 9), ("gfx1030", 43, 16), ("gfx1151", 43, 16),
        ("gfx906", 47, 5), ("gfx1030", 58, 16), ("gfx1151", 90, 16),
        ("gfx906", 18, 10), ("gfx1030", 17, 16), ("gfx1151", 17, 16),
        ("gfx906", 24, 10), ("gfx1030", 105, 9), ("gfx1151", 105, 12), ("gfx1030", 96, 10), ("gfx1151", 78, 16),
    ],
)  # fmt: skip
def test_waves_by_registers_agree_with_the_compilers_remarks(target: str, registers: int, waves: int) -> None:
    assert waves_by_registers(device(target), registers) == waves


# (threads, declared blocks, bytes): head size and columns of attention tiles, one row per card's table
CELLS = [
    ("gfx906", 256, 2, 24576), ("gfx906", 256, 2, 29696), ("gfx906", 256, 2, 27136), ("gfx906", 512, 1, 63488),
    ("gfx1030", 128, 8, 12288), ("gfx1030", 256, 3, 43008), ("gfx1030", 256, 5, 26112), ("gfx1030", 256, 2, 63488),
    ("gfx1151", 128, 8, 12288), ("gfx1151", 256, 3, 43008), ("gfx1151", 256, 5, 26112), ("gfx1151", 256, 2, 63488),
    ("sm_61", 128, 3, 25088), ("sm_61", 256, 2, 33280), ("sm_61", 128, 3, 26880), ("sm_61", 256, 2, 47360),
    ("sm_61", 128, 3, 39424),
]  # fmt: skip


def test_exactly_one_attention_cell_cannot_be_resident() -> None:
    broken = {cell: why for cell in CELLS if (why := infeasible(device(cell[0]), cell[1], cell[2], cell[3], 0))}
    assert list(broken) == [("sm_61", 128, 3, 39424)]
    assert broken["sm_61", 128, 3, 39424] == ("3 blocks of 39424 B are declared resident, 98304 B of shared memory per SM hold 2")


def test_rdna_counts_the_pool_of_a_wgp_and_the_limit_of_a_block() -> None:
    card = device("gfx1030")
    assert blocks_by_shared(card, 0, 65536) == 2
    assert blocks_by_shared(card, 65536, 512) == 0
    assert "allows 65536 B" in infeasible(card, 256, 1, 40000, 30000)


def test_hopper_reserves_a_kibibyte_per_block_and_needs_the_opt_in() -> None:
    card = device("sm_90")
    assert occupancy(card, 256, 32, 0, 232448).blocks_per_unit == 1
    assert occupancy(card, 256, 32, 0, 232449).blocks_per_unit == 0
    assert occupancy(card, 256, 32, 49153, 0).blocks_per_unit == 0
    assert occupancy(card, 128, 32, 0, 11 * 1024).blocks_per_unit == 19 - 3  # waves: 16 blocks of 4; shared memory holds 19


def test_static_and_dynamic_shared_memory_both_count() -> None:
    found = occupancy(device("gfx906"), 256, 32, 16384, 16384)
    assert (found.blocks_per_unit, found.waves_per_simd, found.limiter) == (2, 2, Limiter.SHARED)


@pytest.mark.parametrize(
    ("target", "block", "registers", "blocks", "limiter"),
    [
        ("sm_61", 256, 64, 4, Limiter.REGISTERS),
        ("sm_90", 1024, 32, 2, Limiter.WAVES),
        ("sm_90", 32, 16, 32, Limiter.BLOCKS),
        ("gfx906", 64, 24, 40, Limiter.WAVES),
        ("gfx906", 128, 24, 16, Limiter.BLOCKS),
        ("gfx1030", 256, 105, 4, Limiter.REGISTERS),
    ],
)
def test_the_first_resource_to_run_out_is_named(target: str, block: int, registers: int, blocks: int, limiter: Limiter) -> None:
    found = occupancy(device(target), block, registers, 0, 0)
    assert (found.blocks_per_unit, found.limiter) == (blocks, limiter)


@examples()
@given(st.sampled_from(ALL), st.integers(1, 1024), st.integers(1, 255), st.integers(0, 49152), st.integers(0, 65536))
def test_more_of_anything_never_raises_residency(target: str, block: int, registers: int, static: int, dynamic: int) -> None:
    card = device(target)
    found = occupancy(card, block, registers, static, dynamic)
    assert found.waves_per_simd <= card.waves_per_simd
    assert found.blocks_per_unit * block <= card.simds_per_unit * card.waves_per_simd * card.wave
    more_of_each = (
        (block + 64, registers, static, dynamic),
        (block, registers + 8, static, dynamic),
        (block, registers, static, dynamic + 512),
    )
    for more in more_of_each:
        assert occupancy(card, *more).blocks_per_unit <= found.blocks_per_unit


@examples()
@given(st.sampled_from(ALL), st.integers(1, 1024), st.integers(0, 65536), st.integers(1, 16))
def test_what_is_declared_infeasible_is_never_resident(target: str, block: int, shared: int, declared: int) -> None:
    card = device(target)
    if infeasible(card, block, declared, 0, shared):
        assert occupancy(card, block, 16, 0, shared).blocks_per_unit < declared

"""Counts per source line: bank conflicts, sectors, barriers and shuffles, of kernels where they are known by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from runners.emulator import counts
from runners.emulator.direct import Loaded, load
from runners.protocol import Access, Count
from runners.toolchains import host_compiler
from runners.toolchains.host import HostToolchain

Found = dict[tuple[str, Access], Count]
SOURCE = Path(__file__).resolve().parents[1] / "data" / "emulator" / "counts.cu"


def marks() -> dict[int, str]:
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    return {number: match[1] for number, text in enumerate(lines, 1) if (match := re.search(r"// LINE (\w+)$", text))}


def aligned(words: int) -> np.ndarray:
    """As a GPU's allocator gives it: from a multiple of 256 bytes on."""
    raw = np.zeros(words + 64, np.float32)
    return raw[-raw.ctypes.data % 256 // 4 :][:words]


IN, OUT = aligned(2048), aligned(2048)


def counted(kernel: Loaded, name: str, *arguments: np.ndarray | int, grid: int = 1, block: int = 32, **how: int) -> Found:
    """By the mark of the line and the kind of access."""
    kernel.launch(name, (grid, 1, 1), (block, 1, 1), *arguments, **how)
    found, named = counts.take(kernel.library), marks()
    assert found is not None
    return {(named[count.line], count.access): count for count in found if count.line in named}


@pytest.fixture(scope="module")
def kernel() -> Loaded:
    return load(SOURCE, {"PITCH": 32}, 32, True)


def test_a_pad_of_one_word_takes_a_column_from_32_ways_to_one(kernel: Loaded) -> None:
    padded = load(SOURCE, {"PITCH": 33}, 32, True)
    before, after = (counted(k, "down_a_column", IN, OUT)["column", Access.SHARED_LOAD] for k in (kernel, padded))
    assert (before.times, before.ways, before.lost) == (32, (32, 32, 32), (32 * 31,) * 3)
    assert (after.times, after.ways, after.lost) == (32, (1, 1, 1), (0, 0, 0))


def test_sectors_barriers_and_shuffles(kernel: Loaded) -> None:
    found = counted(kernel, "down_a_column", IN, OUT)
    assert (found["row", Access.GLOBAL_LOAD].times, found["row", Access.GLOBAL_LOAD].sectors) == (32, 32 * 4)
    assert found["row", Access.SHARED_STORE].ways == (1, 1, 1)
    assert found["barrier", Access.BARRIER].times == 1
    assert found["shuffle", Access.SHUFFLE].times == 5
    assert found["warp", Access.WARP_BARRIER].times == 1
    assert [counted(kernel, "global", IN, OUT, stride)["global", Access.GLOBAL_LOAD].sectors for stride in (0, 1, 2, 8)] == [1, 4, 8, 32]


@pytest.mark.parametrize(("name", "stride", "lost", "ways"), [
    ("words", 0, (0, 0, 0), (1, 1, 1)),  # one word for all
    ("words", 2, (1, 1, 1), (2, 2, 2)),
    ("pairs", 2, (0, 0, 0), (1, 1, 1)),  # 256 bytes in two phases
    ("pairs", 4, (2, 2, 2), (2, 2, 2)),
    ("fours", 4, (0, 0, 0), (1, 1, 1)),  # 512 bytes in four phases
    ("fours", 8, (4, 4, 4), (2, 2, 2)),
    ("turned", 0, (0, 4, 0), (1, 2, 1)),  # gfx906 serves lanes 0-3 with 20-23 when it loads 16 bytes
])  # fmt: skip
def test_wide_accesses_are_served_in_phases(kernel: Loaded, name: str, stride: int, lost: tuple[int, ...], ways: tuple[int, ...]) -> None:
    if not host_compiler.find().gnu and name != "words":
        pytest.skip("clang takes structs apart: their parts are counted")
    found = counted(kernel, name, OUT, stride)[name, Access.SHARED_LOAD]
    assert (found.times, found.lost, found.ways) == (1, lost, ways)


def test_halves_of_one_word_share_it(kernel: Loaded) -> None:
    assert counted(kernel, "halves", OUT)["halves", Access.SHARED_LOAD].lost == (0, 0, 0)


def test_a_delayed_copy_is_counted_once(kernel: Loaded) -> None:
    found = counted(kernel, "copied", IN, OUT)
    assert (found["copied", Access.GLOBAL_LOAD].times, found["copied", Access.GLOBAL_LOAD].sectors) == (1, 16)
    assert (found["copied", Access.SHARED_STORE].times, found["copied", Access.SHARED_STORE].lost) == (1, (0, 0, 0))


def test_lanes_out_of_step_meet_again_at_the_barrier(kernel: Loaded) -> None:
    found = counted(kernel, "branches", IN, OUT)
    assert [(found[mark, Access.GLOBAL_LOAD].times, found[mark, Access.GLOBAL_LOAD].sectors) for mark in ("odd", "all")] == [(1, 4), (1, 4)]


def test_four_blocks_of_a_launch_are_counted_the_same_in_any_order(kernel: Loaded) -> None:
    runs = [counted(kernel, "blocks", OUT, grid=30, block=64, seed=seed, wave=wave) for seed, wave in ((0, 32), (1, 32), (2, 64), (3, 32))]
    assert (runs[0]["blocks", Access.GLOBAL_STORE].times, runs[0]["blocks", Access.GLOBAL_STORE].sectors) == (8, 32)
    assert all(run == runs[0] for run in runs)


def test_a_loop_that_lanes_skip_turns_of_keeps_them_together(kernel: Loaded) -> None:
    """Turn t is one access of lanes 0 to t: had each lane's n-th been lined up, they would read different rows."""
    found = counted(kernel, "triangle", OUT)
    assert (found["across", Access.SHARED_LOAD].times, found["across", Access.SHARED_LOAD].lost) == (32, (0, 0, 0))
    assert found["down", Access.SHARED_LOAD].lost == (sum(range(32)),) * 3


def test_what_a_thread_does_without_end_is_counted_to_a_limit(kernel: Loaded) -> None:
    few, many = (counted(kernel, "lengthy", IN, OUT, times)["long", Access.GLOBAL_LOAD].times for times in (2000, 200_000))
    assert few == 2000 < many < 200_000


def test_the_bundled_compiler_counts_words_alike() -> None:
    zig = host_compiler.zig_folder()
    assert zig is not None, "the ziglang wheel is locked"
    bundled = load(SOURCE, {"PITCH": 32}, 32, True, HostToolchain(host_compiler.bundled(zig)))
    found = counted(bundled, "down_a_column", IN, OUT)
    assert found["column", Access.SHARED_LOAD].lost == (32 * 31,) * 3
    assert (found["out", Access.GLOBAL_STORE].sectors, found["shuffle", Access.SHUFFLE].times) == (4, 5)

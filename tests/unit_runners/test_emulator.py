"""The emulator runs kernels as a GPU would: indices, barriers, shuffles, shared memory, copies, and an end to those that have none."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from runners.emulator import build_and_load
from runners.emulator.direct import Loaded, load
from runners.toolchains import host_compiler
from runners.toolchains.host import HostToolchain

DATA = Path(__file__).resolve().parents[1] / "data" / "emulator"

TOOLCHAINS = [HostToolchain(), HostToolchain(host_compiler.bundled(zig))] if (zig := host_compiler.zig_folder()) else []


def line_of(source: str, mark: str) -> int:
    lines = (DATA / source).read_text(encoding="utf-8").splitlines()
    return next(number for number, text in enumerate(lines, 1) if re.search(rf"// LINE {mark}$", text))


@pytest.fixture(scope="module")
def basics() -> Loaded:
    return build_and_load(DATA / "basics.cu", block=64)


@pytest.mark.parametrize("portable", [False, True])
def test_tiled_sgemm_is_right_in_any_block_order(portable: bool) -> None:
    n = 256 if not portable else 64
    kernel = load(DATA / "sgemm.cu", {}, 256, False, HostToolchain(portable=portable))
    a, b = np.random.default_rng(1).standard_normal((2, n, n), dtype=np.float32)
    results = []
    for seed in (0, 1, 2):
        c = np.full((n, n), np.nan, np.float32)
        kernel.launch("sgemm", (n // 16, n // 16, 1), (16, 16, 1), a, b, c, n, n, n, seed=seed)
        results.append(c.tobytes())
        assert np.allclose(c, a.astype(float) @ b, atol=1e-3)
    assert len(set(results)) == 1


def test_indices_of_three_dimensions(basics: Loaded) -> None:
    out = np.zeros(2 * 3 * 2 * 24, np.int32)
    basics.launch("indices", (2, 3, 2), (4, 3, 2), out)
    assert np.array_equal(out, np.add.outer(np.arange(12) * 1000, np.arange(24)).ravel())


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("width", [32, 16, 8])
def test_shuffles_keep_to_their_width_on_both_wave_sizes(basics: Loaded, wave: int, width: int) -> None:
    n = 128
    values, out = np.arange(n, dtype=np.float32) + 0.5, np.zeros((6, n), np.float32)
    basics.launch("shuffles", (1, 1, 1), (n, 1, 1), values, out, width, wave=wave, seed=3)
    lane = np.arange(n)
    start = lane // width * width
    assert np.array_equal(out[0], values[start + 3 % width])
    assert np.array_equal(out[1], values[np.where((lane ^ 5) < start + width, lane ^ 5, lane)])
    assert np.array_equal(out[2], values[np.where(lane + 2 < start + width, lane + 2, lane)])
    assert np.array_equal(out[3], values[np.where(lane - 2 >= start, lane - 2, lane)])
    warp = lane // 32
    assert np.array_equal(out[4], warp * 64 + 3)
    assert np.array_equal(out[5], warp * 100 + lane % 32)


@pytest.mark.parametrize("wave", [32, 64])
def test_warp_sums(basics: Loaded, wave: int) -> None:
    values = np.arange(4 * 192, dtype=np.float32)
    out = np.zeros(4 * 6, np.float32)
    basics.launch("warp_sums", (4, 1, 1), (192, 1, 1), values, out, wave=wave, seed=5)
    assert np.array_equal(out, values.reshape(-1, 32).sum(1))


def test_shared_memory_is_poisoned_before_each_block(basics: Loaded) -> None:
    out = np.zeros((3, 4 + 10), np.float32)
    basics.launch("poison", (3, 1, 1), (1, 1, 1), out, 10, dynamic_shared=40)
    assert np.isnan(out).all()


def test_ended_threads_hold_nobody_up(basics: Loaded) -> None:
    out = np.zeros(64, np.float32)
    basics.launch("early_exit", (1, 1, 1), (64, 1, 1), out)
    assert out[:40].tolist() == [1.0] * 40 and not out[40:].any()


def test_a_dead_lock_names_the_lines_and_leaves_the_library_usable(basics: Loaded) -> None:
    out = np.zeros(64, np.float32)
    with pytest.raises(RuntimeError) as told:
        basics.launch("never_meet", (1, 1, 1), (64, 1, 1), out)
    assert f"16 threads wait for their warp at emulator/basics.cu:{line_of('basics.cu', 'shuffle')}" in str(told.value)
    assert f"48 threads wait at the barrier of emulator/basics.cu:{line_of('basics.cu', 'barrier')}" in str(told.value)
    basics.launch("early_exit", (1, 1, 1), (64, 1, 1), out)
    assert out[:40].tolist() == [1.0] * 40


@pytest.mark.timeout(60)
def test_a_thread_that_spins_for_ever_is_ended_with_its_line(basics: Loaded) -> None:
    flag = np.zeros(1, np.int32)
    with pytest.raises(RuntimeError, match="a thread runs without end") as told:
        basics.launch("spin", (2**31 - 1, 65535, 1), (64, 1, 1), flag, seed=3)  # more blocks than an order of them has room for
    assert f"basics.cu:{line_of('basics.cu', 'spin')}" in str(told.value)
    basics.launch("early_exit", (1, 1, 1), (64, 1, 1), np.zeros(64, np.float32))


def test_copies_happen_at_the_wait_of_their_group(basics: Loaded) -> None:
    values, out = np.arange(128, dtype=np.float32), np.zeros((2, 32, 4), np.float32)
    basics.launch("late_copy", (1, 1, 1), (32, 1, 1), values, out)
    rows = values.reshape(32, 4)
    assert np.array_equal(out[0, :, :2], rows[:, :2]) and (out[0, :, 2:] == -1).all()
    assert np.array_equal(out[1, :, :3], rows[:, :3]) and (out[1, :, 3] == -1).all()


def test_arguments_beyond_the_registers(basics: Loaded) -> None:
    out, q = np.zeros(17, np.float32), np.array([17.5], np.float32)
    values = (1, 2.5, 3, 4.5, 5, 6.5, 7, 8.5, 9, 10.5, 11.5, 12.5, 13.5, 14, 15, 16.5)
    basics.launch("many_arguments", (1, 1, 1), (1, 1, 1), out, *values, q)
    assert out.tolist() == [*values, 17.5]


def test_block_order_comes_from_the_seed(basics: Loaded) -> None:
    def order(seed: int) -> list[int]:
        found = np.zeros(50, np.int32)
        basics.launch("block_order", (50, 1, 1), (1, 1, 1), np.zeros(1, np.int32), found, seed=seed)
        return [int(value) for value in found]

    assert order(0) == list(range(50))
    assert order(7) == order(7) != order(8)
    assert sorted(order(7)) == list(range(50))


@pytest.mark.parametrize("toolchain", TOOLCHAINS)
def test_globals_start_as_declared_and_are_kept_from_block_to_block_and_launch_to_launch(toolchain: HostToolchain) -> None:
    for _ in range(2):
        loaded, out = load(DATA / "globals.cu", {}, 64, False, toolchain), np.zeros(10, np.int32)
        for _ in range(2):
            loaded.launch("remember", (5, 1, 1), (64, 1, 1), out, seed=3)
        assert np.array_equal(out, 100 + 2 * 63 + np.arange(10))
    assert {kernel.name: kernel.static_shared for kernel in loaded.library.description.kernels} == {"beyond": 256, "remember": 512}


def test_denormals_are_flushed_inside_and_kept_outside(basics: Loaded) -> None:
    values, out = np.full(32, 1.2e-38, np.float32), np.ones(32, np.float32)
    basics.launch("denormal", (1, 1, 1), (32, 1, 1), values, out)
    assert not out.any()
    assert (values * np.float32(0.5)).all()

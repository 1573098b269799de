"""gemm and the naive sample on the emulator: smoke cases, edges of every kind, other tiles, offsets beyond 2^31, the slower sample."""

from __future__ import annotations

import itertools
import mmap
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import on_host
import pytest
from numpy.lib.stride_tricks import as_strided

from kernels import check, spec, storage
from kernels.catalog import KernelFolder, load_folder
from kernels.spec import plain
from runners.emulator.library import Call
from runners.host_device import HOST

Load = Callable[[Path], KernelFolder]
GEMM = on_host.SUITE / "gemm"
SAMPLES = on_host.REPOSITORY / "bot" / "forge" / "samples"
NO_RESERVE = 0x4000  # Linux: MAP_NORESERVE
SMALL = {"m": 37, "n": 41, "k": 96}


def cases(tier: str) -> list[dict]:
    return load_folder(GEMM).cases.cases(tier, plain(HOST))


def made(dtype: str = "f32", **shape: object) -> dict:
    return load_folder(GEMM).cases._case("edge", "test", SMALL | shape, "smoke", dtype)


TOLERANCE = {"f32": 3e-6, "f16": 1e-3, "f16-f32": 3e-6, "q4_0": 3e-6}  # for few K; smoke cases are held to their own limits


def limit(case: dict) -> float:
    return on_host.limit(GEMM, load_folder(GEMM).reference.calibration(case))


def assert_right(folder: Path, case: dict, **how: object) -> on_host.Ran:
    most = how.pop("limit", TOLERANCE[case["dtype"]])
    ran = on_host.run(folder, case, device=HOST, **how)
    complaint = check.complaint(ran.errors, most)
    assert not complaint, (case["id"], how, complaint)
    assert ran.damaged == 0, case["id"]
    return ran


@pytest.mark.parametrize("case", cases("smoke"), ids=lambda case: case["id"])
def test_smoke_cases_are_right(case: dict) -> None:
    most = limit(case)
    for wave in (32, 64):
        assert_right(GEMM, case, wave=wave, limit=most)


def test_the_naive_sample_is_right_and_has_nothing_to_tune(naive: Path, load: Load) -> None:
    found = load(naive).cases.cases("smoke", plain(HOST))
    assert len(found) == 4
    for case in [*found, *load(naive).cases.draw(1, plain(HOST))]:
        assert_right(naive, case)
    assert load(naive).plan.tunables(case, plain(HOST)) == {}


@pytest.mark.parametrize("role", ["tail", "few", "ops", "scale", "batch", "list", "overflow"])
def test_every_edge_is_right(role: str) -> None:
    """Nothing is written beside C, nothing of it left out, and no NaN of the padding comes through."""
    edges = [case for case in cases("full") if case["model"] == "edge" and case["role"] == role and cheap(case)]
    assert len(edges) >= 2
    for case in edges[:: 3 if role == "tail" else 1]:
        assert_right(GEMM, case)


def cheap(case: dict) -> bool:
    """Few products, few batches; tails of fp16 in one of its two outputs, since each has builds of its own."""
    twice = case["role"] == "tail" and case["dtype"] == "f16-f32"
    return case["flops"] <= 4e5 and case["shape"].get("batch", 1) < 100 and not twice


@pytest.mark.parametrize("seed", [1, 2])
def test_held_out_shapes_are_right(seed: int) -> None:
    for case in load_folder(GEMM).cases.draw(seed, plain(HOST)):
        assert_right(GEMM, case)


@pytest.mark.parametrize("tile", ["32x32x32-4x4", "64x64x16-8x4", "128x64x16-8x8", "128x128x8-8x8"])
def test_the_cards_tiles_are_right(tile: str) -> None:
    assert_right(GEMM, made(m=129, n=67, k=97), tunables={"tile": tile})
    assert_right(GEMM, made("f16", m=129, n=67, ops="tt"), tunables={"tile": tile})
    if tile.startswith("32"):
        assert_right(GEMM, made("q4_0", m=129, n=67), tunables={"tile": tile})


@pytest.mark.parametrize("pairs", [0, 1])
def test_halves_one_by_one_and_in_pairs(pairs: int) -> None:
    assert_right(GEMM, made("f16-f32", m=70, k=1000), tunables={"pairs": pairs})


@pytest.mark.parametrize("columns", [4, 2, 1])
@pytest.mark.parametrize("m", [1, 4, 16])
def test_few_rows_by_any_number_of_columns(m: int, columns: int) -> None:
    assert_right(GEMM, made(m=m, n=21, k=600), tunables={"columns": columns})


@pytest.mark.parametrize("splits", [1, 2, 8])
@pytest.mark.parametrize("m", [3, 37])
def test_any_split_of_k_is_right(m: int, splits: int) -> None:
    assert_right(GEMM, made(m=m, n=50, k=1030, alpha=2.5, beta=-1, batch=2, gap=2), tunables={"splits": splits})


def test_wave_and_block_order_make_no_difference() -> None:
    split = made(m=16, n=70, k=4096)
    for case in (cases("smoke")[2], split):
        given = storage.draw_all(on_host.buffers_of(GEMM, case), 9)
        runs = [on_host.run(GEMM, case, wave=wave, seed=seed, given=given) for wave, seed in ((32, 0), (32, 5), (64, 6))]
        assert all(np.array_equal(ran.outputs["C"], runs[0].outputs["C"]) for ran in runs)


def test_old_values_and_inputs_that_do_not_count_are_not_read() -> None:
    """C with beta 0, A and W with alpha 0: NaN there must not show."""
    for case, name in ((made(beta=0), "C"), (made(m=5, beta=0), "C"), (made(alpha=0, beta=1), "A"), (made(m=5, alpha=0, beta=1), "W")):
        buffers = on_host.buffers_of(GEMM, case)
        given = storage.draw_all(buffers, 3)
        given[name][:] = storage.poison(len(given[name]))
        out = on_host.run(GEMM, case, given=given).outputs["C"]
        assert np.isfinite(out).all(), (case["id"], name)


def test_an_fp16_that_overflows_is_infinite_and_its_neighbours_are_not() -> None:
    case = next(case for case in cases("full") if case["role"] == "overflow" and case["dtype"] == "f16")
    out = assert_right(GEMM, case).outputs["C"].astype(np.float32)
    row = out[np.isinf(out).any(axis=1)]
    assert len(row) == 1 and 4 < np.isinf(row).sum() < 60


@pytest.mark.parametrize("m", [12, 36])
def test_offsets_beyond_two_to_the_31(m: int) -> None:
    """Rows 2^28 elements apart, so that the last ones lie beyond 2^31 elements: pages nobody touches cost nothing."""
    case = made("f16-f32", m=m, n=20, k=16, pad=(1 << 28) - 16)
    folder, chosen = load_folder(GEMM), on_host.chosen(GEMM, case, HOST, {})
    parts = folder.plan.builds(case, plain(HOST), chosen) | folder.plan.launches(case, plain(HOST), chosen, {})
    plan = spec.read(spec.Plan, {"schema": 1, "tunables": chosen, **parts})
    lay = folder.reference.Layout.of(case)
    room = {name: _sparse(matrix) for name, matrix in zip("AWC", lay.matrices, strict=True)}
    random = np.random.default_rng(m)
    for name in "AW":
        room[name][...] = random.standard_normal(room[name].shape)
    (launch,) = plan.launches
    packed = tuple(struct.pack("<Q", room[arg.buffer].ctypes.data) if arg.buffer else on_host._pack(arg, {}) for arg in launch.args)
    library = on_host.library(GEMM, on_host.build_key(plan.builds[launch.build]))
    assert library.launch(Call(launch.kernel, launch.grid, launch.block, packed, launch.dynamic_shared, 32, 1)) is None
    want = room["A"].astype(np.float64) @ room["W"].astype(np.float64).T
    assert np.allclose(room["C"], want, rtol=1e-5, atol=1e-5)


def _sparse(matrix: object) -> np.ndarray:
    """A view of a matrix in memory that is only promised."""
    size = (matrix.rows - 1) * matrix.row + matrix.columns
    memory = mmap.mmap(-1, size * matrix.bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    assert (matrix.rows - 1) * matrix.row > 1 << 31
    kind = np.dtype({"f16": "<f2", "f32": "<f4"}[matrix.dtype])
    strides = (matrix.row * kind.itemsize, kind.itemsize)
    return as_strided(np.frombuffer(memory, kind), (matrix.rows, matrix.columns), strides)


def test_the_slower_sample_applies_and_is_right(tmp_path: Path, load: Load) -> None:
    folder = tmp_path / "kernels" / "gemm"
    shutil.copytree(GEMM, folder, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", str(SAMPLES / "slower-tiles.patch")], cwd=tmp_path, check=True)
    case = cases("smoke")[0]
    slow, fast = (load(path).plan.tunables(case, plain(HOST))["tile"][0] for path in (folder, GEMM))
    assert [int(name.split("x")[1]) for name in (slow, fast)] == [8, 32]
    load(folder)
    assert_right(folder, case)


def test_smoke_runs_every_kernel_and_branch_of_the_plan() -> None:
    plan = load_folder(GEMM).plan
    seen = set()
    for case in cases("smoke"):
        chosen = on_host.chosen(GEMM, case, HOST, {})
        made = plan.builds(case, plain(HOST), chosen)["builds"]
        launches = plan.launches(case, plain(HOST), chosen, {})
        seen |= {(launch["kernel"], case["dtype"]) for launch in launches["launches"]}
        seen |= {(name, build["defines"].get(name)) for build in made.values() for name in ("KG_TA", "KG_TW", "KG_PAIRS", "KG_VECTOR")}
        seen |= {"split"} if launches.get("scratch") else set()
        seen |= {"list"} if launches["tables"] else set()
        tiles = plan.blocks(plan.Layout.of(case), chosen) * case["shape"].get("batch", 1)
        seen |= {"strides"} if tiles > launches["launches"][0]["grid"][0] else set()
    assert {"split", "list", "strides", ("gemm_sum", "f32")} <= seen
    assert {(kernel, dtype) for kernel in ("gemm", "gemm_few") for dtype in ("f32", "f16-f32", "q4_0")} <= seen
    assert ("gemm", "f16") in seen
    assert set(itertools.product(("KG_TA", "KG_TW", "KG_PAIRS"), (0, 1))) | {("KG_VECTOR", 1), ("KG_VECTOR", 4)} <= seen

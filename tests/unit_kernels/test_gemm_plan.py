"""Plans and cases of gemm, the suite's and the naive sample's, for every described card and the host."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kernels import check, spec, storage
from kernels.catalog import SUITE, KernelFolder, load_folder
from kernels.devices import by_pool
from kernels.models import MODELS, products
from kernels.plan_rules import violations
from runners.host_device import HOST

Load = Callable[[Path], KernelFolder]
ROOT = SUITE.parent
GEMM = SUITE / "gemm"
DEVICES = {pool: spec.plain(device) for pool, device in by_pool().items()} | {"host": spec.plain(HOST)}


def make_plan(folder: KernelFolder, case: dict, device: dict, chosen: dict | None = None) -> spec.Plan:
    tunables = {name: values[0] for name, values in folder.plan.tunables(case, device).items()} | (chosen or {})
    parts = folder.plan.builds(case, device, tunables) | folder.plan.launches(case, device, tunables, {})
    return spec.read(spec.Plan, {"schema": 1, "tunables": tunables, **parts})


def every_case(folder: KernelFolder, device: dict) -> list[dict]:
    cases = folder.cases
    return cases.cases("smoke", device) + cases.cases("full", device) + cases.draw(7, device)


def assert_launchable(folder: KernelFolder, case: dict, device: dict, chosen: dict | None = None) -> spec.Plan:
    declared = [spec.read(spec.Buffer, buffer) for buffer in folder.cases.buffers(case)]
    plan = make_plan(folder, case, device, chosen)
    found = violations(plan, declared, spec.read(spec.Device, device))
    assert not found, (case["id"], found)
    return plan


@pytest.mark.parametrize("pool", DEVICES)
def test_every_plan_can_be_launched(load: Load, pool: str) -> None:
    folder = load(GEMM)
    for case in every_case(folder, DEVICES[pool]):
        assert_launchable(folder, case, DEVICES[pool])


@pytest.mark.parametrize("pool", DEVICES)
def test_the_naive_sample_can_be_launched(load: Load, naive: Path, pool: str) -> None:
    folder = load(naive)
    for case in (
        folder.cases.cases("gate", DEVICES[pool]) + folder.cases.cases("smoke", DEVICES[pool]) + folder.cases.draw(7, DEVICES[pool])
    ):
        assert_launchable(folder, case, DEVICES[pool])


SHAPES = st.fixed_dictionaries(
    {"m": st.integers(0, 3000), "n": st.integers(0, 300000), "k": st.integers(0, 20000)},
    optional={
        "batch": st.integers(0, 200000), "ops": st.sampled_from(["nt", "nn", "tn", "tt"]), "distinct": st.integers(1, 3),
        "pad": st.integers(0, 9), "offset": st.integers(0, 9), "gap": st.integers(0, 9), "alpha": st.sampled_from([0, 1, 2.5]),
    },
)  # fmt: skip


@examples(150)
@given(shape=SHAPES, dtype=st.sampled_from(["f32", "f16", "f16-f32", "q4_0"]), pool=st.sampled_from(sorted(DEVICES)), data=st.data())
def test_plans_of_any_shape(shape: dict, dtype: str, pool: str, data: st.DataObject) -> None:
    folder, device = load_folder(GEMM), DEVICES[pool]
    shape = shape | ({"ops": "nt", "k": shape["k"] // 32 * 32} if dtype == "q4_0" else {})
    shape |= {"batch": shape.get("batch", 1) % 500} if "distinct" in shape else {}  # a table has an entry for each
    case = folder.cases._case("edge", "any", shape, "full", dtype)
    chosen = {name: data.draw(st.sampled_from(values), name) for name, values in folder.plan.tunables(case, device).items()}
    plan = assert_launchable(folder, case, device, chosen)
    product = plan.launches[0]
    assert product.dynamic_shared <= device["shared_per_block"]
    assert product.grid[0] * product.block[0] < 1 << 32
    assert_tiles_cover(folder, case, device, plan)
    assert_splits_cover(folder, case, plan)


def assert_tiles_cover(folder: KernelFolder, case: dict, device: dict, plan: spec.Plan) -> None:
    """Tiles, walked in strides of the grid, are as many as needed and none is empty; so every element is in exactly one."""
    lay, tile = folder.plan.Layout.of(case), folder.plan.TILES.get(str(plan.tunables.get("tile")))
    high, wide = (tile.bm, tile.bn) if tile else (16, 4 * int(plan.tunables["columns"]))
    counts = (-(-lay.m // high), -(-lay.n // wide))
    assert folder.plan.blocks(lay, plan.tunables) == counts[0] * counts[1]
    needed, launch = counts[0] * counts[1] * lay.batch, plan.launches[0]
    most = folder.plan.HOST_BLOCKS if device["target"] == "host" else folder.plan.MOST_THREADS // launch.block[0]
    assert launch.grid[0] == max(1, min(needed, most))


def assert_splits_cover(folder: KernelFolder, case: dict, plan: spec.Plan) -> None:
    """Each split begins within K, the last ends it, all begin at whole steps, and their sums have room."""
    lay, count, numbers = folder.plan.Layout.of(case), plan.launches[0].grid[1], [arg.i32 for arg in plan.launches[0].args]
    k, depth = numbers[6], numbers[15]
    assert k == (lay.k if lay.alpha else 0)
    assert (count - 1) * depth < max(k, 1) and count * depth >= k
    assert depth % (256 if "columns" in plan.tunables else folder.plan.TILES[str(plan.tunables["tile"])].bk) == 0 or k == 0
    room = 4 * count * lay.batch * lay.m * lay.n
    assert {name: scratch.bytes for name, scratch in plan.scratch.items()} == ({"parts": room} if count > 1 else {})
    assert count == 1 or room <= folder.plan.MOST_PARTS
    assert len(plan.launches) == (2 if count > 1 else 1)


@pytest.mark.parametrize("pool", DEVICES)
def test_every_tile_fits_every_card(load: Load, pool: str) -> None:
    folder, device = load(GEMM), DEVICES[pool]
    for dtype, m in itertools.product(("f32", "f16", "q4_0"), (64, 16)):
        case = folder.cases._case("edge", "any", {"m": m, "n": 64, "k": 4096}, "full", dtype)
        names, legal = zip(*folder.plan.tunables(case, device).items(), strict=True)
        for values in itertools.product(*legal):
            plan = make_plan(folder, case, device, dict(zip(names, values, strict=True)))
            build, launch = next(iter(plan.builds.values())), plan.launches[0]
            assert launch.dynamic_shared <= device["shared_per_block"]
            waves = -(-build.block // device["wave"]) * build.blocks_per_unit
            assert waves <= device["simds_per_unit"] * device["waves_per_simd"] or build.blocks_per_unit == 1
            assert launch.dynamic_shared * build.blocks_per_unit <= device["shared_per_unit"]


def test_a_tile_is_made_of_whole_warp_tiles(load: Load) -> None:
    """Every element of a tile belongs to one lane: gemm.cu's division, in numbers."""
    for tile in load(GEMM).plan.TILES.values():
        lanes_n = 32 // tile.lanes_m
        high, wide = tile.lanes_m * tile.tm, lanes_n * tile.tn
        assert tile.bm % high == tile.bn % wide == 0
        owned = Counter()
        for thread in range(tile.threads):
            warp, (lane_m, lane_n) = thread // 32, divmod(thread % 32, lanes_n)
            top, left = warp % (tile.bm // high) * high, warp // (tile.bm // high) * wide
            rows = [top + _owned(i, tile.tm, tile.lanes_m, lane_m) for i in range(tile.tm)]
            owned.update((row, left + _owned(j, tile.tn, lanes_n, lane_n)) for row in rows for j in range(tile.tn))
        assert owned == Counter(itertools.product(range(tile.bm), range(tile.bn)))


def _owned(i: int, count: int, lanes: int, lane: int) -> int:
    width = min(count, 4)
    return (i // width * lanes + lane) * width + i % width


PLANS_OF_ALL = """
import json, sys
from pathlib import Path
from kernels import catalog
folder = catalog.load_folder(Path(sys.argv[1]))
for device in json.load(sys.stdin):
    for case in folder.cases.cases("full", device) + folder.cases.cases("smoke", device):
        legal = folder.plan.tunables(case, device)
        tunables = {name: values[0] for name, values in legal.items()}
        print(json.dumps([legal, folder.plan.builds(case, device, tunables), folder.plan.launches(case, device, tunables, {})]))
"""


def test_plans_do_not_depend_on_the_hash_seed() -> None:
    def plans(hash_seed: str) -> bytes:
        argv = [sys.executable, "-c", PLANS_OF_ALL, str(GEMM)]
        devices = json.dumps(list(DEVICES.values())).encode()
        env = {"PYTHONHASHSEED": hash_seed, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)}
        return subprocess.run(argv, input=devices, env=env, capture_output=True, check=True).stdout

    assert plans("1") == plans("2") != b""


def test_case_ids_are_unique_and_say_what_they_are(load: Load) -> None:
    cases = load(GEMM).cases
    for tier in ("smoke", "gate", "full"):
        found = [spec.read(spec.Case, case) for case in cases.cases(tier, DEVICES["host"])]
        repeated = [name for name, count in Counter(case.id for case in found).items() if count > 1]
        assert not repeated
        assert all(case.id.startswith(f"gemm/{case.model}/{case.role}/") and case.id.endswith(f"/{case.dtype}") for case in found)
        assert all(case.model in MODELS or case.model == "edge" for case in found)


def test_shapes_are_those_of_the_models(load: Load) -> None:
    assert {name: products(model) for name, model in MODELS.items()} == load(GEMM).cases.PRODUCTS


@pytest.mark.parametrize("tier", ["smoke", "gate", "full"])
def test_every_model_is_in_every_tier(load: Load, tier: str) -> None:
    assert {case["model"] for case in load(GEMM).cases.cases(tier, DEVICES["h200"])} - {"edge"} == set(MODELS)


def test_smoke_fits_the_emulator(load: Load) -> None:
    found = load(GEMM).cases.cases("smoke", DEVICES["host"])
    assert len(found) == 15
    assert all(case["flops"] <= 2 * 4.5e6 for case in found)


@pytest.mark.parametrize("pool", by_pool())
def test_every_tuning_row_is_in_the_gate(load: Load, pool: str) -> None:
    folder, device = load(GEMM), DEVICES[pool]
    found = {
        folder.plan.row(case, device) for case in folder.cases.cases("gate", device) if not folder.plan.few(folder.plan.Layout.of(case))
    }
    assert found >= {name for _, name in folder.plan.rows(device["target"])}


def test_edges_of_the_full_tier(load: Load) -> None:
    """What the sweeps promise: sizes 0 and 1 and around tiles, scales, orders, batches of every kind, misaligned rows."""
    shapes = [case["shape"] for case in load(GEMM).cases.cases("full", DEVICES["h200"]) if case["model"] == "edge"]
    for axis in "mnk":
        assert {0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129} <= {shape[axis] for shape in shapes}
    assert {(a, b) for a in (0, 1, -1, 2.5) for b in (0, 1, -1, 2.5)} <= {
        (s["alpha"], s["beta"]) for s in shapes if "alpha" in s and "beta" in s
    }
    assert {"nt", "nn", "tn", "tt"} <= {shape.get("ops") for shape in shapes}
    assert {0, 1, 33, 65537} <= {shape.get("batch") for shape in shapes}
    assert {"A", "W", "AW"} <= {shape.get("broadcast") for shape in shapes}


def test_held_out_shapes_follow_the_seed(load: Load) -> None:
    draw = load(GEMM).cases.draw
    assert draw(1, DEVICES["host"]) == draw(1, DEVICES["host"]) != draw(2, DEVICES["host"])


def test_reference_and_plain_agree_and_give_a_sane_limit(load: Load) -> None:
    folder = load(GEMM)
    case = folder.reference.calibration(folder.cases.cases("smoke", DEVICES["host"])[0])
    assert case["shape"]["m"] * case["shape"]["n"] <= 1024
    buffers = [spec.read(spec.Buffer, buffer) for buffer in folder.cases.buffers(case)]
    limit = check.calibrate(case, buffers, folder.reference.plain, folder.reference.reference, seeds=4)
    assert 1e-7 < limit < 1e-4


def test_a_limit_holds_for_other_seeds_even_where_there_is_one_output(load: Load) -> None:
    folder = load(GEMM)
    case = {"shape": {"m": 1, "n": 1, "k": 17}, "dtype": "f32"}
    buffers = [spec.read(spec.Buffer, buffer) for buffer in folder.cases.buffers(case)]
    limit = check.calibrate(case, buffers, folder.reference.plain, folder.reference.reference)
    for seed in range(1000, 1500):
        inputs = storage.views(buffers, storage.draw_all(buffers, seed))
        errors = check.compare(folder.reference.plain(case, inputs)["C"], folder.reference.reference(case, inputs)["C"])
        assert not check.complaint(errors, limit)


def test_padding_of_the_inputs_never_reaches_the_reference(load: Load) -> None:
    folder = load(GEMM)
    found = [c for c in folder.cases.cases("full", DEVICES["host"]) if c["shape"].get("pad") and c["shape"].get("offset")]
    for case in found:
        outputs, _ = referred(folder, case)
        assert np.isfinite(outputs["C"]).all()


def referred(folder: KernelFolder, case: dict, seed: int = 0) -> tuple[dict, dict]:
    """The reference's outputs and the inputs it saw."""
    buffers = [spec.read(spec.Buffer, buffer) for buffer in folder.cases.buffers(case)]
    inputs = storage.views(buffers, storage.draw_all(buffers, seed))
    return folder.reference.reference(case, inputs), inputs


@pytest.mark.parametrize("ops", ["nt", "nn", "tn", "tt"])
def test_the_reference_is_numpys_product(load: Load, ops: str) -> None:
    folder = load(GEMM)
    case = folder.cases._case("edge", "any", {"m": 5, "n": 7, "k": 9, "ops": ops, "alpha": 2.5, "beta": -1, "batch": 3}, "full")
    outputs, inputs = referred(folder, case)
    a, w = inputs["A"].astype(np.float64), inputs["W"].astype(np.float64)
    a, w = (a if ops[0] == "n" else a.swapaxes(1, 2)), (w if ops[1] == "n" else w.swapaxes(1, 2))
    assert np.allclose(outputs["C"], 2.5 * np.matmul(a, w) - inputs["C"])


def test_the_reference_reads_lists_backwards_and_blocks_as_ggml_does(load: Load) -> None:
    folder = load(GEMM)
    case = folder.cases._case("edge", "any", {"m": 5, "n": 7, "k": 9, "batch": 5, "distinct": 2}, "full")
    outputs, inputs = referred(folder, case)
    for z in range(5):
        assert np.allclose(outputs["C"][4 - z], inputs["A"][(4 - z) % 2].astype(np.float64) @ inputs["W"][z % 2].astype(np.float64).T)
    case = folder.cases._case("edge", "any", {"m": 2, "n": 70, "k": 64}, "full", "q4_0")
    outputs, inputs = referred(folder, case)
    weights = np.zeros((70, 64))
    for n, block, j in itertools.product(range(70), range(2), range(16)):
        scale, byte = float(inputs["W"][n, block]["scale"]), int(inputs["W"][n, block]["nibbles"][j])
        weights[n, 32 * block + j], weights[n, 32 * block + 16 + j] = scale * ((byte & 15) - 8), scale * ((byte >> 4) - 8)
    assert np.allclose(outputs["C"], inputs["A"].astype(np.float64) @ weights.T)


@pytest.mark.parametrize("shape", [{"ops": "tn", "alpha": 2.5, "beta": -1, "batch": 3}, {"batch": 5, "distinct": 2}, {}])
def test_a_big_product_is_held_to_its_rows_products(load: Load, monkeypatch: pytest.MonkeyPatch, shape: dict) -> None:
    folder = load(GEMM)
    case = folder.cases._case("edge", "any", {"m": 30, "n": 50, "k": 70} | shape, "full")
    whole, _ = referred(folder, case)
    monkeypatch.setattr(folder.reference, "BIG", 1)
    monkeypatch.setattr(folder.reference, "PANEL", 1000)
    projected, _ = referred(folder, case)
    assert check.project(whole["C"], *projected["C"]).rel_l2 < 1e-12
    shifted = np.roll(whole["C"], 1, axis=-1)
    assert check.project(shifted, *projected["C"]).rel_l2 > 0.5

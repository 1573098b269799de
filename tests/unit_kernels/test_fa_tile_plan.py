"""Plans of fa_tile for every described card and the host: they fit, cover every query and KV row once, and have room."""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kernels import spec
from kernels.catalog import SUITE, load_folder
from kernels.devices import by_pool
from kernels.models import MODELS
from kernels.plan_rules import violations
from runners.host_device import HOST
from runners.occupancy import occupancy

DEVICES = {**by_pool(), "host": HOST}
HEAD_DIMS = ((40, 40), (64, 64), (72, 72), (80, 80), (96, 96), (112, 112), (128, 128), (192, 128), (256, 256), (576, 512))
FA = load_folder(SUITE / "fa_tile")
PLAN, CASES = FA.plan, FA.cases
Json = dict[str, Any]


@st.composite
def cases(draw: st.DrawFn) -> Json:
    """Any case that the kernel takes; rows that see nothing, tails and windows included."""
    d, dv = draw(st.sampled_from(HEAD_DIMS))
    kv_heads, mask = draw(st.integers(1, 3)), draw(st.sampled_from(["none", "blocks", "causal"]))
    shape = {
        "sequences": draw(st.integers(1, 3)), "kv_heads": kv_heads, "heads": kv_heads * draw(st.integers(1, 33)), "d": d, "dv": dv,
        "n_q": draw(st.integers(1, 300)), "n_kv": draw(st.integers(1, 3000)), "mask": mask, "v_in_k": d == 576,
        "order": draw(st.sampled_from(["tokens", "heads"] if d == 576 else ["tokens", "heads", "fused"])),
        "pad": draw(st.integers(0, 9)), "offset": draw(st.integers(0, 9)), "sinks": draw(st.booleans()),
        "window": draw(st.integers(0, 400)) if mask == "causal" else 0,
    }  # fmt: skip
    return {"id": "fa_tile/edge/drawn/any/f16", "shape": shape, "dtype": draw(st.sampled_from(["f16", "f32"]))}


def planned(case: Json, device: spec.Device, splits: int = 0, registers: int = 100) -> spec.Plan:
    shown, chosen = spec.plain(device), {"kv_splits": splits}
    lay = PLAN.Layout.of(case)
    shared = PLAN.shared_bytes(lay, shown, *PLAN.tuning(lay, shown))
    compiled = {"registers": registers, "static_shared": shared, "local_bytes": 0, "max_block": 256}
    launches = PLAN.launches(case, shown, chosen, {"fa_tile": {"fa_tile": compiled}})
    return spec.read(spec.Plan, {"schema": 1, "tunables": chosen, "builds": PLAN.builds(case, shown, chosen), **launches})


@examples(150)
@given(cases(), st.sampled_from(sorted(DEVICES)), st.sampled_from([0, 1, 2, 4, 8, 16]), st.integers(1, 256))
def test_any_plan_can_be_launched_and_has_room(case: Json, pool: str, splits: int, registers: int) -> None:
    device, lay = DEVICES[pool], PLAN.Layout.of(case)
    plan = planned(case, device, splits, registers)
    assert not violations(plan, [spec.read(spec.Buffer, b) for b in CASES.buffers(case)], device)
    shown = spec.plain(device)
    assert PLAN.shared_bytes(lay, shown, *PLAN.tuning(lay, shown)) <= device.shared_per_block
    queries, made = lay.sequences * lay.heads * lay.n_q, plan.launches[0].grid[1]
    if made == 1:
        assert not plan.scratch and len(plan.launches) == 1
    else:
        assert plan.scratch["parts"].bytes == 4 * made * queries * lay.dv
        assert plan.scratch["stats"].bytes == 8 * made * queries
        assert plan.launches[1].grid[0] == queries


@examples()
@given(cases(), st.sampled_from(sorted(DEVICES)), st.sampled_from([0, 1, 4, 16]))
def test_blocks_cover_queries_once_and_splits_what_a_query_sees_once(case: Json, pool: str, asked: int) -> None:
    lay, plan = PLAN.Layout.of(case), planned(case, DEVICES[pool], asked)
    defines, (blocks, splits, _) = plan.builds["fa_tile"].defines, plan.launches[0].grid
    query_tiles, per_split = [arg.i32 for arg in plan.launches[0].args if arg.i32 is not None][-2:]
    assert query_tiles is not None and per_split is not None
    tokens, rows, heads = int(defines["KG_COLS"]) // int(defines["KG_HEADS"]), int(defines["KG_ROWS"]), int(defines["KG_HEADS"])
    assert lay.ratio % heads == 0 and blocks == query_tiles * lay.sequences * lay.heads // heads
    assert (query_tiles - 1) * tokens < lay.n_q <= query_tiles * tokens
    for tile in {0, query_tiles // 2, query_tiles - 1}:
        own = range(tile * tokens, min((tile + 1) * tokens, lay.n_q))
        begin = max(0, lay.position(own[0]) + 1 - lay.window) // rows if lay.window else 0
        walked = Counter(begin + split * per_split + at for split in range(splits) for at in range(per_split))
        for token in own:
            first, last = lay.seen(token)
            assert all(walked[row_tile] == 1 for row_tile in range(first // rows, ceil(last / rows)) if last > first)


@examples()
@given(st.integers(1, 600), st.integers(1, 5000), st.integers(1, 2000))
def test_splits_are_the_cheapest_and_never_without_a_tile(tiles: int, blocks: int, resident: int) -> None:
    def cost(splits: int) -> int:
        return ceil(blocks * splits / resident) * (ceil(tiles / splits) + 1 + (splits > 1))

    best = PLAN.wanted_splits(PLAN.AUTO, tiles, blocks, resident)
    assert 1 <= best <= max(1, tiles // 2)
    assert all(cost(best) <= cost(other) for other in range(1, min(tiles // 2, PLAN.MOST_SPLITS) + 1))
    assert PLAN.wanted_splits(16, tiles, blocks, resident) == min(16, tiles)


@examples()
@given(st.sampled_from(sorted(by_pool())), st.sampled_from([64, 128, 256]), st.integers(0, 256), st.integers(0, 65536))
def test_residency_is_the_static_gates_and_never_zero(pool: str, threads: int, registers: int, shared: int) -> None:
    """The harness counts what is declared in WGPs, CUs and SMs; a plan that counted otherwise would split too little."""
    device = by_pool()[pool]
    ours = PLAN.resident_blocks(spec.plain(device), threads, {"registers": registers, "static_shared": shared})
    theirs = occupancy(device, threads, registers, shared, 0).blocks_per_unit
    assert ours == device.units * max(theirs, 1) or shared > device.shared_per_block


@pytest.mark.parametrize("pool", DEVICES)
def test_every_tuning_row_keeps_what_the_kernel_asserts(pool: str) -> None:
    device = spec.plain(DEVICES[pool])
    for half in (True, False):
        vector = 8 if half else 4
        found = PLAN.table(device["target"], half)
        assert set(found) == {d for d, _ in HEAD_DIMS}
        for d, by_columns in found.items():
            for columns, (threads, blocks, rows, stage) in by_columns.items():
                warps = threads // 32
                assert columns % warps == 0 or warps % columns == 0
                assert rows % (32 * max(1, warps // columns)) == 0 and rows >= 32
                assert d % stage == 0 and stage % vector == 0 and PLAN.pitch(stage, vector) // vector % 2 == 1
                assert blocks * -(-threads // device["wave"]) <= device["waves_per_simd"] * device["simds_per_unit"]


@pytest.mark.parametrize("pool", DEVICES)
def test_every_case_has_a_plan(pool: str) -> None:
    device = DEVICES[pool]
    for tier in ("smoke", "full"):
        for case in CASES.cases(tier, spec.plain(device)):
            spec.read(spec.Case, case)
            plan, lay = planned(case, device), PLAN.Layout.of(case)
            assert not violations(plan, [spec.read(spec.Buffer, b) for b in CASES.buffers(case)], device), case["id"]
            shown = spec.plain(device)
            assert PLAN.shared_bytes(lay, shown, *PLAN.tuning(lay, shown)) <= device.shared_per_block, case["id"]


def test_a_lone_query_fills_the_card_and_a_long_prompt_needs_no_splits() -> None:
    whole = {case["id"]: case for case in CASES.cases("full", {"target": "gfx1030"})}
    token, prompt = (whole[f"fa_tile/llama-8b/{name}/f16"] for name in ("token/q1-kv16384", "prompt/q16384-kv16384"))
    for device in by_pool().values():
        launch = planned(token, device).launches[0]
        assert launch.grid[0] * launch.grid[1] >= 2 * device.units
        assert planned(prompt, device).launches[0].grid[1] == 1


def test_every_model_and_every_head_dim_is_in_the_tiers_it_should_be() -> None:
    host, card = spec.plain(HOST), {"target": "sm_61"}
    by_tier = {tier: CASES.cases(tier, host if tier == "smoke" else card) for tier in ("smoke", "gate", "full")}
    for found in by_tier.values():
        assert {case["model"] for case in found} == {*MODELS, "edge"}
    for tier in ("gate", "full"):
        assert {case["shape"]["d"] for case in by_tier[tier]} == {d for d, _ in HEAD_DIMS}
    for name, (heads, kv_heads, d) in CASES.MODELS.items():
        assert (heads, kv_heads, d) == (MODELS[name].q_heads, MODELS[name].kv_heads, MODELS[name].head_dim)
        assert {case["shape"]["d"] for case in by_tier["smoke"] if case["model"] == name} == {d}


@pytest.mark.parametrize("pool", by_pool())
def test_the_gate_takes_every_row_of_the_models_head_dims(pool: str) -> None:
    device = spec.plain(by_pool()[pool])
    taken = set()
    for case in CASES.cases("gate", device):
        lay = PLAN.Layout.of(case)
        if PLAN.half(lay, device) or not device["fast_fp16"]:
            taken.add((lay.d, PLAN.tuning(lay, device)[0]))
    rows = PLAN.table(device["target"], bool(device["fast_fp16"]))
    assert taken >= {(d, columns) for d in (64, 128, 256) for columns in rows[d]}

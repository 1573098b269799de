"""fa_tile on the emulator: right at cases and tails, with fp16 and fp32 tiles, on both waves, however the KV rows are split."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import on_host
import pytest

from kernels import check
from kernels.catalog import load_folder
from kernels.spec import Build, plain, read

FOLDER = on_host.SUITE / "fa_tile"
SMALL = {"sequences": 1, "heads": 4, "kv_heads": 2, "n_q": 5, "n_kv": 70, "d": 64, "mask": "causal", "order": "tokens", "pad": 0}


def smoke() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = load_folder(FOLDER).cases.cases("smoke", plain(on_host.HOST))
    return cases


def made(dtype: str = "f32", **shape: Any) -> dict[str, Any]:
    case: dict[str, Any] = load_folder(FOLDER).cases._case("edge", "test", "test", dtype, SMALL | shape, "smoke")
    return case


def accepted(ran: on_host.Ran, limit: float) -> bool:
    return not check.complaint(ran.errors, limit) and ran.damaged == 0


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("case", smoke(), ids=lambda case: case["id"])
def test_smoke_cases_are_right(case: dict[str, Any], wave: int) -> None:
    assert accepted(on_host.run(FOLDER, case, wave=wave, seed=7), on_host.limit(FOLDER, case))


@pytest.mark.parametrize("seed", range(2))
def test_drawn_cases_are_right(seed: int) -> None:
    for case in load_folder(FOLDER).cases.draw(seed, plain(on_host.HOST)):
        assert accepted(on_host.run(FOLDER, case), on_host.limit(FOLDER, case)), case


@pytest.mark.parametrize("n_kv", [1, 31, 63, 64, 65, 129])
def test_kv_lengths_around_the_tile(n_kv: int) -> None:
    assert on_host.run(FOLDER, made(n_kv=n_kv, mask="none")).errors.rel_l2 < 2e-6


@pytest.mark.parametrize("n_q", [1, 2, 3, 9, 17, 33])
def test_query_counts_around_the_columns(n_q: int) -> None:
    assert on_host.run(FOLDER, made(n_q=n_q)).errors.rel_l2 < 2e-6


@pytest.mark.parametrize("heads", [4, 6, 16])
def test_query_heads_that_share_a_kv_head(heads: int) -> None:
    assert on_host.run(FOLDER, made(heads=heads)).errors.rel_l2 < 2e-6


@pytest.mark.parametrize("splits", [1, 2, 4, 16])
def test_kv_splits_agree(splits: int) -> None:
    ran = on_host.run(FOLDER, made(n_q=3, n_kv=300), {"kv_splits": splits})
    assert ran.errors.rel_l2 < 2e-6 and ran.damaged == 0


def test_the_default_plan_of_a_lone_query_combines_splits() -> None:
    case = next(case for case in smoke() if case["role"] == "single")
    known = {"fa_tile": {"fa_tile": {"registers": 0, "static_shared": 0, "local_bytes": 0, "max_block": 128}}}
    launches = load_folder(FOLDER).plan.launches(case, plain(on_host.HOST), {"kv_splits": 0}, known)["launches"]
    assert [launch["kernel"] for launch in launches] == ["fa_tile", "fa_combine"]


@pytest.mark.parametrize("mask", ["buffer", "causal"])
def test_queries_that_see_nothing_give_zeros(mask: str) -> None:
    ran = on_host.run(FOLDER, made(n_q=20, n_kv=13, mask=mask))
    assert ran.errors.clean and ran.errors.rel_l2 < 2e-6
    assert not np.any(ran.outputs["o"][:, :7]) and np.all(np.any(ran.outputs["o"][:, 7:], axis=-1))


@pytest.mark.parametrize("options", [{"window": 70}, {"sinks": True, "window": 9}, {"sinks": True, "mask": "blocks"}], ids=str)
@pytest.mark.parametrize("splits", [1, 3, 16])
def test_options_do_not_hang_on_the_splits(options: dict[str, Any], splits: int) -> None:
    """A window's few tiles are shared out too, and a sink is added once."""
    ran = on_host.run(FOLDER, made(n_q=5, n_kv=300, **options), {"kv_splits": splits})
    assert ran.errors.clean and ran.errors.rel_l2 < 2e-6 and ran.damaged == 0


@pytest.mark.parametrize("splits", [1, 2])
def test_a_query_that_sees_only_the_sink_gives_zeros(splits: int) -> None:
    ran = on_host.run(FOLDER, made(n_q=80, n_kv=70, sinks=True), {"kv_splits": splits})
    assert ran.errors.clean and ran.errors.rel_l2 < 2e-6 and not np.any(ran.outputs["o"][:, :10])


@pytest.mark.parametrize("hard", ["large_v", "large_kq", "outlier"])
def test_hard_values_do_not_overflow(hard: str) -> None:
    case = made("f16", n_q=9, hard=hard)
    assert accepted(on_host.run(FOLDER, case), on_host.limit(FOLDER, case))


@pytest.mark.parametrize(("d", "dv"), [(40, 40), (112, 112), (192, 128)])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_head_dims_whose_last_lanes_have_no_columns(dtype: str, d: int, dv: int) -> None:
    ran = on_host.run(FOLDER, made(dtype, d=d, dv=dv))
    assert ran.errors.clean and ran.errors.rel_l2 < (1e-3 if dtype == "f16" else 2e-6) and ran.damaged == 0


def test_the_plans_sum_of_shared_memory_is_the_compilers() -> None:
    plan, device = load_folder(FOLDER).plan, plain(on_host.HOST)
    for case in smoke():
        lay = plan.Layout.of(case)
        build = read(Build, plan.builds(case, device, {"kv_splits": 0})["fa_tile"])
        compiled = on_host.library(FOLDER, on_host.build_key(build)).kernels["fa_tile"]
        assert compiled.static_shared == plan.shared_bytes(lay, device, *plan.tuning(lay, device)), case["id"]


def test_f16_kv_in_fp32_tiles_as_on_a_p40(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_folder(FOLDER).plan, "half", lambda lay, device: False)
    assert on_host.run(FOLDER, made("f16", n_kv=130)).errors.rel_l2 < 2e-6


def test_copies_of_eight_bytes() -> None:
    device = dataclasses.replace(on_host.HOST, copy_bytes=8)
    assert on_host.run(FOLDER, made(pad=2), device=device).errors.rel_l2 < 2e-6


@pytest.mark.parametrize("order", ["tokens", "heads", "fused"])
@pytest.mark.parametrize(("pad", "offset"), [(0, 0), (1, 0), (8, 8), (0, 1)])
def test_strides(order: str, pad: int, offset: int) -> None:
    ran = on_host.run(FOLDER, made("f16", order=order, pad=pad, offset=offset, sequences=2))
    assert ran.errors.clean and ran.errors.rel_l2 < 1e-3

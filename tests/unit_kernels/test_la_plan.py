"""Plans of la_prefill and la_decode: legal for any shape on every card, and each of their branches taken by a smoke case."""

from __future__ import annotations

from typing import Any

import on_host
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kernels import spec
from kernels.catalog import load_folder
from kernels.devices import by_pool
from kernels.plan_rules import violations
from runners.occupancy import infeasible

FOLDER = on_host.SUITE / "la_prefill"
CASES, PLAN = (getattr(load_folder(FOLDER), name) for name in ("cases", "plan"))
DEVICES = {**by_pool(), "host": on_host.HOST}
KERNELS = ("la_prefill", "la_decode")


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Any shape the kernels promise to take, of either kernel and each type."""
    kernel, k_heads = draw(st.sampled_from(KERNELS)), draw(st.integers(1, 16))
    lengths = [1] * draw(st.integers(1, 9)) if kernel == "la_decode" else draw(st.lists(st.integers(0, 2000), min_size=1, max_size=9))
    shape = {"k_heads": k_heads, "v_heads": k_heads * draw(st.integers(1, 4)), "lengths": lengths}
    shape |= {"dk": draw(st.integers(1, 512)), "dv": draw(st.integers(1, 512)), "mapping": draw(st.sampled_from(["tiled", "grouped"]))}
    shape |= {"initial": draw(st.booleans()), "fused": draw(st.booleans())}
    return made(kernel, shape, draw(st.sampled_from(["f32", "f16", "bf16"])))


def made(kernel: str, shape: dict[str, Any], dtype: str = "f32") -> dict[str, Any]:
    case: dict[str, Any] = CASES._case(kernel, "edge", "test", "test", dtype, "smoke", shape)
    return case


def planned(case: dict[str, Any], device: spec.Device, chosen: dict[str, Any]) -> tuple[spec.Plan, spec.Build, spec.Launch]:
    shown = spec.plain(device)
    parts = {"builds": PLAN.builds(case, shown, chosen), **PLAN.launches(case, shown, chosen, {})}
    whole = spec.read(spec.Plan, {"schema": 1, "tunables": chosen, **parts})
    return whole, whole.builds[case["kernel"]], whole.launches[0]


@examples()
@given(case=cases(), pool=st.sampled_from(sorted(DEVICES)))
def test_any_shape_has_a_legal_plan_for_every_split(case: dict[str, Any], pool: str) -> None:
    device = DEVICES[pool]
    buffers = [spec.read(spec.Buffer, buffer) for buffer in CASES.buffers(case)]
    for split in PLAN.tunables(case, spec.plain(device))["dk_split"]:
        plan, build, launch = planned(case, device, {"dk_split": split})
        assert not violations(plan, buffers, device)
        assert build.defines["KG_SPLIT"] == split and case["shape"]["dk"] % split == 0
        assert build.block % 32 == 0 and build.block <= PLAN.THREADS  # else a shuffle reads a lane that isn't there
        columns, tiles = build.block // split, launch.grid[2]
        assert (tiles - 1) * columns < case["shape"]["dv"] <= tiles * columns
        assert plan == planned(case, device, {"dk_split": split})[0]


@examples()
@given(case=cases(), pool=st.sampled_from(sorted(by_pool())))
def test_what_is_declared_resident_fits(case: dict[str, Any], pool: str) -> None:
    device = DEVICES[pool]
    for split in PLAN.tunables(case, spec.plain(device))["dk_split"]:
        _, build, _ = planned(case, device, {"dk_split": split})
        shared = PLAN.shared_bytes(case["kernel"], build.defines)
        assert infeasible(device, build.block, build.blocks_per_unit, shared, 0) == ""


@examples()
@given(case=cases(), pool=st.sampled_from(sorted(DEVICES)), asked=st.integers(0, 16))
def test_the_default_split_is_four_or_the_nearest_a_shape_can(case: dict[str, Any], pool: str, asked: int) -> None:
    device = DEVICES[pool]
    default, *others = PLAN.tunables(case, spec.plain(device))["dk_split"]
    legal = sorted({default, *others})
    assert default == (1 if pool == "host" else 4 if 4 in legal else legal[0])
    _, build, _ = planned(case, device, {"dk_split": asked})
    assert build.defines["KG_SPLIT"] == (asked if asked in legal else legal[0])


EITHER = {False, True}


def features(case: dict[str, Any]) -> dict[str, Any]:
    """What of a case decides between branches of its plan or its kernel."""
    shape, (_, build, launch) = case["shape"], planned(case, on_host.HOST, {})
    found = {
        "dtype": case["dtype"], "mapping": shape["mapping"], "initial": shape["initial"], "fused": shape["fused"],
        "shares a key head": shape["v_heads"] > shape["k_heads"], "several sequences": len(shape["lengths"]) > 1,
        "columns to spare": build.block * launch.grid[2] > shape["dv"], "several tiles": launch.grid[2] > 1,
        "can split": len(PLAN.tunables(case, spec.plain(on_host.HOST))["dk_split"]) > 1,
    }  # fmt: skip
    return found | (prompt(shape["lengths"], int(build.defines["KG_CHUNK"])) if "KG_CHUNK" in build.defines else {})


def prompt(lengths: list[int], chunk: int) -> dict[str, bool]:
    tail = any(length % chunk for length in lengths)
    return {"halved": chunk < 16, "several chunks": max(lengths) > chunk, "tail": tail, "none": 0 in lengths, "alone": 1 in lengths}


@pytest.mark.parametrize("kernel", KERNELS)
def test_smoke_cases_take_every_branch(kernel: str) -> None:
    smoke = CASES.cases("smoke", spec.plain(on_host.HOST))
    found = [features(case) for case in smoke if case["kernel"] == kernel]
    wanted = dict.fromkeys(found[0], EITHER) | {"dtype": {"f32", "f16", "bf16"}, "mapping": {"tiled", "grouped"}}
    assert {name: {feature[name] for feature in found} for name in wanted} == wanted


@pytest.mark.parametrize(("kernel", "block"), [("la_prefill", 24320), ("la_decode", 1024)])
def test_the_shared_memory_the_folder_explains_is_what_is_compiled(kernel: str, block: int) -> None:
    case = made(kernel, CASES.HEADS | {"lengths": [1]})
    for device, split in ((DEVICES["mi50"], 4), (on_host.HOST, 4)):
        build = planned(case, device, {"dk_split": split})[1]
        assert PLAN.shared_bytes(kernel, build.defines) == block
    library = on_host.library(FOLDER, on_host.build_key(build))
    assert library.kernels[kernel].static_shared == block

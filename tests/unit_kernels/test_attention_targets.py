"""Attention kernels for every card without one: plans valid and the same twice, rows compiled without a spill, promises kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernels import spec
from kernels.catalog import SUITE, load_folder
from kernels.devices import by_pool
from kernels.plan_rules import violations
from runners.occupancy import infeasible, occupancy
from runners.toolchains import CompileRequest, for_target

KERNELS = ("fa_tile", "la_prefill")


def plans() -> list[dict[str, Any]]:
    """The default plan of every case of both folders on every card, as JSON data; not one of them may break a rule."""
    made = []
    for name in KERNELS:
        folder = load_folder(SUITE / name)
        for device in by_pool().values():
            shown = spec.plain(device)
            made += [_plan(folder, case, device, shown) for case in folder.cases.cases("full", shown) + folder.cases.draw(1, shown)]
    return made


def _plan(folder: Any, case: dict[str, Any], device: spec.Device, shown: dict[str, Any]) -> dict[str, Any]:
    spec.read(spec.Case, case)
    chosen = {key: values[0] for key, values in folder.plan.tunables(case, shown).items()}
    builds = folder.plan.builds(case, shown, chosen)
    one = {"registers": 96, "static_shared": 20000, "local_bytes": 0, "max_block": 256}
    known = {name: dict.fromkeys(("fa_tile", "fa_combine", "la_prefill", "la_decode"), one) for name in builds}
    launches = folder.plan.launches(case, shown, chosen, known)
    plan = spec.read(spec.Plan, {"schema": 1, "tunables": chosen, "builds": builds, **launches})
    buffers = [spec.read(spec.Buffer, buffer) for buffer in folder.cases.buffers(case)]
    assert not violations(plan, buffers, device), case["id"]
    data: dict[str, Any] = json.loads(spec.canonical_json(plan))
    return data


def test_plans_are_valid_and_do_not_hang_on_the_hash_seed() -> None:
    script = "import json, test_attention_targets as t; print(json.dumps(t.plans()))"
    path = os.pathsep.join([str(Path(__file__).parent), str(SUITE.parent)])
    settings = [os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": path} for seed in ("1", "2")]
    said = [subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=True).stdout for env in settings]
    assert said[0] == said[1] and len(json.loads(said[0])) > 200


def test_case_ids_are_unique_and_say_their_kernel() -> None:
    for name in KERNELS:
        cases = load_folder(SUITE / name).cases
        for tier in ("smoke", "gate", "full"):
            made = cases.cases(tier, {"target": "host"})
            assert len({case["id"] for case in made}) == len(made)
            assert all(case["id"].startswith(case["kernel"] + "/") for case in made)


@pytest.mark.parametrize("pool", by_pool())
def test_every_dk_split_compiles_without_a_spill(tmp_path: Path, pool: str) -> None:
    """The defaults are compiled by the walk over all rows."""
    device = by_pool()[pool]
    for build in _builds(spec.plain(device)):
        request = CompileRequest(SUITE.parent, "kernels/la_prefill", build, device.target, tmp_path)
        compiled = for_target(device.target).compile(request).kernels
        for found in compiled:
            assert (found.spill_bytes, found.local_bytes) == (0, 0), build
            assert found.static_shared <= device.shared_per_block
            assert infeasible(device, build.block, build.blocks_per_unit, found.static_shared, 0) == ""
            resident = occupancy(device, build.block, found.registers, found.static_shared, 0)
            assert resident.blocks_per_unit >= build.blocks_per_unit, (build, resident)


PASSING = ("KG_ALIGNED", "KG_TENSOR")  # cost registers only where a tile is loaded or stored


def _builds(device: dict[str, Any]) -> list[spec.Build]:
    """One build of each dk-split beside the default."""
    folder, found = load_folder(SUITE / "la_prefill"), {}
    for case in folder.cases.cases("gate", device):
        for value in folder.plan.tunables(case, device).get("dk_split", [])[1:]:
            for build in folder.plan.builds(case, device, {"dk_split": value}).values():
                kept = {key: value for key, value in build["defines"].items() if key not in PASSING}
                found.setdefault(json.dumps([build["source"], kept], sort_keys=True), spec.read(spec.Build, build))
    return list(found.values())

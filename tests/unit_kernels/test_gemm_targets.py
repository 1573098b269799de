"""gemm's builds that are in no gate row, for every card: no spill, and the occupancy that the launch bound promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels import spec
from kernels.catalog import SUITE, KernelFolder, load_folder
from kernels.devices import by_pool
from runners.occupancy import infeasible, occupancy
from runners.toolchains import CompileRequest, for_target

OTHERS = (  # misaligned ones, of the tiles and of the few-rows path
    ("f32", {"m": 2048, "n": 4095, "k": 4095, "ops": "tt"}), ("f16", {"m": 2048, "n": 4095, "k": 4095}),
    ("f16", {"m": 1, "n": 4096, "k": 4095}),
)  # fmt: skip


@pytest.mark.parametrize("pool", by_pool())
def test_every_row_is_chosen_and_misaligned_builds_do_not_spill(tmp_path: Path, pool: str) -> None:
    folder, device = load_folder(SUITE / "gemm"), by_pool()[pool]
    wanted = [("f32", {"m": 512, "n": max(33, most * device.units // 512 - 1), "k": 4096}) for most in _steps(folder, device)]
    rows = {folder.plan.row(_case(*one), spec.plain(device)) for one in wanted}
    assert rows == {name for _, name in folder.plan.rows(device.target)}
    for one in OTHERS:
        _compile(folder, device, _case(*one), tmp_path)


def _compile(folder: KernelFolder, device: spec.Device, case: dict, out: Path) -> None:
    shown = spec.plain(device)
    tunables = {name: values[0] for name, values in folder.plan.tunables(case, shown).items()}
    launches = {launch["build"]: launch for launch in folder.plan.launches(case, shown, tunables, {})["launches"]}
    for name, made in folder.plan.builds(case, shown, tunables)["builds"].items():
        build, shared = spec.read(spec.Build, made), launches[name].get("dynamic_shared", 0)
        request = CompileRequest(SUITE.parent, "kernels/gemm", build, device.target, out)
        (kernel,) = for_target(device.target).compile(request).kernels
        assert (kernel.spill_bytes, kernel.local_bytes) == (0, 0), build
        assert infeasible(device, build.block, build.blocks_per_unit, kernel.static_shared, shared) == ""
        resident = occupancy(device, build.block, kernel.registers, kernel.static_shared, shared)
        assert resident.blocks_per_unit >= build.blocks_per_unit, (build, resident)


def _steps(folder: KernelFolder, device: spec.Device) -> list[int]:
    """Outputs per unit for each row: its own bound, or a tenfold of the last one's."""
    bounds = [most for most, _ in folder.plan.rows(device.target)]
    return [*bounds[:-1], 10 * bounds[-2]]


def _case(dtype: str, shape: dict) -> dict:
    return {"shape": shape, "dtype": dtype}

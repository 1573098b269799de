"""The suite under the race check: complete kernels are clean, and the loss of any single barrier is found in its file."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import on_host
import pytest

from kernels.catalog import load_folder
from kernels.spec import plain
from runners.device import BoundLaunch
from runners.emulator import races
from runners.emulator.library import Call, Library
from runners.host_device import HostDevice
from runners.protocol import Race

KERNELS = ("gemm", "fa_tile", "la_prefill")
BARRIER = re.compile(r"__syncthreads\(\)")


class Watched:
    """Stands where the tests' runner expects a library, and sends each of its launches through the race check."""

    def __init__(self, library: Library, found: list[Race]) -> None:
        self.library, self.kernels, self.found = library, library.kernels, found

    def launch(self, call: Call) -> None:
        launch = BoundLaunch(self.library, call.kernel, call.grid, call.block, call.dynamic_shared, call.arguments)
        self.found += races.check(HostDevice(seed=3), [launch])


def cases(kernel: str) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = load_folder(on_host.SUITE / kernel).cases.cases("smoke", plain(on_host.HOST))
    return made


def watch(patch: pytest.MonkeyPatch, source: Path) -> list[Race]:
    """From now on the runner compiles `source` instead of the suite's folder; what is found gathers in the list."""
    found: list[Race] = []
    compiled = on_host.library
    patch.setattr(on_host, "library", lambda _, key, *rest: Watched(compiled(source, key, True), found))
    return found


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_suite_is_clean(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = watch(monkeypatch, on_host.SUITE / kernel)
    for case in cases(kernel):
        on_host.run(on_host.SUITE / kernel, case)
    assert found == []


def barriers() -> list[tuple[str, str, int]]:
    """Kernel folder, file and character of every block barrier in the suite's sources."""
    files = [(kernel, path) for kernel in KERNELS for path in sorted((on_host.SUITE / kernel).glob("*.cu"))]
    return [(kernel, path.name, match.start()) for kernel, path in files for match in BARRIER.finditer(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("kernel", "name", "at"), barriers())
def test_any_lost_barrier_is_found(kernel: str, name: str, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "kernels" / kernel
    shutil.copytree(on_host.SUITE / kernel, copy)
    text = (copy / name).read_text(encoding="utf-8")
    (copy / name).write_text(text[:at] + "(void)0" + text[at + len("__syncthreads()") :], encoding="utf-8")
    found = watch(monkeypatch, copy)
    for case in cases(kernel):
        on_host.run(on_host.SUITE / kernel, case)
        if found:
            break
    assert found and found[0].file.startswith(f"kernels/{kernel}/") and found[0].line > 0

"""Kernel folders are packages of their own name: each test reads them afresh, and may read two of one name."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernels.catalog import SUITE, KernelFolder, load_folder

SAMPLES = SUITE.parent / "bot" / "forge" / "samples"


@pytest.fixture(autouse=True)
def _forget_kernel_folders() -> Iterator[None]:
    yield
    for name in _kernel_packages():
        _forget(name)


@pytest.fixture
def kernel_packages() -> Callable[[], list[str]]:
    return _kernel_packages


def _kernel_packages() -> list[str]:
    """The packages that `load_folder` made: other libraries make some without a spec too (kombu does)."""
    made = {name: module for name, module in sys.modules.items() if getattr(module, "__path__", None) and not module.__spec__}
    return [name for name, module in made.items() if Path(module.__path__[0], "plan.py").is_file()]


@pytest.fixture
def load() -> Callable[[Path], KernelFolder]:
    """`load_folder` that forgets a folder of the same name read before."""

    def read(path: Path) -> KernelFolder:
        _forget(path.name)
        return load_folder(path)

    return read


@pytest.fixture
def naive(tmp_path: Path) -> Path:
    """The suite's gemm as main of the sample repository has it: one thread per output, the cases it knows."""
    folder = tmp_path / "kernels" / "gemm"
    shutil.copytree(SUITE / "gemm", folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "cases.py").rename(folder / "every_case.py")
    shutil.copytree(SAMPLES / "main" / "gemm", folder, dirs_exist_ok=True)
    shutil.copytree(SAMPLES / "narrowed" / "gemm", folder, dirs_exist_ok=True)
    return folder


def _forget(folder: str) -> None:
    for module in [key for key in sys.modules if key.partition(".")[0] == folder]:
        del sys.modules[module]

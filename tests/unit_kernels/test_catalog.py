"""Finding kernel folders and reading their modules under the contract's import rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernels.catalog import SUITE, CatalogError, KernelFolder, kernel_names, load_folder
from kernels.models import MODELS, products

Load = Callable[[Path], KernelFolder]


def folder(root: Path, name: str = "my_kernel", **files: str) -> Path:
    path = root / name
    path.mkdir()
    for stem, text in files.items():
        (path / f"{stem}.py").write_text(text)
    return path


def test_the_suite_is_found() -> None:
    assert "gemm" in kernel_names()
    assert "include" not in kernel_names()


def test_a_folder_with_a_plan_is_a_kernel_and_links_are_not(tmp_path: Path) -> None:
    real = folder(tmp_path, plan="")
    folder(tmp_path, "no_plan", cases="")
    (tmp_path / "link").symlink_to(real)
    assert kernel_names(tmp_path) == ("my_kernel",)
    assert kernel_names(tmp_path / "missing") == ()


def test_modules_see_each_other_as_a_package(tmp_path: Path, load: Load) -> None:
    path = folder(tmp_path, plan="from .cases import SIZE\nfrom . import cases", cases="SIZE = 3\n")
    assert load(path).plan.SIZE == 3


def test_a_broken_reference_does_not_spoil_the_plan(tmp_path: Path, load: Load) -> None:
    read = load(folder(tmp_path, plan="GOOD = 1", reference="def ("))
    assert read.plan.GOOD == 1
    with pytest.raises(CatalogError, match=r"my_kernel/reference\.py:1"):
        _ = read.reference


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        ("import numpy", "'numpy'"),
        ("import os\nfrom scipy.linalg import x", r"plan\.py:2: import of 'scipy'"),
        ("from .sizes import X", r"sizes\.py:1: import of 'numpy'"),
        ("from ..other import X", "above"),
        ("import kernels.spec", "'kernels'"),
    ],
)
def test_imports_outside_the_rule_are_refused(tmp_path: Path, load: Load, plan: str, problem: str) -> None:
    path = folder(tmp_path, plan=plan, sizes="import numpy\nX = 1")
    with pytest.raises(CatalogError, match=problem):
        _ = load(path).plan


def test_a_missing_module_is_named(tmp_path: Path, load: Load) -> None:
    with pytest.raises(CatalogError, match=r"my_kernel/cases\.py is missing"):
        _ = load(folder(tmp_path, plan="")).cases


@pytest.mark.parametrize("name", ["json", "numpy", "not-a-name"])
def test_names_that_would_hide_another_module_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogError, match=name):
        load_folder(folder(tmp_path, name, plan=""))


def test_reference_may_use_numpy(load: Load) -> None:
    assert load(SUITE / "gemm").reference.reference


def test_models_of_the_reference_table() -> None:
    assert set(MODELS) == {"gemma-2b", "llama-1b", "llama-8b", "gpt-oss-20b", "qwen3.5-35b-a3b", "qwen3-next-80b-a3b"}
    assert products(MODELS["gpt-oss-20b"])["attn_qkv"] == (5120, 2880)
    assert products(MODELS["qwen3.5-35b-a3b"])["linear_qkv"] == (8192, 2048)
    assert [MODELS[name].gqa_ratio for name in ("gemma-2b", "llama-1b", "gpt-oss-20b")] == [8, 4, 8]


def test_only_kernel_folders_are_forgotten_between_tests(kernel_packages: Callable[[], list[str]]) -> None:
    import kombu  # a package without a spec that is no kernel's

    assert load_folder(SUITE / "gemm").plan and kombu.__spec__ is None
    assert kernel_packages() == ["gemm"]

"""The sample repository: six pulls of one commit each, made of the suite's own sources, the same SHAs every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.forge import git, sample_repository
from bot.forge.sample_repository import PULLS, SAMPLES, SUITE
from bot.forge.serving import Forge
from bot.forge.world import World

JUDGE = ("cases.py", "reference.py")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The forge's world with the six sample pulls open."""
    world = World()
    for entry in sample_repository.build(tmp_path_factory.mktemp("sample")):
        world.add_repository(entry)
    with Forge(world) as forge:
        forge.open_pulls([{**vars(pull), "repository": "kernelgate/sample"} for pull in PULLS])
    return world


def changed(world: World, number: int) -> dict[str, str]:
    """Changed files of a pull with their status."""
    pull, sample = world.pulls["kernelgate/sample", number], world.repositories["kernelgate/sample"].path
    root = git.merge_base(sample, pull.base_ref, pull.head_sha)
    assert git.count(sample, f"{root}..{pull.head_sha}") == 1
    return {change.name: change.status for change in git.changes(sample, root, pull.head_sha)}


def test_six_pulls_told_to_nobody(world: World) -> None:
    assert [pull.number for pull in world.pulls_of("kernelgate/sample")] == [1, 2, 3, 4, 5, 6]
    assert world.pulls["kernelgate/sample", 6].head_repository == "sam/sample"
    assert world.pulls["kernelgate/sample", 4].base_ref == "tiled"
    assert world.deliveries == {}


@pytest.mark.parametrize(("number", "folder"), [(1, "gemm"), (2, "la_prefill"), (3, "fa_tile"), (4, "gemm"), (6, "gemm")])
def test_a_pull_changes_its_kernel_and_never_the_judge(world: World, number: int, folder: str) -> None:
    files = changed(world, number)
    assert files and all(name.startswith(f"kernels/{folder}/") for name in files)
    assert not any(name.endswith(JUDGE) for name in files)


def test_docs_only_touches_no_kernel(world: World) -> None:
    assert changed(world, 5) == {"README.md": "modified"}


def suite_file(folder: str, name: str) -> Path:
    """Where the sample's file comes from: the suite, but for its cases, of which the sample has fewer."""
    if name == "cases.py":
        return SAMPLES / "narrowed" / folder / name
    return SUITE / folder / name.replace("every_case.py", "cases.py")


@pytest.mark.parametrize(("number", "folder"), [(1, "gemm"), (2, "la_prefill"), (6, "gemm")])
def test_the_head_is_the_suites_own_kernel(world: World, number: int, folder: str) -> None:
    sample, head = world.repositories["kernelgate/sample"].path, world.pulls["kernelgate/sample", number].head_sha
    for _, blob, _, path in git.entries(sample, head, f"kernels/{folder}/"):
        assert git.blob(sample, blob) == suite_file(folder, Path(path).name).read_bytes(), path


def test_the_same_suite_gives_the_same_commits(world: World, tmp_path: Path) -> None:
    again = sample_repository.build(tmp_path)
    assert git.refs(Path(str(again[0]["path"]))) == git.refs(world.repositories["kernelgate/sample"].path)

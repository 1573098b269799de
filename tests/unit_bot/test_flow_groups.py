"""Merge groups: the gate run of their head, less what the members' gate runs judged already."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_house import CASE, REPO, House, good, house
from forged_github import run_git
from test_flow_commands import push

from bot.core.report import load
from bot.forge.merge_queue import dissolve, queue

__all__ = ["house"]


def pull(house: House, branch: str, kernel: str, text: str = "int x;\n") -> int:
    """A pull request that changes one kernel, judged green."""
    bare = house.forged.world.repositories[REPO].path
    run_git(bare, "branch", branch, "main")
    push(house, branch, {f"kernels/{kernel}/{kernel}.cu": text})
    number = house.open_pull(head=branch)
    house.turn()
    house.work([replace(good(), case=replace(CASE, id=f"{kernel}/llama-1b/ffn_down/m16/f32", kernel=kernel))])
    house.turn()
    return number


@pytest.fixture
def two(house: House) -> House:
    """Pull requests 1 (gemm) and 2 (scale), each judged green."""
    push(house, "main", {f"kernels/{name}/plan.py": "\n" for name in ("gemm", "scale")})
    house.forget_deliveries()
    assert [pull(house, "one", "gemm"), pull(house, "two", "scale")] == [1, 2]
    return house


def queued(house: House, *numbers: int) -> str:
    branch = queue(house.forged.forge.service, "mira", *(house.forged.world.pulls[REPO, number] for number in numbers))
    house.turn()
    return branch


def group_check(house: House) -> dict[str, object]:
    newest = house.store.runs.recent(1)[0]
    return house.forged.world.checks_on(REPO, newest.new.head)[0].fields


def test_a_group_of_judged_pulls_is_green_at_once(two: House) -> None:
    queued(two, 1, 2)
    assert two.claim().status_code == 204
    check = group_check(two)
    assert check["conclusion"] == "success" and check["actions"] == []
    report = load(two.store.runs.recent(1)[0].report or b"")
    assert {case.kernel for case in report.cases} == {"gemm", "scale"}
    assert two.forged.world.violations == []


def test_of_a_new_combination_only_that_is_measured(two: House) -> None:
    push(two, "two", {"kernels/scale/scale.cu": "int y;\n"})
    two.forget_deliveries()
    queued(two, 1, 2)
    assert group_check(two)["status"] == "queued"
    assert two.store.runs.recent(1)[0].new.selection.kernels == ("scale",)
    two.work()
    two.turn()
    assert group_check(two)["conclusion"] == "success"


@pytest.mark.parametrize("file", ["kernels/include/x.h", "kernels/gemm/plan.py", ".kernelgate.toml"])
def test_a_base_that_moved_where_it_matters_is_a_new_combination(two: House, file: str) -> None:
    text = two.forged.world.repositories[REPO].path and (
        "version = 1\n[gate]\nrequired = ['host']\nharm = 0.05\n" if "toml" in file else "#\n"
    )
    push(two, "main", {file: text})
    two.forget_deliveries()
    queued(two, 1)
    assert two.store.runs.recent(1)[0].new.selection.kernels == () and group_check(two)["status"] == "queued"


def test_a_kernel_that_may_include_another_is_measured(house: House) -> None:
    push(house, "main", {"kernels/gemm/plan.py": "\n"})
    house.forget_deliveries()
    pull(house, "one", "gemm", '#include "../scale/x.h"\n')
    queued(house, 1)
    assert group_check(house)["status"] == "queued"


def test_a_dissolved_group_is_called_off(two: House) -> None:
    push(two, "main", {"kernels/include/x.h": "//\n"})
    two.forget_deliveries()
    branch = queued(two, 1)
    dissolve(two.forged.forge.service, "mira", two.forged.world.pulls[REPO, 1], branch)
    two.turn()
    assert two.store.runs.recent(1)[0].cancelled == "the merge group was dissolved"
    assert group_check(two)["conclusion"] == "cancelled"
    assert two.forged.world.violations == []

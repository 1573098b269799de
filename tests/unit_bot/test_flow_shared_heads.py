"""Several pull requests on one head: a run that two of them wait for is not called off by one."""

from __future__ import annotations

import pytest
from control_house import REPO, House, house
from forged_github import run_git
from test_flow_commands import asked, head, push

__all__ = ["house"]


@pytest.fixture
def twins(house: House) -> House:
    """Two pull requests of one head, by noor and by tess (who may not write), and the gate run that both asked for."""
    bare = house.forged.world.repositories[REPO].path
    run_git(bare, "branch", "twin", "change")
    house.open_pull("noor", "change")
    house.open_pull("tess", "twin")
    house.forget_deliveries()
    for number in (1, 2):
        house.comment("/run-test models=all", number=number)
    house.turn()
    assert len(house.store.runs.recent()) == 1
    return house


def conclusions(house: House, number: int) -> list[str | None]:
    return [check.get("conclusion") for check in house.checks(number)]


def closed(house: House, number: int) -> None:
    house.forged.call("PATCH", f"/repos/{REPO}/pulls/{number}", "mira", state="closed")
    house.turn()


def test_a_push_to_one_leaves_the_run_to_the_other(twins: House) -> None:
    push(twins, "change", {"more.md": "more\n"})
    twins.turn()
    assert [view.new.head for view in twins.store.runs.active(REPO, 2)] == [head(twins, 2)] != [head(twins, 1)]
    for _ in range(2):
        twins.work()
    twins.turn()
    assert [len(twins.answers(number)) for number in (1, 2)] == [1, 1]
    assert conclusions(twins, 1) == conclusions(twins, 2) == ["success"]


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1)])
def test_the_last_one_to_close_calls_it_off(twins: House, first: int, second: int) -> None:
    closed(twins, first)
    assert len(twins.store.runs.active(REPO, second)) == 1
    closed(twins, second)
    assert twins.store.runs.active(REPO, second) == [] and conclusions(twins, second) == ["cancelled"]


def test_who_may_not_write_cancels_no_run_of_another(twins: House) -> None:
    assert "write permission" in asked(twins, "/cancel", "tess", 2)
    assert len(twins.store.runs.active(REPO, 1)) == 1
    closed(twins, 1)
    asked(twins, "/cancel", "tess", 2)
    assert conclusions(twins, 2) == ["cancelled"]


def test_a_writer_cancels_for_both_but_nothing_that_was_left_behind(twins: House) -> None:
    push(twins, "change", {"more.md": "more\n"})
    twins.turn()
    asked(twins, "/cancel", "mira", 1)
    assert twins.store.runs.active(REPO, 1) != [] and conclusions(twins, 1) == ["cancelled"]
    asked(twins, "/cancel", "noor", 2)
    assert twins.store.runs.active(REPO, 2) == [] and conclusions(twins, 2) == ["cancelled"]


def test_a_strangers_approved_run_is_not_joined_as_a_trusted_one(house: House) -> None:
    repositories = house.forged.world.repositories
    run_git(repositories[REPO].path, "fetch", "-q", str(repositories["sam/sample"].path), "other:other")
    house.open_pull("sam", "sam:other")
    house.comment(f"/ok-to-test {head(house)}")
    house.turn()
    house.open_pull("noor", "other")
    house.turn()
    assert head(house, 1) == head(house, 2)
    assert [(run.new.number, run.new.trusted) for run in house.store.runs.recent()] == [(2, True), (1, False)]


@pytest.mark.parametrize(("file", "runs"), [("kernels/scale/scale.cu", 1), ("kernels/scale/plan.py", 1), ("kernels/scale/reference.py", 2)])
def test_a_green_of_before_the_judge_moved_is_not_joined(house: House, file: str, runs: int) -> None:
    house.open_pull()
    house.forget_deliveries()
    house.comment("/run-test models=all")
    house.turn()
    house.work()
    house.turn()
    push(house, "main", {file: "# moved on\n"})
    house.forget_deliveries()
    house.comment("/run-test models=all")
    house.turn()
    assert len(house.store.runs.recent()) == runs

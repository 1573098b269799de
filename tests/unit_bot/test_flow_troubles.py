"""Outages of GitHub, refusals of GitHub and bugs of ours are told apart, and each is counted as what it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from control_house import good
from paper_github import HEAD, PaperGitHub
from paper_scene import Scene

from bot.core.records import PullState
from bot.flow.ports import Ancestry, Declined, Unavailable

OUTAGE = Unavailable("503 Service Unavailable", wait=1.0)
BUG = ZeroDivisionError("a bug of ours")


@dataclass
class FaultyGitHub(PaperGitHub):
    """Raises these faults, one a call, before it answers; finds comments above `most` characters too long."""

    reading: list[Exception] = field(default_factory=list)
    planning: list[Exception] = field(default_factory=list)
    answering: list[Exception] = field(default_factory=list)
    adopted: bool = True
    most: int = 65_536

    def pull(self, repository: str, number: int) -> PullState:
        if self.reading:
            raise self.reading.pop(0)
        return super().pull(repository, number)

    def ancestry(self, repository: str, base_ref: str, head: str) -> Ancestry:
        if self.planning:
            raise self.planning.pop(0)
        return super().ancestry(repository, base_ref, head)

    def file(self, repository: str, path: str, ref: str) -> str | None:
        return super().file(repository, path, ref) if self.adopted else None

    def create_comment(self, repository: str, number: int, body: str) -> str:
        if "kernelgate:answer" in body and self.answering:
            raise self.answering.pop(0)
        if len(body) > self.most:
            raise Declined("422 body is too long")
        return super().create_comment(repository, number, body)


def long_answer(folder: Path, github: FaultyGitHub) -> str:
    """The answer to a run of so many cases that all of it is longer than the shortest that is tried."""
    scene, case = Scene(folder, github), good().case
    ids = [f"gemm/llama-1b/{n:0>60}/m16/f32" for n in range(150)]
    scene.found = [replace(good(), case=replace(case, id=name, role=name.split("/")[2])) for name in ids]
    scene.comment("/run-test models=all")
    for _ in range(3):
        scene.play()
    return github.starting("answer")[0]


def test_an_answer_after_an_outage_is_whole(tmp_path: Path) -> None:
    answer = long_answer(tmp_path, FaultyGitHub(answering=[OUTAGE] * 4))
    assert len(answer) > 8_000 and "Sections were left out" not in answer


def test_an_answer_that_github_finds_too_long_is_shortened(tmp_path: Path) -> None:
    answer = long_answer(tmp_path, FaultyGitHub(most=9_000))
    assert len(answer) < 9_000 and "Sections were left out" in answer


@pytest.mark.parametrize(("faults", "tried"), [([OUTAGE] * 5 + [BUG] * 2, True), ([BUG] * 3, False)], ids=["outages", "bugs"])
def test_a_command_is_given_up_for_bugs_only(tmp_path: Path, faults: list[Exception], tried: bool) -> None:
    github = FaultyGitHub(reading=faults)
    scene = Scene(tmp_path, github)
    scene.comment("/run-test models=all")
    for _ in range(3):
        scene.play()
    assert (len(scene.store.runs.recent()) == 1) is tried
    assert ("on our side failed" in github.starting("answer")[0]) is not tried


@pytest.mark.parametrize("adopted", [True, False])
def test_a_push_that_our_bugs_kept_from_its_gate_run_has_a_check_that_says_so(tmp_path: Path, adopted: bool) -> None:
    github = FaultyGitHub(planning=[BUG] * 3, adopted=adopted)
    scene = Scene(tmp_path, github)
    scene.push()
    scene.play()
    assert [(check.head, check.conclusion) for check in github.checks.values()] == ([(HEAD, "action_required")] if adopted else [])
    assert all("could not start" in check.title and "/run-test" in check.summary for check in github.checks.values())
    scene.comment("/run-test models=all")
    scene.play()
    assert [check.conclusion for check in github.checks.values()] == (["success"] if adopted else [])
    assert "could not start" not in github.starting("card")[0]


def test_a_bug_in_asking_github_leaves_a_check_too(tmp_path: Path) -> None:
    github = FaultyGitHub(reading=[BUG] * 4)
    scene = Scene(tmp_path, github)
    scene.push()
    scene.play()
    assert [check.conclusion for check in github.checks.values()] == ["action_required"]

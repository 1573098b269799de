"""Findings stand at head's lines in the check: once, in plain text, and only where the place can be one of the repository."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_house import House, good, house
from sample_runs import LOST, RUNS, SYNTAX, case, run

from bot.adapters import rendering
from bot.core.enums import CaseVerdict, RunVerdict
from bot.core.places import places
from runners.protocol import Accuracies, Builds, Failure, FailureKind, Race, Side

__all__ = ["house"]

TOKEN = "ghp_" + "a" * 36


def failed(*failures: Failure, **more: object) -> object:
    return case("ffn_up", CaseVerdict.BUILD_FAILED, accuracy=Accuracies(), failures=failures, **more)


def test_a_line_is_named_once_however_many_cases_and_findings_it_has() -> None:
    told = places(RUNS["broken"])
    assert [(one.path, one.line, one.verdict.value, one.cases) for one in told] == [
        ("kernels/fa_tile/fa_tile.cu", 88, "incorrect", 1),
        ("gemm.cu", 12, "build_failed", 1),
    ]
    twice = run(RunVerdict.BROKEN, failed(SYNTAX), replace(failed(SYNTAX), id="gemm/other"))  # type: ignore[type-var]
    (said,) = rendering.annotations(twice)
    assert (said.level, said.title, said.message) == ("failure", "build failed in 2 cases", "gemm.cu:12: expected ';'")


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../a.cu", "a/../../b.cu", "a\n.cu", "a\u202e.cu", "x" * 501])
def test_a_path_that_is_not_of_the_repository_is_left_out(path: str) -> None:
    assert places(run(RunVerdict.BROKEN, failed(replace(SYNTAX, file=path)))) == ()
    assert places(run(RunVerdict.BROKEN, failed(races=(Race(path, 3, "m"),)))) == ()


@pytest.mark.parametrize(
    "fault", [replace(SYNTAX, line=0), replace(SYNTAX, side=Side.BASE), replace(SYNTAX, kind=FailureKind.INFRASTRUCTURE)]
)
def test_what_has_no_line_or_is_not_the_heads_is_left_out(fault: Failure) -> None:
    assert places(run(RunVerdict.BROKEN, failed(fault))) == ()


def test_what_base_had_too_is_no_finding_of_head() -> None:
    assert places(run(RunVerdict.BROKEN, failed(SYNTAX, base_failed=True))) == ()


def test_the_text_is_bare_and_short_and_a_waived_finding_warns() -> None:
    loud = replace(SYNTAX, message=f"\u202e{TOKEN} " + "x" * 9000)
    (said,) = rendering.annotations(run(RunVerdict.PASS, failed(loud)))
    assert said.level == "warning" and said.message.startswith("[redacted] xxx") and len(said.message) == 4000
    (empty,) = rendering.annotations(run(RunVerdict.BROKEN, failed(replace(SYNTAX, message="\u200b"))))
    assert empty.message == "no message"


def test_sixty_lines_are_brought_in_portions_and_not_again_by_a_later_edit(house: House) -> None:
    house.open_pull()
    house.forget_deliveries()
    house.comment("/run-test models=all")
    house.turn()
    faults = tuple(replace(LOST, line=at) for at in range(1, 61))
    house.work([replace(good(), identical=False, build=Builds(), accuracy=Accuracies(), failures=faults)])
    for _ in range(3):
        house.turn()
    (check,) = house.checks()
    assert check["conclusion"] == "failure"
    assert [one["start_line"] for one in check["output"]["annotations"]] == list(range(1, 61))
    assert {one["path"] for one in check["output"]["annotations"]} == {LOST.file}
    assert house.forged.world.violations == []

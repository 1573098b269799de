"""The demo's own judgement: remarks that hold only for the right reason, folds shown closed, processes ended by their id."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.demo import demo, expected, show
from bot.cli.demo.processes import DemoError, Processes
from bot.core.enums import CaseVerdict, RunVerdict
from bot.core.report import CaseReport, Run, SideTime, SideTimes
from bot.forge.sample_repository import PULLS
from runners.protocol import Race
from runners.toolchains import ToolchainMissing

CASE = CaseReport("gemm/edge/x/m1/f32", "gemm", "edge", {}, "f32", {}, "host", CaseVerdict.IDENTICAL)
RUN = Run(1, RunVerdict.PASS, "", "kernelgate/sample", "a" * 40, "b" * 40, "/run-test", "2026-01-01T00:00:00Z", 1.0, True)


def run_of(**fields: object) -> Run:
    return replace(RUN, cases=(replace(CASE, **fields),))  # type: ignore[arg-type]


def test_every_sample_pull_has_its_expectation() -> None:
    assert [pull.number for pull in PULLS] == list(expected.EXPECTED)


def test_faster_means_that_kernel() -> None:
    remark = expected.faster("gemm")
    assert remark(run_of(verdict=CaseVerdict.FASTER), "") == ""
    assert remark(run_of(verdict=CaseVerdict.FASTER, kernel="fa_tile"), "") and remark(run_of(), "")


def test_the_race_must_be_named_in_the_comment() -> None:
    run = run_of(verdict=CaseVerdict.INCORRECT, races=(Race("kernels/fa_tile/fa_tile.cu", 281, "two threads"),))
    remark = expected.race_line("fa_tile.cu")
    assert remark(run, "at `kernels/fa_tile/fa_tile.cu:281`") == ""
    assert remark(run, "somewhere") and remark(run_of(), "fa_tile.cu:281")


def test_untimed_means_identical_and_no_time() -> None:
    assert expected.untimed(run_of(), "") == ""
    assert expected.untimed(run_of(verdict=CaseVerdict.SAME), "")
    assert expected.untimed(run_of(time_us=SideTimes(base=SideTime(1.0))), "")


def test_folds_are_shown_closed_and_the_rest_whole() -> None:
    text = "a\n<details><summary>one</summary>\n\nhidden <details><summary>two</summary>x</details>\n</details>\nb <sub>c</sub><!-- id -->"
    shown = show.folded(text)
    assert "▸ one" in shown and "hidden" not in shown and "two" not in shown
    assert shown.startswith("a\n") and shown.endswith("\nb c")


def test_processes_are_ended_and_a_death_is_told(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        processes.start("sleeper", [sys.executable, "-c", "import time; time.sleep(60)"], {})
        pid = processes.running["sleeper"].pid
        processes.start("failing", [sys.executable, "-c", "raise SystemExit('no luck')"], {})
        with pytest.raises(DemoError, match="failing ended with 1:\nno luck"):
            processes.wait_for("failing", lambda: bool(time.sleep(0.05)))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_machine_without_a_compiler_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ToolchainMissing("no C++ compiler: install g++ or clang++")

    monkeypatch.setattr("runners.toolchains.host_compiler.find", missing)
    result = CliRunner().invoke(demo, ["--once"])
    assert result.exit_code == 2
    assert "no C++ compiler: install g++ or clang++" in result.output

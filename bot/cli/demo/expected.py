"""What each sample pull must come to: its verdict, and the remark that shows it was reached for the right reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.core.enums import CaseVerdict, RunVerdict
from bot.core.report import Run

Remark = Callable[[Run, str], str]  # what is wrong with this run and its comment; empty if nothing


def faster(kernel: str) -> Remark:
    def remark(run: Run, comment: str) -> str:
        found = any(case.verdict is CaseVerdict.FASTER and case.kernel == kernel for case in run.cases)
        return "" if found else f"no case of {kernel} is faster"

    return remark


def race_line(source: str) -> Remark:
    def remark(run: Run, comment: str) -> str:
        lines = {f"{race.file}:{race.line}" for case in run.cases for race in case.races if race.file.endswith(source)}
        return "" if any(line.rpartition("/")[2] in comment for line in lines) else f"no race of {source} is named by its line"

    return remark


def slower(run: Run, comment: str) -> str:
    return "" if any(case.verdict is CaseVerdict.SLOWER for case in run.cases) else "no case is slower"


def untimed(run: Run, comment: str) -> str:
    """Every case identical, nothing measured."""
    if any(case.verdict is not CaseVerdict.IDENTICAL for case in run.cases if not case.held_out):
        return "a case is not identical"
    return "time was measured" if any(case.time_us.base or case.time_us.head or case.quads for case in run.cases) else ""


@dataclass(frozen=True)
class Expectation:
    verdict: RunVerdict
    remark: Remark
    told: str  # the remark in words, for the summary
    approval: bool = False  # must not run before /ok-to-test


EXPECTED = {
    1: Expectation(RunVerdict.PASS, faster("gemm"), "faster"),
    2: Expectation(RunVerdict.PASS, faster("la_prefill"), "faster"),
    3: Expectation(RunVerdict.BROKEN, race_line("fa_tile.cu"), "names the race's line"),
    4: Expectation(RunVerdict.REGRESSED, slower, "slower"),
    5: Expectation(RunVerdict.PASS, untimed, "no time measured"),
    6: Expectation(RunVerdict.PASS, faster("gemm"), "nothing before approval", approval=True),
}

"""Where in head's source a run's findings are: the lines that the check's annotations stand at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from bot.core.enums import CaseVerdict
from bot.core.report import CaseReport, Run
from runners.protocol import FailureKind, Side

LONGEST_PATH = 500
AT_HEAD = (CaseVerdict.BUILD_FAILED, CaseVerdict.CRASHED, CaseVerdict.TIMED_OUT, CaseVerdict.INCORRECT)


@dataclass(frozen=True)
class Place:
    """The first thing said of a line, and how many cases have a finding there."""

    path: str
    line: int
    verdict: CaseVerdict
    message: str
    cases: int


def places(run: Run) -> tuple[Place, ...]:
    """Each line with a finding that head brought, in the order of the cases; what base had too is no finding."""
    found: dict[tuple[str, int], Place] = {}
    counted: dict[tuple[str, int], set[tuple[str, str]]] = {}
    for case in run.cases:
        if case.verdict in AT_HEAD and not case.base_failed:
            for path, line, message in _said(case):
                at = path, line
                counted.setdefault(at, set()).add((case.pool, case.id))
                found[at] = replace(found.get(at, Place(path, line, case.verdict, message, 0)), cases=len(counted[at]))
    return tuple(found.values())


def _said(case: CaseReport) -> Iterator[tuple[str, int, str]]:
    for failure in case.failures:
        if failure.kind is not FailureKind.INFRASTRUCTURE and failure.side is not Side.BASE and _real(failure.file, failure.line):
            yield failure.file, failure.line, failure.message
    for race in case.races:
        if _real(race.file, race.line):
            yield race.file, race.line, race.message


def _real(path: str, line: int) -> bool:
    """Whether a place can be one of the repository; a `#line` of the pull request can claim any."""
    parts = PurePosixPath(path).parts
    return line > 0 and 0 < len(path) <= LONGEST_PATH and path.isprintable() and path[0] != "/" and ".." not in parts

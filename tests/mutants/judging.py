"""Puts mutants through the real judge: one tree with a folder for each, one job for all, the worker with its sandboxes."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from mutant import SUITE, How, Mutant
from small_suite import Facts, job

from bot.core.case_verdict import CaseRules, judge_case
from bot.core.report import CaseReport
from runners import worker
from runners.protocol import Ending, Mode, Selection

CASES = '''"""Of every case there is, those that this folder is to be judged by: smoke cases, and small ones of the full tier."""

from .every_case import buffers, cases as every, draw as any_shape

CHOSEN = {chosen}
DRAWN = {drawn}
FOLDER = __name__.partition(".")[0]


def cases(tier, device):
    found = {{case["id"]: case for case in every("smoke", device)}}
    if set(CHOSEN[FOLDER]) - set(found):
        found = {{case["id"]: case for case in every("full", device)}} | found
    return [found[name] for name in CHOSEN[FOLDER]]


def draw(seed, device):
    return any_shape(seed, device) if DRAWN else []
'''


def whole(kernel: str) -> str:
    """The folder of a kernel as it is."""
    return f"{kernel}__whole"


def judge(mutants: Sequence[Mutant], how: How, root: Path, tunables: str = "") -> dict[str, list[CaseReport]]:
    """What the judge says of each folder's cases; where mutants are judged by accuracy, those of the kernels as they are too.

    The judge's folders are whole and equal to each other, so that each case's limit is worked out once. The base is empty,
    as in `check`, but where mutants are timed.
    """
    chosen = {mutant.folder: mutant.cases for mutant in mutants}
    if how is How.ACCURACY:
        for kernel in {mutant.kernel for mutant in mutants}:
            chosen[whole(kernel)] = tuple(dict.fromkeys(case for m in mutants if m.kernel == kernel for case in m.cases))
    trees = lay(mutants, chosen, root, drawn=how is How.HELD_OUT, timed=how is How.TIMED)
    name, _, value = tunables.partition(":")
    modes = (Mode.ACCURACY, Mode.PERFORMANCE) if how is How.TIMED else (Mode.ACCURACY,)
    flags = () if how is How.TIMED else ("-O1",)  # wrong is wrong at any level, and a hundred folders compile faster
    asked = job(selection=Selection(modes=modes, sweep={name: (value,)} if tunables else {}, head_flags=flags))
    facts = Facts()
    outcome = worker.execute(asked, trees, "host", facts, threading.Event(), races=how is How.RACES)
    assert outcome.ending is Ending.COMPLETED, outcome
    rules = CaseRules(timed=how is How.TIMED, pool="host")
    return by_folder(chosen, [judge_case(found, rules) for found in facts.measurements])


def lay(mutants: Sequence[Mutant], chosen: Mapping[str, Sequence[str]], root: Path, drawn: bool, timed: bool) -> worker.Trees:
    """The judge's tree with each folder whole, and head's with the mutants."""
    tree, head, nothing = root / "judge", root / "head", root / "nothing"
    nothing.mkdir(parents=True)
    cases = CASES.format(chosen=dict(chosen), drawn=drawn)
    for name in chosen:
        folder = tree / "kernels" / name
        shutil.copytree(SUITE / name.partition("__")[0], folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "cases.py").rename(folder / "every_case.py")
        (folder / "cases.py").write_text(cases, encoding="utf-8")
    shutil.copytree(tree, head)
    for mutant in mutants:
        (head / "kernels" / mutant.folder / mutant.file).write_text(mutant.text(), encoding="utf-8")
    return worker.Trees(tree if timed else nothing, head, tree)


def by_folder(chosen: Mapping[str, Sequence[str]], reports: Sequence[CaseReport]) -> dict[str, list[CaseReport]]:
    """A case does not say whose folder it is of, but the worker goes through folders by name: equal cases come in that order.

    Where one folder alone was judged, drawn cases are its own too.
    """
    if len(chosen) == 1:
        return {next(iter(chosen)): list(reports)}
    owners: dict[str, list[str]] = {}
    for folder in sorted(chosen):
        for case in chosen[folder]:
            owners.setdefault(case, []).append(folder)
    found: dict[str, list[CaseReport]] = {folder: [] for folder in chosen}
    for report in reports:
        found[owners[report.id].pop(0)].append(report)
    assert not any(owners.values()), f"not judged: {owners}"
    return found


def words(report: CaseReport) -> str:
    """What a reader is told of a case: its reason, and the races."""
    return "; ".join([report.reason, *(f"{race.file}:{race.line}: {race.message}" for race in report.races)])

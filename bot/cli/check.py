"""`kernelgate check`: correctness of a working tree, as it lies there, without a base."""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from pydantic import TypeAdapter
from tabulate import tabulate

from bot.cli import local
from bot.cli.out_file import DASH, OutFile, deliver
from bot.core.case_verdict import BAD, CaseRules, judge_case
from bot.core.enums import CaseVerdict
from bot.core.errors import PersonError
from bot.core.repo_config import RepoConfig
from bot.core.report import CaseReport
from runners import worker
from runners.protocol import Job, Mode, Outcome
from runners.scratch import readable
from runners.trees import kernels_of

KEYS = ("models", "kernels", "set", "head-flags", "budget")
UNNAMED = "0" * 40
HEADERS = ("Case", "Tunables", "Verdict", "rel. L2", "Limit", "Reason")
LEFT_OUT = frozenset({"__pycache__", "node_modules", "build"})


@click.command()
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="the working tree (default: here)")
@click.option(
    "--device", type=local.Device(), default="host", show_default=True, metavar="host|cuda:N|hip:N", help="host: the emulator, on this CPU"
)
@click.option("--races", is_flag=True, help="also the emulator's race check (host only)")
@click.option("--json", "json_file", type=OutFile(), help="write the cases here ('-': stdout)")
@click.option("--quiet", is_flag=True, help="no progress on stderr")
def check(words: tuple[str, ...], repo: Path, device: str, races: bool, json_file: Path | None, quiet: bool) -> None:
    """Check the kernels of a working tree, as it lies there, against their fp64 references. Nothing is timed.

    KEY=VALUE are those of /run-test: models, kernels, set, head-flags, budget; without any, all kernels are checked.

    Exit: 0 all correct, 1 something is wrong, 2 cannot tell.
    """
    collector = local.Collector(quiet)
    try:
        job = _job(words, local.config_in(repo), device)
        outcome = _execute(job, repo, device, collector, races)
    except (PersonError, ValueError) as error:
        raise local.CannotRun(str(error)) from error
    if outcome.failure or not collector.measurements:
        raise local.CannotRun(outcome.failure.message if outcome.failure else "no case was checked")
    cases = [judge_case(found, CaseRules(timed=False, pool=job.pool)) for found in collector.measurements]
    good = not any(case.verdict in BAD for case in cases)
    _write(json_file, good, cases)
    if json_file != DASH:
        _show(cases)
    sys.exit(0 if all(case.verdict is CaseVerdict.CORRECT for case in cases) else 1 if not good else 2)


def _job(words: tuple[str, ...], config: RepoConfig, device: str) -> Job:
    command = local.command_of(words, KEYS)
    accurate = replace(command, options={**command.options, "mode": (Mode.ACCURACY.value,)})
    plan = local.plan_for(accurate, config, device)
    job = local.job_for(local.Sides(UNNAMED, UNNAMED, UNNAMED, UNNAMED), plan, config, device)
    return TypeAdapter(Job).validate_python({**vars(job), "static": False})


def _execute(job: Job, repo: Path, device: str, report: local.Collector, races: bool) -> Outcome:
    """The tree is judge and head; the base is empty, so that no kernel counts as unchanged."""
    with readable(), tempfile.TemporaryDirectory(prefix="kernelgate-check-") as made:
        tree, nothing = Path(made, "tree"), Path(made, "nothing")
        nothing.mkdir()
        copy(repo, tree)
        report.selection, report.folders = job.selection, kernels_of(tree, job.suite)
        local.require_kernels(report.folders, job.suite)
        with local.stoppable() as stop:
            return worker.execute(job, worker.Trees(nothing, tree, tree), device, report, stop, races=races)


def copy(repo: Path, into: Path) -> None:
    """The files of a working tree below the new folder `into`, which may lie in it; CannotRun names one that can't be had."""
    try:
        _copy(repo.resolve(), into.resolve(), into.resolve())
    except OSError as error:
        raise local.CannotRun(f"{error.filename} can't be copied: {error.strerror}") from error


def _copy(folder: Path, into: Path, made: Path) -> None:
    into.mkdir(parents=True)
    for path in sorted(folder.iterdir()):
        if path == made or not _is_part(path):
            continue
        if path.is_dir():
            _copy(path, into / path.name, made)
        else:
            shutil.copyfile(path, into / path.name)


def _is_part(path: Path) -> bool:
    """Whether a checkout would hold it: no git folder, cache, environment, link, pipe, socket or device."""
    mode = path.lstat().st_mode
    return path.name not in LEFT_OUT and not path.name.startswith(".") and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write(file: Path | None, good: bool, cases: list[CaseReport]) -> None:
    if file is None:
        return
    data: dict[str, Any] = {"schema": 1, "ok": good, "cases": cases}
    text = TypeAdapter(dict[str, Any]).dump_json(data, indent=1)
    deliver(file, text + b"\n")


def _show(cases: list[CaseReport]) -> None:
    rows = []
    for case in cases:
        found = case.accuracy.head
        figures = (f"{found.rel_l2:.2e}" if found.rel_l2 is not None else "-", f"{found.limit:.2e}") if found else ("-", "-")
        tunables = " ".join(f"{name}={value}" for name, value in case.tunables.items())
        raced = [f"{race.file}:{race.line}: {race.message}" for race in case.races[:1]]
        reason = "; ".join(dict.fromkeys(filter(None, [case.reason, *raced])))
        rows.append((case.id, tunables, case.verdict.value, *figures, reason))
    click.echo(tabulate(rows, HEADERS, disable_numparse=True))

"""`kernelgate static`: code objects and their resources on every target, and how a revision changed them."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click
from tabulate import tabulate

from bot.adapters import static_page
from bot.cli import local
from bot.cli.out_file import DASH, OutFile, deliver
from bot.core.enums import StaticVerdict
from bot.core.errors import PersonError
from bot.core.static_gate import compare
from runners import checkout, static_gate
from runners.child import Room
from runners.enumeration import JudgeBroken
from runners.protocol import Job, Selection, StaticEntry
from runners.sandbox import SandboxError
from runners.scratch import readable
from runners.toolchains import ToolchainMissing
from runners.toolchains.remembered import listing_of
from runners.trees import Trees, kernels_of

UNUSED = "0" * 40


@click.command()
@click.option("--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="the repository (default: here)")
@click.option("--rev", metavar="REV", help="branch, tag or SHA to compile (default: the working tree)")
@click.option("--base", metavar="REV", help="branch, tag or SHA to compare with: its merge-base with what is compiled")
@click.option("--targets", default=",".join(static_gate.TARGETS), show_default=True, help="which to compile for, comma list")
@click.option("--json", "json_file", type=OutFile(), help="write the entries here ('-': stdout)")
@click.option("--html", "html_file", type=OutFile(), help="write a page with both sides' figures and listings here ('-': stdout)")
def static(repo: Path, rev: str | None, base: str | None, targets: str, json_file: Path | None, html_file: Path | None) -> None:
    """Registers, shared memory, spills, occupancy and instructions of every kernel and tuning row: compiled, not run.

    Exit: 0 all compile and fit, 1 something does not, or spills more than at the base, 2 cannot tell. Lost occupancy only warns.
    """
    try:
        entries = _entries(repo.resolve(), rev, base, _known(targets))
    except (checkout.CheckoutError, PersonError, JudgeBroken, SandboxError, ToolchainMissing, ValueError) as error:
        raise local.CannotRun(str(error)) from error
    reports = [report if base or report.change != "new" else replace(report, change="") for report in compare(entries)]
    ok = not any(report.verdict is StaticVerdict.FAIL for report in reports)
    if json_file:
        text = json.dumps({"schema": 1, "ok": ok, "static": [asdict(report) for report in reports]}, indent=1) + "\n"
        deliver(json_file, text.encode())
    if html_file:
        deliver(html_file, static_page.page(entries, listing_of).encode())
    shown = [report for report in reports if not base or report.change or report.verdict is not StaticVerdict.OK]
    if shown:
        table = tabulate([static_page.cells(report) for report in shown], static_page.HEADERS, disable_numparse=True)
        click.echo(table, err=DASH in (json_file, html_file))
    if base:
        click.echo(f"{len(shown)} of {len(reports)} rows changed or are no good", err=DASH in (json_file, html_file))
    for report in reports:
        if report.log and report.change:
            click.echo(f"\n{report.target} {report.kernel} {report.row}\n{report.log}", err=True)
    sys.exit(0 if ok else 1)


def _known(targets: str) -> tuple[str, ...]:
    """The targets named, each one described and with a compiler on this machine."""
    chosen = tuple(targets.split(","))
    for target in chosen:
        if target not in static_gate.TARGETS:
            raise ValueError(f"{target!r} is no target: use {', '.join(static_gate.TARGETS)}")
        if reason := static_gate.missing(target):
            raise ToolchainMissing(reason)
    return chosen


def _entries(repo: Path, rev: str | None, base: str | None, targets: Sequence[str]) -> tuple[StaticEntry, ...]:
    with readable(), tempfile.TemporaryDirectory(prefix="kernelgate-static-") as made:
        trees, suite = _trees(repo, rev, base, Path(made))
        local.require_kernels(kernels_of(trees.head, suite), suite)
        job = Job(1, "local", "local", "1", "local", "", UNUSED, UNUSED, UNUSED, "host", Selection(), 0.0, 0.1, 0.03, suite=suite)
        with local.stoppable() as stop:
            return static_gate.entries(job, trees, Room(stop), targets, everything=True)


def _trees(repo: Path, rev: str | None, base: str | None, made: Path) -> tuple[Trees, str]:
    """Both sides as folders; without a base its side is an empty one, and head's own cases are taken."""
    empty = made / "empty"
    empty.mkdir()
    if rev is None and base is None:
        return Trees(empty, repo, repo), local.config_in(repo).suite.kernels
    repository = checkout.git_directory(repo)
    top = checkout.resolve(repository, rev or "HEAD")
    head = _exported(repository, top, made / "head") if rev else repo
    if base is None:
        return Trees(empty, head, head), local.config_of(repository, top).suite.kernels
    before = _exported(repository, checkout.merge_base(repository, checkout.resolve(repository, base), top), made / "base")
    return Trees(before, head, before), local.config_of(repository, base).suite.kernels


def _exported(repository: Path, sha: str, into: Path) -> Path:
    checkout.export(repository, sha, into)
    return into

"""`kernelgate run`: the gate on a checkout, base against head on one device, without GitHub or broker."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bot.adapters import rendering
from bot.cli import local
from bot.cli.out_file import DASH, OutFile, deliver
from bot.core import report
from bot.core.enums import RunVerdict
from bot.core.errors import PersonError
from runners import checkout

KEYS = ("models", "kernels", "mode", "base", "budget", "set", "head-flags", "base-flags")
EXITS = {RunVerdict.PASS: 0, RunVerdict.REGRESSED: 1, RunVerdict.BROKEN: 1}


@click.command()
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--repo", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="the repository (default: here)")
@click.option("--base", required=True, metavar="REV", help="branch, tag or SHA; its merge-base with head is compared against")
@click.option("--head", required=True, metavar="REV", help="branch, tag or SHA to judge")
@click.option(
    "--device", type=local.Device(), default="host", show_default=True, metavar="host|cuda:N|hip:N", help="host: the emulator, on this CPU"
)
@click.option("--json", "json_file", type=OutFile(), help="write the run here ('-': stdout)")
@click.option("--markdown", type=OutFile(), help="write the report here as a comment would show it")
@click.option("--quiet", is_flag=True, help="no progress on stderr")
def run(
    words: tuple[str, ...], repo: Path, base: str, head: str, device: str, json_file: Path | None, markdown: Path | None, quiet: bool
) -> None:
    """Judge the commit HEAD against BASE on one device, and print the report that a pull request would get.

    KEY=VALUE are those of /run-test: models, kernels, mode, base, budget, set, head-flags, base-flags;
    without any, all kernels are checked and timed. The working tree does not matter, only what is committed.

    \b
    kernelgate run --base main --head HEAD
    kernelgate run models=llama-1b mode=accuracy --base main --head my-branch

    Exit: 0 pass, 1 regressed or broken, 3 any other verdict, 2 cannot run.
    """
    made = _run(words, repo, base, head, device, quiet)
    text = rendering.answer(made)
    if markdown:
        deliver(markdown, text.encode())
    if json_file:
        deliver(json_file, report.dump(made) + b"\n")
    if DASH not in (json_file, markdown):
        click.echo(text)
    sys.exit(EXITS.get(made.verdict, 3))


def _run(words: tuple[str, ...], repo: Path, base: str, head: str, device: str, quiet: bool) -> report.Run:
    collector = local.Collector(quiet)
    try:
        command = local.command_of(words, KEYS)
        repository = checkout.git_directory(repo.resolve())
        config = local.config_of(repository, base)
        plan = local.plan_for(command, config, device)
        job = local.job_for(local.sides_of(repository, base, head, command), plan, config, device)
        outcome = local.execute(job, repository, device, collector)
    except (checkout.CheckoutError, PersonError, ValueError) as error:
        raise local.CannotRun(str(error)) from error
    if outcome.failure and outcome.node is None:
        raise local.CannotRun(outcome.failure.message)
    return local.judged(job, command, outcome, collector, repo.resolve().name)

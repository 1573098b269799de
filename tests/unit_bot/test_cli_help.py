"""What a newcomer reads: every command explains itself, its options and its exit codes; a typo meets the nearest name."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from bot.cli.main import COMMANDS, main

VERDICTS = ("run", "check", "static", "judge", "parse", "demo", "doctor")


def shown(*words: str) -> str:
    done = CliRunner().invoke(main, [*words, "--help"], terminal_width=200)
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    command = main.get_command(click.Context(main), name)  # type: ignore[attr-defined]
    assert command is not None and command.help
    assert all(option.help for option in command.params if isinstance(option, click.Option))


@pytest.mark.parametrize("name", VERDICTS)
def test_a_command_that_answers_yes_or_no_says_by_which_exit_code(name: str) -> None:
    assert "Exit: 0" in shown(name)


def test_a_mistyped_command_is_told_the_nearest() -> None:
    done = CliRunner().invoke(main, ["rnu"])
    assert done.exit_code == 2 and "No such command 'rnu'. Did you mean 'run'?" in done.output
    assert "Did you mean" not in CliRunner().invoke(main, ["xyzzy"]).output

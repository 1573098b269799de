"""`kernelgate parse`: a comment on stdin to the commands and errors the bot would see in it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from bot.core.commands import CommandError, Parsed, spell
from bot.core.commands import parse as parse_comment
from bot.core.plan import MODEL_EDGE
from kernels.models import MODELS


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print commands and errors as JSON")
def parse(as_json: bool) -> None:
    """Read a comment on stdin and print the commands in it, or why the bot would refuse them.

    Exit: 0 every command is well-formed, 1 one is not.
    """
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    parsed = parse_comment(text, [*MODELS, MODEL_EDGE])
    if as_json:
        click.echo(json.dumps(_plain(parsed), indent=1))
    else:
        for command in parsed.commands:
            click.echo(f"line {command.line}: {spell(command)}")
        for error in parsed.errors:
            click.echo(_line(error), err=True)
    sys.exit(1 if parsed.errors else 0)


def _plain(parsed: Parsed) -> dict[str, object]:
    return {
        "commands": [asdict(command) for command in parsed.commands],
        "errors": [asdict(error) for error in parsed.errors],
    }


def _line(error: CommandError) -> str:
    hint = f"; did you mean {error.suggestion}?" if error.suggestion else ""
    return f"line {error.line}, column {error.column}: {error.message.value}: {error.text!r}{hint}"

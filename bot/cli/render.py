"""`kernelgate render`: a run's JSON as the report a person reads."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from pydantic import ValidationError

from bot.adapters import rendering
from bot.core import report


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice(["md", "html"]), default="md", show_default=True, help="Markdown or HTML")
def render(file: Path, form: str) -> None:
    """Print FILE, which `kernelgate run --json FILE` wrote, as the report the bot would post."""
    try:
        run = report.load(file.read_bytes())
    except (ValidationError, UnicodeDecodeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
        place = ".".join(map(str, first["loc"])) or "the file"
        click.echo(f"{file.name} is not a run's JSON: {place}: {first['msg']}. `kernelgate run --json F` writes one.", err=True)
        sys.exit(2)
    click.echo(rendering.page(run) if form == "html" else rendering.answer(run), nl=False)

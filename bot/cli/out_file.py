"""Files that a command writes at its end: what would keep one from being written is said before the work begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

DASH = Path("-")


class OutFile(click.Path):
    """An option's file to write, `-` for stdout; a usage error names the option where the file can't be written."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, allow_dash=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        file = Path(super().convert(value, param, ctx))
        folder = file.parent
        if file != DASH and not folder.is_dir():
            self.fail(f"{folder} is no folder", param, ctx)
        if file != DASH and not file.exists() and not os.access(folder, os.W_OK):
            self.fail(f"{folder} can't be written to", param, ctx)
        return file


def deliver(file: Path, text: bytes) -> None:
    """Write `text` to the file or to stdout; what goes wrong all the same, such as a full disk, names the file."""
    if file == DASH:
        click.echo(text, nl=False)
        return
    try:
        file.write_bytes(text)
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from error

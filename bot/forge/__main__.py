"""The forge as a process: `python -m bot.forge --world FILE [--port N]`, loopback only."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import FrameType

import click

from bot.forge.serving import Forge
from bot.forge.world import load

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def stop(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


@click.command()
@click.option("--world", type=FILE, required=True, help="JSON of people, App and repositories")
@click.option("--port", default=0, help="port on 127.0.0.1; 0 takes a free one and prints its address")
def main(world: Path, port: int) -> None:
    """Serve a stand-in for GitHub on this machine only."""
    signal.signal(signal.SIGTERM, stop)
    told = json.loads(world.read_text(encoding="utf-8"))
    forge = Forge(load(told), port)
    forge.open_pulls(told.get("pulls", []))
    click.echo(forge.world.url)
    sys.stdout.flush()
    forge.serve()


if __name__ == "__main__":
    main()

"""`kernelgate bench`: the project's own benchmarks, one script each in tests/bench/."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

BENCHES = Path(__file__).resolve().parents[2] / "tests" / "bench"


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def bench(name: str | None, args: tuple[str, ...]) -> None:
    """Run the benchmark NAME with its own ARGS; without NAME, list them."""
    scripts = {path.stem.rstrip("_").replace("_", "-"): path for path in sorted(BENCHES.glob("*.py"))}
    if name is None:
        click.echo("\n".join(scripts) or "No benchmark here: they are part of a checkout, in tests/bench/.")
        return
    if name not in scripts:
        click.echo(f"No benchmark is called {name!r}; there are: {', '.join(scripts) or 'none'}", err=True)
        sys.exit(2)
    sys.exit(2 if subprocess.run([sys.executable, str(scripts[name]), *args]).returncode else 0)

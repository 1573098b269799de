"""The `kernelgate` command: one module per subcommand, imported only when it is called."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from typing import Any

import click

COMMANDS = {
    "demo": "the whole system on one machine, on sample pull requests",
    "run": "judge head against base on one device, without GitHub",
    "check": "correctness of a working tree",
    "static": "registers, shared memory and spills on every target, and their change",
    "judge": "faster or slower, from measured samples",
    "parse": "what the bot would understand of a comment",
    "render": "a run's JSON as the report the bot would post",
    "setup": "the GitHub App, with one click; its keys stored",
    "serve": "the web process and the control loop",
    "runner": "a node, which takes jobs and runs them",
    "node": "node keys: add, revoke, list",
    "bench": "the project's own benchmarks",
    "doctor": "what is missing on this machine, and its remedy",
}


class LazyGroup(click.Group):
    """Lists commands from the table above, so `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"bot.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name where there is no such command."""
        if args[0] not in COMMANDS:
            from bot.core.errors import nearest

            near = nearest(args[0], COMMANDS)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {near!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """The process edge: what nobody foresaw is one line and exit 2, never a verdict."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("Error: interrupted", err=True)
            sys.exit(2)
        except Exception as error:
            if os.environ.get("KERNELGATE_DEBUG"):
                raise
            click.echo(f"Error: {type(error).__name__}: {error or 'no message'}; KERNELGATE_DEBUG=1 shows where", err=True)
            sys.exit(2)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyGroup)
@click.version_option(package_name="kernelgate")
def main() -> None:
    """Does a pull request make GPU kernels wrong or slow?

    `kernelgate demo` shows the whole system on this machine; `kernelgate doctor` says what is missing here.

    Exit codes: 0 yes, 1 no, 2 cannot tell because something is missing or broken, 3 undecided.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C, with nothing left behind
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a letter that the terminal lacks is no reason to lose the report


if __name__ == "__main__":
    main()

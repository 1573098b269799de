"""`kernelgate node`: keys for nodes, made, refused and listed."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime

import click
from rich.console import Console
from rich.table import Table

from bot.adapters.store.nodes import NodeError
from bot.cli.service import read_settings, ready_store


@click.group()
def node() -> None:
    """Node keys: add, revoke, list."""


@node.command()
@click.argument("name")
@click.option("--pool", required=True, help="the alias under which commands and configuration name it, such as mi50")
@click.option("--repos", required=True, help="comma list of OWNER/NAME that this node serves")
def add(name: str, pool: str, repos: str) -> None:
    """Make a node and print its key, once."""
    repositories = [part.strip() for part in repos.split(",") if part.strip()]
    if not repositories or any(part.count("/") != 1 for part in repositories):
        raise click.BadParameter("write each repository as OWNER/NAME", param_hint="--repos")
    try:
        click.echo(ready_store(read_settings()).nodes.add(name, pool, repositories))
    except NodeError as error:
        click.echo(str(error), err=True)
        sys.exit(2)


@node.command()
@click.argument("name")
@click.option("--since", type=click.DateTime(["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"]), help="UTC; results since then are no longer trusted")
def revoke(name: str, since: datetime | None) -> None:
    """Refuse a node's key from now on."""
    try:
        ready_store(read_settings()).nodes.revoke(name, since.replace(tzinfo=UTC).timestamp() if since else None)
    except NodeError as error:
        click.echo(str(error), err=True)
        sys.exit(2)


@node.command("list")
def list_nodes() -> None:
    """Show every node: pool, repositories, when it was last heard of."""
    table = Table("name", "pool", "repositories", "last seen", "state")
    now = time.time()
    for one in ready_store(read_settings()).nodes.all():
        seen = datetime.fromtimestamp(one.seen, UTC).isoformat(timespec="seconds") if one.seen else "never"
        state = ": ".join(filter(None, (one.state(now), one.rests(now))))
        table.add_row(one.name, one.pool, ", ".join(one.repositories), seen, state)
    Console().print(table)

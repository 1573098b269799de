"""`kernelgate runner`: a node, which takes jobs of its pool until it is told to stop."""

from __future__ import annotations

import sys

import click
from pydantic import ValidationError


@click.command()
def runner() -> None:
    """Run a node. Settings come from the environment; three have to be there:

    KERNELGATE_URL, KERNELGATE_BROKER, and KERNELGATE_NODE_KEY or KERNELGATE_NODE_KEY_FILE.

    KERNELGATE_DEVICE (host, cuda:N, hip:N, several with commas) names devices, else every card is taken. KERNELGATE_STATE is
    the working folder, KERNELGATE_NODE_REPOSITORIES what the node serves at most.
    """
    from runners.node_client import Refused
    from runners.node_process import run
    from runners.node_settings import NodeSettings

    try:
        run(NodeSettings())
    except ValidationError as error:
        for one in error.errors():
            click.echo(f"KERNELGATE_{'_'.join(map(str, one['loc'])).upper()}: {one['msg']}", err=True)
        sys.exit(2)
    except (Refused, ValueError, OSError) as error:
        click.echo(str(error), err=True)
        sys.exit(2)

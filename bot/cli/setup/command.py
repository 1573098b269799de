"""`kernelgate setup`: a GitHub App made with one click, its key and secret stored."""

from __future__ import annotations

from pathlib import Path

import click

from bot.cli.setup import addresses
from bot.cli.setup.desk import BACK, Desk
from bot.cli.setup.errors import SetupError
from bot.cli.setup.exchange import Registered, exchange
from bot.cli.setup.key_files import KeyFiles
from bot.cli.setup.manifest import manifest
from bot.cli.setup.told import told
from bot.settings import PREFIX, Settings

FOLDER = click.Path(file_okay=False, path_type=Path)
API = str(Settings.model_fields["github_api"].default)


@click.command()
@click.option("--url", required=True, envvar=f"{PREFIX}URL", callback=addresses.safe, help="the bot's address, which GitHub can reach")
@click.option("--organization", default="", callback=addresses.organization, help="whose App it is to be; without, your own")
@click.option(
    "--github-api",
    default=API,
    show_default=True,
    envvar=f"{PREFIX}GITHUB_API",
    callback=addresses.safe,
    help="of GitHub Enterprise: https://HOST/api/v3",
)
@click.option("--folder", type=FOLDER, default=Path("secrets"), show_default=True, help="where the key and the webhook secret go")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="port of the page with the button; 0 takes a free one")
def setup(url: str, organization: str, github_api: str, folder: Path, port: int) -> None:
    """Make the GitHub App: one click in a browser; its key and webhook secret are stored, its settings printed.

    Exit: 0 the App is made, 2 it is not.
    """
    web = addresses.web_address(github_api)
    addresses.check_reachable(url, github_api)
    files = KeyFiles(folder.absolute())
    files.prepare()
    with Desk(port) as desk:
        desk.offer(addresses.registration(web, organization, desk.state), manifest(url, f"{desk.address}{BACK}", organization))
        click.echo(told("begin.j2", address=desk.address, port=desk.port))
        made = _finish(desk, files, github_api, addresses.apps(web, organization))
    click.echo(told("made.j2", app=made, files=files, prefix=PREFIX, url=url, api=github_api if github_api != API else ""))


def _finish(desk: Desk, files: KeyFiles, api: str, apps: str) -> Registered:
    """Whatever comes of it is shown where the person is: in the browser."""
    try:
        made = exchange(api, desk.code())
        files.write(made.pem.get_secret_value(), made.webhook_secret.get_secret_value())
    except SetupError as error:
        said = told("failed.j2", error=error.message, apps=apps)
        desk.answer(told("failed.html.j2", error=said), 502)
        raise SetupError(said) from error
    desk.answer(told("made.html.j2", app=made, folder=files.folder))
    return made

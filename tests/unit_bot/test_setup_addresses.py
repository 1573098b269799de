"""What `kernelgate setup` is told: addresses that GitHub can't reach or that give a secret away, names that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.setup import setup
from bot.cli.setup.addresses import registration, web_address
from bot.cli.setup.manifest import LONGEST_NAME, manifest


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["--url", "http://127.0.0.1:8000"], "GitHub can't reach http://127.0.0.1:8000"),
        (["--url", "https://localhost"], "GitHub can't reach https://localhost"),
        (["--url", "http://gate.example"], "'--url': http://gate.example is not https://HOST"),
        (["--url", "https://"], "is not https://HOST"),
        (["--url", "https://[::2"], "is not https://HOST"),
        (["--url", "https://gate.example", "--github-api", "http://api.github.com"], "'--github-api': http://api.github.com is not https"),
        (["--url", "https://gate.example", "--github-api", "https://github.com"], "write https://github.com as https://api.github.com"),
        (["--url", "https://gate.example", "--organization", "a/../b"], "a/../b is no name of an organization"),
        ([], "Missing option '--url'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    args: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(setup, args, env={"KERNELGATE_URL": "", "KERNELGATE_GITHUB_API": ""})
    assert done.exit_code == 2 and named in done.output and list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(setup, ["--url", "https://gate.example", "--folder", str(tmp_path / "file" / "keys")])
    assert done.exit_code == 2 and "can't be made: Not a directory; name another with --folder" in done.output


@pytest.mark.parametrize(
    ("api", "web"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://api.octo.ghe.com", "https://octo.ghe.com"),
        ("https://git.example:8443/api/v3", "https://git.example:8443"),
        ("https://api.example/api/v3", "https://api.example"),
        ("http://127.0.0.1:8080/api/v3", "http://127.0.0.1:8080"),
    ],
)
def test_where_people_meet_a_github(api: str, web: str) -> None:
    assert web_address(api) == web


def test_whose_app_it_is_to_be() -> None:
    assert registration("https://github.com", "", "s-t") == "https://github.com/settings/apps/new?state=s-t"
    assert registration("https://github.com", "octo", "s") == "https://github.com/organizations/octo/settings/apps/new?state=s"


def test_a_name_is_no_longer_than_github_takes() -> None:
    name = manifest("https://a-host.with-a-long.name.example", "http://127.0.0.1:1/made", "")["name"]
    assert name.startswith("kernelgate a-host.with") and len(name) <= LONGEST_NAME

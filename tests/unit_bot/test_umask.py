"""A closed umask, such as root's 077, does not weaken the sandbox: its processes are still other users."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from small_suite import lay

from bot.cli.check import check
from bot.cli.run import run
from bot.forge.git import git
from runners import identity


@pytest.fixture
def closed() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    assert os.umask(before) == 0o077


@pytest.mark.skipif(not identity.drops(), reason="this agent is no root, or can't become another user")
def test_processes_of_a_checkout_are_other_users_whatever_the_umask(
    closed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    who: list[identity.Identity] = []
    draw = identity.draw
    monkeypatch.setattr(identity, "draw", lambda shown: who.append(draw(shown)) or who[-1])
    lay(tmp_path)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-qm", "all")
    words = ["models=edge", "--quiet", "--repo", str(tmp_path)]
    assert CliRunner().invoke(run, [*words, "--base", "main", "--head", "main"]).exit_code == 0
    assert CliRunner().invoke(check, words).exit_code == 0
    assert who and all(one.uid for one in who) and not caplog.records


@pytest.mark.skipif(not identity.drops(), reason="this agent is no root, or can't become another user")
def test_what_is_closed_to_other_users_is_said_with_its_remedy(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tmp_path.chmod(0o700)
    assert identity.draw([tmp_path]).uid is None
    assert f"chmod -R go+rX {tmp_path}" in caplog.text

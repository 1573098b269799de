"""doctor names what is missing with its remedy, and shows no secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import doctor as module
from bot.cli.doctor import Finding, doctor
from bot.cli.node import node
from bot.cli.serve import serve


@pytest.fixture(autouse=True)
def a_good_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "machine", lambda: iter([Finding("sandbox", "works")]))


def examined(**env: str) -> Result:
    return CliRunner().invoke(doctor, env={f"KERNELGATE_{name.upper()}": value for name, value in env.items()})


def test_each_missing_piece_has_a_remedy(tmp_path: Path) -> None:
    where = f"sqlite:///{tmp_path}/none.db"
    done = examined(repositories="a/b", broker="redis://:canary@127.0.0.1:9/0", database=where, github_api="http://127.0.0.1:9")
    assert done.exit_code == 2
    for remedy in (
        "WEBHOOK_SECRETS_FILE",
        "GITHUB_APP_ID",
        "start Redis or Valkey",
        "kernelgate serve makes it",
        "install the App",
        "kernelgate setup",
    ):
        assert remedy in done.output
    assert "canary" not in done.output and not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("bad", ["plain/gate.db", "folder", "junk"])
def test_a_database_that_cannot_be_used_is_one_line_everywhere(tmp_path: Path, bad: str) -> None:
    (tmp_path / "plain").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "junk").write_text("no database " * 99)
    env = {"KERNELGATE_DATABASE": f"sqlite:///{tmp_path}/{bad}"}
    for command, args in ((serve, []), (node, ["add", "n", "--pool", "host", "--repos", "a/b"]), (node, ["list"]), (doctor, [])):
        done = CliRunner().invoke(command, args, env=env)
        assert done.exit_code == 2
        assert [bad in line for line in done.output.splitlines() if "KERNELGATE_DATABASE: " in line] == [True]
        assert "Traceback" not in done.output and "PRAGMA" not in done.output


def test_a_repository_cannot_be_looked_at_without_settings() -> None:
    done = CliRunner().invoke(doctor, ["--repo", "a/b"])
    assert done.exit_code == 2 and "set KERNELGATE_REPOSITORIES" in done.output


def test_a_setting_that_cannot_be_used_is_named_without_its_value() -> None:
    done = examined(github_api="http://canary.example")
    assert done.exit_code == 2 and "KERNELGATE_GITHUB_API" in done.output and "canary" not in done.output


def test_a_machine_without_a_compiler_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Finding("C++ compiler", "not usable", "no C++ compiler: install g++ or clang++, or pip install ziglang")
    monkeypatch.setattr(module, "machine", lambda: iter([missing]))
    assert examined().exit_code == 2 and "install g++" in examined().output
    assert CliRunner().invoke(doctor, ["--warm"]).exit_code == 0


def test_a_node_is_made_listed_and_revoked(tmp_path: Path) -> None:
    env = {"KERNELGATE_DATABASE": f"sqlite:///{tmp_path}/gate.db", "COLUMNS": "120"}
    runner = CliRunner()
    made = runner.invoke(node, ["add", "n1", "--pool", "host", "--repos", "a/b"], env=env)
    assert made.exit_code == 0 and made.output.startswith("kgn_")
    assert runner.invoke(node, ["add", "n1", "--pool", "host", "--repos", "a/b"], env=env).exit_code == 2
    assert runner.invoke(node, ["add", "n2", "--pool", "host", "--repos", "nonsense"], env=env).exit_code == 2
    assert runner.invoke(node, ["revoke", "n1"], env=env).exit_code == 0
    assert runner.invoke(node, ["revoke", "n3"], env=env).exit_code == 2
    assert "revoked" in runner.invoke(node, ["list"], env=env).output

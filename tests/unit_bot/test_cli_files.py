"""Files the command line reads and writes: a bad one is named before the work begins, exit 2."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bot.cli import check as checking
from bot.cli.check import check
from bot.cli.demo.command import demo
from bot.cli.judge import judge
from bot.cli.main import main
from bot.cli.run import run
from bot.cli.static import static

WRITERS = {
    "run --json": (run, ["--base", "a", "--head", "b", "--json"]),
    "run --markdown": (run, ["--base", "a", "--head", "b", "--markdown"]),
    "check --json": (check, ["--json"]),
    "static --json": (static, ["--json"]),
    "judge --json": (judge, ["samples.json", "--json"]),
    "demo --json": (demo, ["--json"]),
}


def asked(command: click.Command, *args: object) -> Result:
    return CliRunner().invoke(command, [str(arg) for arg in args])


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("bad", ["absent/file", "plain/file", "folder"])
def test_a_file_that_cannot_be_written_is_noticed_before_the_work(name: str, bad: str, tmp_path: Path) -> None:
    command, args = WRITERS[name]
    (tmp_path / "plain").touch()
    (tmp_path / "folder").mkdir()
    done = asked(command, *args, tmp_path / bad)
    assert done.exit_code == 2 and f"'{name.split()[1]}'" in done.output and str(tmp_path) in done.output.replace("\n", "")


@pytest.mark.parametrize("command", [check, static])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'version = 1\n[suite]\nkernels = "k\xff"\n', "line 3: not UTF-8"),
        ("version = 1\n".encode("utf-16"), "line 1: not UTF-8"),
        (b"version = 1\n[siute]\n", "line 2: unknown key siute (did you mean suite?)"),
        (b'version = 1\n[suite]\nkernels = "nowhere"\n', "no folder below 'nowhere' holds a plan.py"),
    ],
    ids=["latin-1", "utf-16", "unknown key", "no kernels"],
)
def test_a_working_trees_configuration_is_named_with_its_line(command: click.Command, content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / ".kernelgate.toml").write_bytes(content)
    done = asked(command, "--repo", tmp_path)
    assert done.exit_code == 2 and says in done.output
    assert "nowhere" in says or ".kernelgate.toml" in done.output


def test_a_working_tree_is_copied_without_what_is_no_file(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "kernels").mkdir(parents=True)
    (tree / "kernels/plan.py").write_text("pass\n")
    os.mkfifo(tree / "pipe")
    (tree / "dangling").symlink_to("nowhere")
    (tree / "loop").symlink_to("loop")
    (tree / "around").symlink_to("..", target_is_directory=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tree / "socket"))
    checking.copy(tree, tree / "made" / "copy")
    assert sorted(path.name for path in (tree / "made" / "copy").rglob("*")) == ["kernels", "made", "plan.py"]


@pytest.mark.parametrize("shape", ["file", "folder"])
def test_what_cannot_be_read_in_a_working_tree_is_named(shape: str, tmp_path: Path) -> None:
    secret = tmp_path / "kernels" / "mine"
    secret.mkdir(parents=True)
    if shape == "file":
        secret = secret / "plan.py"
        secret.touch()
    secret.chmod(0)
    command = [sys.executable, "-m", "bot.cli.main", "check", "--quiet", "--repo", str(tmp_path)]
    if os.geteuid() == 0:  # root reads everything unless it gives that up
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    secret.chmod(0o700)
    assert (done.returncode, done.stderr) == (2, f"Error: {secret} can't be copied: Permission denied\n")


def test_a_terminal_that_cannot_show_a_letter_still_gets_its_answer() -> None:
    command = [sys.executable, "-m", "bot.cli.main", "parse"]
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, input="/waive a reason=✓".encode(), capture_output=True, check=False, env=env)
    assert (done.returncode, done.stdout) == (0, b"line 1: /waive a reason=?\n")


@pytest.mark.parametrize(
    "words", [["check", "base=main"], ["check", "mode=accuracy"], ["run", "nodes=mi50", "--base", "HEAD", "--head", "HEAD"]]
)
def test_a_key_that_only_pull_requests_have_is_refused(words: list[str]) -> None:
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2 and f"{words[1].split('=')[0]}= is for pull requests, this command takes models, kernels" in done.output

"""The house rules a machine can hold: imports, types, lint, and whose `kernels` is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

import kernels

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", [["ruff", "check", "."], ["mypy"], ["lint-imports", "--no-cache"]], ids=lambda c: c[0])
def test_the_checkers_find_nothing(command: list[str]) -> None:
    tool = Path(sys.executable).with_name(command[0])
    done = subprocess.run([tool, *command[1:]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_our_kernels_package_is_the_one_imported() -> None:
    assert Path(kernels.__file__ or "").parent == ROOT / "kernels"


def test_help_imports_no_command() -> None:
    code = "import sys, bot.cli.main as m; m.main(['--help'], standalone_mode=False)\n"
    code += "print([x for x in sys.modules if x.startswith('bot.cli.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['bot.cli.main']"

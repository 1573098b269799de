"""docs/complaints.md: each row names a test that exists, or says why nothing covers it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
ROWS = {int(number): rest for number, *rest in ROW.findall((ROOT / "docs/complaints.md").read_text(encoding="utf-8"))}


def functions_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_rows_are_numbered_without_a_gap() -> None:
    assert list(ROWS) == list(range(1, 46))


@pytest.mark.parametrize("number", ROWS)
def test_what_a_row_names_is_there(number: int) -> None:
    _, answer, cell = ROWS[number]
    named = TEST.findall(cell)
    assert [f"{file}::{name}" for file, name in named if name not in functions_in(ROOT / "tests" / file)] == []
    assert named or answer.startswith("Not covered: ")

"""A changed judge names the owners that the base's CODEOWNERS gives it, without calling them."""

from __future__ import annotations

from pathlib import Path

import pytest
from paper_github import REPO, PaperGitHub
from paper_scene import Scene
from sample_runs import RUNS

from bot.adapters import rendering
from bot.core.owners import Owners, owners_of
from bot.flow.posts import owners_named

FILE = """# who
*.py @everyone
/kernels/gemm/ @acme/gemm noor@example.org
/kernels/gemm/plan.py
"""


def test_the_last_line_that_fits_counts_and_one_without_owners_takes_them_away() -> None:
    found = owners_of(FILE, ["kernels/gemm/reference.py", "kernels/gemm/plan.py", "tools/a.py", "README.md"])
    assert found == Owners({"kernels/gemm/reference.py": ("@acme/gemm", "noor@example.org"), "tools/a.py": ("@everyone",)})


def test_a_file_that_cannot_be_read_is_said() -> None:
    broken = owners_of("[a-b @x", ["a"])
    assert broken.of == {} and "character class" in broken.problem
    assert "The base's CODEOWNERS can't be read: `unterminated" in rendering.answer(RUNS["judge"], owners=broken)


def test_the_answer_names_owners_in_code_so_that_nobody_is_called() -> None:
    text = rendering.answer(RUNS["judge"], owners=owners_of(FILE, RUNS["judge"].changed_judge))
    assert "- `kernels/gemm/reference.py`, owned by `@acme/gemm`, `noor@example.org`\n" in text


class Listed(PaperGitHub):
    """GitHub on paper whose base has these files."""

    def __init__(self, there: dict[str, str]) -> None:
        super().__init__()
        self.there, self.asked = there, set()

    def file(self, repository: str, path: str, ref: str) -> str | None:
        self.asked.add((repository, ref))
        return self.there.get(path)


@pytest.mark.parametrize(
    ("there", "owner"), [({"docs/CODEOWNERS": "* @docs"}, "@docs"), ({"CODEOWNERS": "* @root", ".github/CODEOWNERS": "* @hub"}, "@hub")]
)
def test_the_file_is_the_bases_at_the_first_of_githubs_places(there: dict[str, str], owner: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path, github := Listed(there))
    assert owners_named(scene.world, REPO, RUNS["faster"]) == Owners() and not github.asked
    assert set(owners_named(scene.world, REPO, RUNS["judge"]).of.values()) == {(owner,)}
    assert github.asked == {(REPO, RUNS["judge"].base)}

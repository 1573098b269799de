"""Every mutant is caught, and what the report says of it is of the right class; the kernels as they are pass the same cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from cheats import CHEATS, for_timing
from fa_tile_mutants import MUTANTS as FA_TILE
from gemm_mutants import MUTANTS as GEMM
from judging import judge, whole, words
from la_mutants import MUTANTS as LA
from mutant import CLASSES, How, Mutant

EVERY = (*GEMM, *FA_TILE, *LA, *CHEATS, *for_timing)


def group(how: How, kernel: str = "", tunables: str = "") -> list[Mutant]:
    return [m for m in EVERY if m.how is how and m.tunables == tunables and kernel in ("", m.kernel)]


def missed(mutants: Sequence[Mutant], how: How, root: Path, tunables: str = "") -> list[str]:
    """What got through, or was called something else; each line says what the judge said instead."""
    found = judge(mutants, how, root, tunables)
    clean = [
        f"{name} is not right as it is: {words(one)}"
        for name, cases in found.items()
        if name.endswith(whole(""))
        for one in cases
        if one.reason
    ]
    enough = any if how is How.HELD_OUT else all  # what was listed is right; the drawn shapes show it
    caught = {m.folder: [words(one) for one in found[m.folder]] for m in mutants}
    return clean + [
        f"{m.folder} wants {m.says.name}: {caught[m.folder]}"
        for m in mutants
        if not enough(re.search(m.says, text) for text in caught[m.folder])
    ]


def test_there_are_enough_and_each_is_told_apart() -> None:
    assert len(EVERY) >= 40 and len({m.folder for m in EVERY}) == len(EVERY)


def test_each_class_of_mistakes_has_a_mutant() -> None:
    assert {mutant.kind for mutant in EVERY} == CLASSES


@pytest.mark.parametrize("mutant", EVERY, ids=lambda m: m.folder)
def test_the_kernel_has_what_a_mutant_changes(mutant: Mutant) -> None:
    assert mutant.text() != (Path(__file__).parents[2] / "kernels" / mutant.kernel / mutant.file).read_text(encoding="utf-8")


@pytest.mark.parametrize("kernel", ["gemm", "fa_tile", "la_prefill"])
def test_wrong_results_are_seen(kernel: str, tmp_path: Path) -> None:
    assert missed(group(How.ACCURACY, kernel), How.ACCURACY, tmp_path) == []


@pytest.mark.parametrize("tunables", sorted({m.tunables for m in EVERY if m.how is How.ACCURACY and m.tunables}))
def test_wrong_results_of_another_tuning_are_seen(tunables: str, tmp_path: Path) -> None:
    assert missed(group(How.ACCURACY, tunables=tunables), How.ACCURACY, tmp_path, tunables) == []


@pytest.mark.parametrize("how", [How.RACES, How.HELD_OUT, How.TIMED], ids=lambda how: how.name.lower())
def test_what_one_check_can_not_see_another_does(how: How, tmp_path: Path) -> None:
    assert missed(group(how), how, tmp_path) == []

"""A base of harmless kernels and a head in which each is replaced by one of `trees/`, laid out as a job's checkouts are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from small_suite import FILES

TREES = Path(__file__).with_name("trees")
ATTACKS = tuple(sorted(path.name for path in TREES.iterdir() if path.name != "include"))
ONE_CASE = FILES["cases.py"].replace("(1000, 4099)", "(100,)").replace('[_case(random.Random(seed).randint(1, 3000), "drawn")]', "[]")
NEXT = "the_next"
# Never run, so they need no base to compare with: a kernel that only head has costs half the processes.
PLANS = {name for name in ATTACKS if name.startswith("p_")} - {"p_stays", "p_vast"}
NEW = PLANS | {"asm_file", "environ", "fifo", "key", "macros", "templates"}


def lay_base(root: Path) -> Path:
    """One kernel for each attack that runs, and one that stays sound."""
    return _lay(root, (*(name for name in ATTACKS if name not in NEW), NEXT))


def _lay(root: Path, names: Iterable[str]) -> Path:
    for name in names:
        folder = root / "kernels" / name
        folder.mkdir(parents=True)
        for file, text in {**FILES, "cases.py": ONE_CASE}.items():
            (folder / file.replace("scale", name)).write_text(text.replace("scale", name))
    return root


def lay_head(base: Path, root: Path, words: Mapping[str, str]) -> Path:
    """The base with every attack in it; `words` replace @NAME@ in their files."""
    shutil.copytree(base, root)
    _lay(root, NEW)
    for source in TREES.rglob("*.*"):
        text = source.read_text()
        for name, value in words.items():
            text = text.replace(f"@{name}@", value)
        place = root / "kernels" / source.relative_to(TREES)
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    os.mkfifo(root / "kernels" / "fifo" / "pipe.h")
    return root


def lay_next(base: Path, root: Path) -> Path:
    """A pull request that means no harm: the sound kernel computes the same in another way."""
    shutil.copytree(base, root)
    source = root / "kernels" / NEXT / f"{NEXT}.cu"
    source.write_text(source.read_text().replace("KG_FACTOR * x[i]", "x[i] * (n > 0 ? 2.0f : 3.0f)"))
    return root

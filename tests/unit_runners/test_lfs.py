"""A Git LFS pointer where a kernel's file should be is told as such, with its path and the remedy, wherever it makes trouble."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_suite import REFERENCE, Facts, do, lay

from runners import lfs
from runners.protocol import Ending, FailureKind, Mode, Selection, Side

ACCURACY = Selection(modes=(Mode.ACCURACY,))
POINTER = f"{lfs.MARK.decode()}oid sha256:{'4d' * 32}\nsize 12345\n"
REMEDY = "is a Git LFS pointer, not the file itself, and nodes fetch nothing from LFS: commit the file to git"
READS = REFERENCE.replace("import numpy as np\n", "from pathlib import Path\n\nimport numpy as np\n").replace(
    "    return", '    np.load(Path(__file__).with_name("table.npy"))\n    return', 1
)


def test_only_a_whole_pointer_is_one(tmp_path: Path) -> None:
    file, link = tmp_path / "a.npy", tmp_path / "b.npy"
    link.symlink_to(file)
    for text, is_one in ((POINTER, True), (f"// {POINTER}", False), (POINTER + "x" * 2000, False), ("", False)):
        file.write_text(text)
        assert (lfs.is_pointer(file), lfs.is_pointer(link)) == (is_one, False)
        assert bool(lfs.told(tmp_path, "kernels/a")) == is_one


@pytest.mark.parametrize("name", ["scale.cu", "far.h", "plan.py"])
def test_a_pointer_in_head_is_heads_and_said_with_path_and_remedy(tmp_path: Path, name: str) -> None:
    base, head = lay(tmp_path / "base"), lay(tmp_path / "head")
    folder = head / "kernels/scale"
    source = folder / "scale.cu"
    source.write_text(source.read_text().replace('#include "kg.h"', '#include "kg.h"\n#include "far.h"'))
    (folder / "far.h").write_text("")
    (folder / name).write_text(POINTER)
    found = failures(do(base, head, selection=ACCURACY)[1])
    assert {(kind, side) for kind, side, _ in found} == {(FailureKind.BUILD_FAILED, Side.HEAD)}
    assert all(f"kernels/scale/{name}" in text and REMEDY in text for _, _, text in found)


def test_a_pointer_that_a_reference_reads_is_said_before_what_python_made_of_it(tmp_path: Path) -> None:
    trees = [lay(tmp_path / name, reference_py=READS) for name in ("base", "head")]
    for tree in trees:
        (tree / "kernels/scale/table.npy").write_text(POINTER)
    head = trees[1] / "kernels/scale/scale.cu"
    head.write_text(head.read_text().replace("KG_FACTOR * x[i]", "x[i] * (n > 0 ? 2.0f : 3.0f)"))
    found = failures(do(*trees, selection=ACCURACY)[1])
    assert found and all(kind is FailureKind.INFRASTRUCTURE for kind, _, _ in found)
    assert all(f"kernels/scale/table.npy {REMEDY}" in text for _, _, text in found)


def test_a_judge_that_is_a_pointer_is_told(tmp_path: Path) -> None:
    base, head = lay(tmp_path / "base"), lay(tmp_path / "head")
    (base / "kernels/scale/cases.py").write_text(POINTER)
    outcome, _ = do(base, head)
    assert outcome.ending is Ending.FAILED and outcome.failure
    assert f"kernels/scale/cases.py {REMEDY}" in outcome.failure.message and outcome.failure.file == "kernels/scale/cases.py"


def failures(facts: Facts) -> list[tuple[FailureKind, Side | None, str]]:
    return [(one.kind, one.side, one.message) for found in facts.measurements for one in found.failures]

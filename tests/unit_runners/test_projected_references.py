"""A reference given as products of an output's rows: written in the sandbox, read and compared outside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels import check, storage
from kernels.spec import Buffer, Case, Dtype, Role, Tier, plain
from runners import accuracy
from runners.children import reference
from runners.rows import Row

BUFFERS = (Buffer("a", Role.IN, Dtype.F32, (6, 5)), Buffer("c", Role.OUT, Dtype.F32, (6, 5)))
SOURCE = """
import numpy as np

def reference(case, inputs):
    vectors = np.ones((5, {probes}))
    return {{"c": (vectors, inputs["a"].astype(np.float64) @ vectors)}}
"""


def written(tmp_path: Path, probes: int) -> Path:
    """What the child leaves of a kernel whose output is its input."""
    folder, out = tmp_path / tmp_path.name, tmp_path / "reference-judge"
    folder.mkdir()
    out.mkdir()
    (folder / "reference.py").write_text(SOURCE.format(probes=probes))
    item = {"index": 0, "case": {}, "buffers": [plain(buffer) for buffer in BUFFERS], "seeds": [7], "calibrate": False}
    reference.judge_case(folder, item, out)
    return out


def compared(tmp_path: Path, spoil: float) -> bool:
    """Whether an output that is off by `spoil` in one element passes."""
    written(tmp_path, check.PROBES)
    judge = accuracy.Judge("host", None, "kernels", tmp_path, None)  # type: ignore[arg-type]
    row = Row(0, "same", Case("same/m/r/s/f32", "same", "m", "r", {}, "f32", Tier.SMOKE), BUFFERS)
    data = storage.draw(BUFFERS[0], 7).view("<f4")
    data[3] += spoil
    (tmp_path / "head" / "0").mkdir(parents=True)
    data.tofile(tmp_path / "head" / "0" / "c.bin")
    return judge.compare(row, "0", tmp_path / "head", 7, 1e-6).ok


@pytest.mark.parametrize(("spoil", "passes"), [(0.0, True), (0.01, False), (float("nan"), False)])
def test_rows_products_decide(tmp_path: Path, spoil: float, passes: bool) -> None:
    assert compared(tmp_path, spoil) is passes


def test_another_number_of_vectors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="instead of"):
        written(tmp_path, check.PROBES + 1)

"""What a job leaves for later ones on its node: limits of the base's judge, never of what a pull request brought along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_suite import CASES, REFERENCE, SOURCE, do, lay

from runners.protocol import Mode, Selection

FORGED = (
    REFERENCE
    + """

import json, os
for descriptor in range(3, 12):
    try:
        os.write(descriptor, b"".join(json.dumps({"index": index, "limit": 1e9}).encode() + b"\\n" for index in range(99)))
    except OSError:
        continue
"""
)


def test_a_limit_that_head_names_itself_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGATE_CACHE", str(tmp_path / "cache"))
    cases = CASES.replace("(1000, 4099)", "(1000, 4099, 77)")
    base, head = lay(tmp_path / "base"), lay(tmp_path / "head", cases_py=cases, reference_py=FORGED)
    (head / "kernels/scale/scale.cu").write_text(SOURCE.replace("KG_FACTOR * x[i]", "x[i] * (n > 0 ? 2.0f : 3.0f)"))
    _, facts = do(base, head, selection=Selection(modes=(Mode.ACCURACY,)))
    assert [one for one in facts.measurements if one.case.shape == {"n": 77}]
    kept = [json.loads(file.read_text()) for file in (tmp_path / "cache/limits").iterdir()]
    assert len(kept) >= 2 and max(kept) < 1e-3

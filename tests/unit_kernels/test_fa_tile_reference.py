"""The oracle of fa_tile against attention written out query by query, and what it leaves out of large cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kernels import check, storage
from kernels.catalog import SUITE, load_folder
from kernels.spec import Buffer, read

FA = load_folder(SUITE / "fa_tile")
CASES, REFERENCE = FA.cases, FA.reference
SMALL = {"sequences": 2, "heads": 6, "kv_heads": 2, "n_q": 4, "n_kv": 9, "d": 40, "mask": "none", "order": "tokens"}
SHAPES: dict[str, dict[str, Any]] = {
    "none": {}, "causal": {"mask": "causal"}, "window": {"mask": "causal", "window": 3}, "blind": {"mask": "causal", "n_q": 12},
    "blocks": {"mask": "blocks"}, "softcap": {"softcap": 2.0}, "alibi": {"alibi": 8.0}, "alibi-causal": {"alibi": 8.0, "mask": "causal"},
    "sinks": {"sinks": True}, "sinks-blind": {"sinks": True, "mask": "causal", "n_q": 12}, "d192": {"d": 192, "dv": 128},
    "latent": {"d": 576, "dv": 512, "v_in_k": True, "kv_heads": 1}, "fused": {"order": "fused", "offset": 3},
}  # fmt: skip


def case_of(shape: dict[str, Any], dtype: str = "f32") -> dict[str, Any]:
    case: dict[str, Any] = CASES._case("edge", "test", "test", dtype, SMALL | shape, "smoke")
    return case


def inputs_of(case: dict[str, Any]) -> dict[str, Any]:
    buffers = read(tuple[Buffer, ...], CASES.buffers(case))
    return storage.views(buffers, storage.draw_all(buffers, 4))


def attend(s: dict[str, Any], given: dict[str, Any], sequence: int, head: int, token: int) -> np.ndarray[Any, Any]:
    """One query as the definition has it, a row at a time."""
    kv_head, position = head // (s["heads"] // s["kv_heads"]), s["n_kv"] - s["n_q"] + token
    dv = s.get("dv", s["d"])
    nearest = 2 ** int(math.log2(s["heads"]))
    slopes = [2.0 ** (-8 / nearest * (i + 1)) for i in range(nearest)] + [2.0 ** (-4 / nearest * (2 * i + 1)) for i in range(nearest)]
    total, value = (math.exp(given["sinks"][head]) if s.get("sinks") else 0.0), np.zeros(dv)
    for row in range(s["n_kv"]):
        key = given["k"][sequence, kv_head, row].astype(float)
        score = float(given["q"][sequence, head, token].astype(float) @ key) / math.sqrt(s["d"])
        score = s["softcap"] * math.tanh(score / s["softcap"]) if s.get("softcap") else score
        score -= slopes[head] * abs(position - row) if s.get("alibi") else 0
        score += float(given["mask"][sequence, token, row]) if "mask" in given else 0
        if s["mask"] == "causal" and not position - (s.get("window") or math.inf) < row <= position:
            continue
        weight = math.exp(score)
        total += weight
        value += weight * (key[:dv] if s.get("v_in_k") else given["v"][sequence, kv_head, row].astype(float))
    return value / total if total else value


@pytest.mark.parametrize("name", SHAPES)
def test_the_oracle_is_softmax_by_definition(name: str) -> None:
    case = case_of(SHAPES[name])
    s, given = case["shape"], inputs_of(case)
    out = REFERENCE.reference(case, given)["o"]
    for sequence, token, head in np.ndindex(out.shape[:3]):
        assert np.allclose(out[sequence, token, head], attend(s, given, sequence, head, token), rtol=1e-12, atol=1e-14)


def test_blocks_of_queries_give_what_one_block_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of({"mask": "causal", "window": 3, "n_q": 7})
    given = inputs_of(case)
    want = REFERENCE.reference(case, given)["o"]
    monkeypatch.setattr(REFERENCE, "SCORES", 2 * case["shape"]["n_kv"])
    assert np.allclose(REFERENCE.reference(case, given)["o"], want, rtol=1e-13, atol=0)


def test_a_large_case_is_judged_by_heads_at_the_edges_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of({"sequences": 3, "heads": 8})
    given = inputs_of(case)
    whole = REFERENCE.reference(case, given)["o"]
    monkeypatch.setattr(REFERENCE, "WHOLE", 1)
    some = REFERENCE.reference(case, given)["o"]
    judged = ~np.ma.getmaskarray(some).all(axis=(1, 3))
    assert [tuple(map(int, at)) for at in np.argwhere(judged)] == [(s, h) for s in (0, 2) for h in (0, 3, 4, 7)]
    assert check.compare(whole, some).rel_l2 == 0
    wrong = whole.copy()
    wrong[1, 2, 5, 7] = np.nan
    assert check.compare(wrong, some).nan == 1
    monkeypatch.setattr(REFERENCE, "DEAR", 1)
    assert {head for _, head in REFERENCE.judged_heads(REFERENCE.Layout.of(case))} == {0, 7}


def test_calibration_is_cheap_and_gives_the_whole_cases_limit() -> None:
    """Every case's smaller one has buffers and at most 2 heads of 32 queries; on a middling case both limits agree."""
    for case in CASES.cases("full", {"target": "sm_90"}):
        small = REFERENCE.Layout.of(REFERENCE.calibration(case))
        assert small.heads * small.n_q <= 64 and small.n_kv <= 544 and CASES.buffers(REFERENCE.calibration(case))
    case = case_of({"sequences": 1, "d": 64, "n_q": 96, "n_kv": 300, "mask": "causal"}, "f16")
    limits = []
    for each in (case, REFERENCE.calibration(case)):
        buffers = read(tuple[Buffer, ...], CASES.buffers(each))
        limits.append(check.calibrate(each, buffers, REFERENCE.plain, REFERENCE.reference, 4))
    assert limits[1] == pytest.approx(limits[0], rel=0.2)

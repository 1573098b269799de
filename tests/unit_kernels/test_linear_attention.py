"""la_prefill and la_decode on the emulator: right at cases, tails and extremes, whatever the wave, split or hand-over."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import on_host
import pytest

from kernels import check, storage
from kernels.catalog import load_folder
from kernels.models import MODELS
from kernels.spec import plain

FOLDER = on_host.SUITE / "la_prefill"
SAMPLE = on_host.REPOSITORY / "bot/forge/samples/main/la_prefill"
WIDE = {"k_heads": 1, "v_heads": 2, "dk": 128, "dv": 128, "mapping": "grouped", "initial": True, "fused": False}
SMALL = WIDE | {"dk": 64, "dv": 40, "mapping": "tiled", "k_heads": 2, "v_heads": 4}


def smoke() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = load_folder(FOLDER).cases.cases("smoke", plain(on_host.HOST))
    return cases


def made(shape: Mapping[str, Any], dtype: str = "f32", kernel: str = "la_prefill") -> dict[str, Any]:
    case: dict[str, Any] = load_folder(FOLDER).cases._case(kernel, "edge", "test", "test", dtype, "smoke", dict(shape))
    return case


def close(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], limit: float = 3e-6) -> bool:
    errors = check.compare(got, want)
    return errors.clean and errors.rel_l2 <= limit


def accepted(ran: on_host.Ran, limit: float) -> bool:
    return not check.complaint(ran.errors, limit) and ran.damaged == 0


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("case", smoke(), ids=lambda case: case["id"])
def test_smoke_cases_are_right(case: dict[str, Any], wave: int) -> None:
    assert accepted(on_host.run(FOLDER, case, wave=wave, seed=7), on_host.limit(FOLDER, case))


@pytest.mark.parametrize("seed", range(4))
def test_drawn_cases_are_right(seed: int) -> None:
    for case in load_folder(FOLDER).cases.draw(seed, plain(on_host.HOST)):
        assert accepted(on_host.run(FOLDER, case), on_host.limit(FOLDER, case)), case


@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 31])
def test_lengths_around_the_chunk(tokens: int) -> None:
    assert on_host.run(FOLDER, made(SMALL | {"lengths": [tokens]})).errors.rel_l2 < 2e-6


@pytest.mark.parametrize("kernel", ["la_prefill", "la_decode"])
def test_all_splits_agree(kernel: str) -> None:
    case = made(WIDE | {"lengths": [37] if kernel == "la_prefill" else [1, 1]}, kernel=kernel)
    legal = load_folder(FOLDER).plan.tunables(case, plain(on_host.HOST))["dk_split"]
    assert sorted(legal) == [1, 2, 4, 8]
    results = {split: on_host.run(FOLDER, case, {"dk_split": split}).outputs for split in legal}
    for split in (2, 4, 8):
        assert all(close(results[split][name], results[1][name]) for name in ("o", "s1")), split


def test_a_shape_that_cannot_split_falls_back_to_one() -> None:
    case, plan = made(SMALL | {"dk": 45, "lengths": [20]}), load_folder(FOLDER).plan
    assert plan.tunables(case, plain(on_host.HOST)) == {"dk_split": [1]}
    assert plan.builds(case, plain(on_host.HOST), {"dk_split": 4})["la_prefill"]["defines"]["KG_SPLIT"] == 1
    assert on_host.run(FOLDER, case, {"dk_split": 4}).errors.rel_l2 < 2e-6


def test_a_thousand_tokens_and_then_842_equal_1842() -> None:
    whole = made(WIDE | {"lengths": [1842]})
    drawn = storage.draw_all(on_host.buffers_of(FOLDER, whole), 5)
    want = on_host.run(FOLDER, whole, given=drawn).outputs
    first = on_host.run(FOLDER, made(WIDE | {"lengths": [1000]}), given=part(drawn, 0, 1000))
    handed = part(drawn, 1000, 1842) | {"s0": first.storage["s1"]}
    second = on_host.run(FOLDER, made(WIDE | {"lengths": [842]}), given=handed)
    assert close(np.concatenate([first.outputs["o"], second.outputs["o"]]), want["o"])
    assert close(second.outputs["s1"], want["s1"])


def test_prefill_then_decode_equals_prefill() -> None:
    whole = made(WIDE | {"lengths": [33]})
    drawn = storage.draw_all(on_host.buffers_of(FOLDER, whole), 6)
    want = on_host.run(FOLDER, whole, given=drawn).outputs
    prompt = on_host.run(FOLDER, made(WIDE | {"lengths": [32]}), given=part(drawn, 0, 32))
    handed = part(drawn, 32, 33) | {"s0": prompt.storage["s1"]}
    step = on_host.run(FOLDER, made(WIDE | {"lengths": [1]}, kernel="la_decode"), given=handed)
    assert close(step.outputs["o"][0], want["o"][32])
    assert close(step.outputs["s1"], want["s1"])


def part(drawn: Mapping[str, storage.Bytes], first: int, last: int) -> dict[str, storage.Bytes]:
    """The inputs of tokens first to last - 1 of a WIDE prompt, and its initial state."""
    widths = {"q": 128, "k": 128, "v": 256, "g": 2, "beta": 2}
    return {name: drawn[name][4 * width * first : 4 * width * last] for name, width in widths.items()} | {"s0": drawn["s0"]}


@pytest.mark.parametrize("value", [0.0, -1e-4, -5.0, -20.0, -88.0, -1e30])
def test_extreme_decays_give_no_nan(value: float) -> None:
    ran = on_host.run(FOLDER, made(SMALL | {"lengths": [35], "decay_low": value, "decay_high": value}))
    assert ran.errors.clean and ran.errors.rel_l2 < 2e-6


@pytest.mark.parametrize("beta", [0.0, 1.0, 2.0])
def test_steps_from_none_to_a_reflection(beta: float) -> None:
    ran = on_host.run(FOLDER, made(SMALL | {"lengths": [35], "beta_low": beta, "beta_high": beta, "decay_low": -0.05}))
    assert ran.errors.clean and ran.errors.rel_l2 < 2e-6


@pytest.mark.parametrize("case", smoke(), ids=lambda case: case["id"])
def test_equal_input_gives_equal_bits_in_any_order_of_blocks(case: dict[str, Any]) -> None:
    drawn = storage.draw_all(on_host.buffers_of(FOLDER, case), 3)
    one, other = (on_host.run(FOLDER, case, seed=seed, given=drawn).outputs for seed in (1, 2))
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_a_broken_state_stays_in_its_own_sequence() -> None:
    case = made(SMALL | {"lengths": [17, 0, 5]})
    drawn = storage.draw_all(on_host.buffers_of(FOLDER, case), 4)
    want = on_host.run(FOLDER, case, given=drawn).outputs
    drawn["s0"].view("<f4").reshape(3, -1)[0] = np.nan
    got = on_host.run(FOLDER, case, given=drawn).outputs
    assert np.isnan(got["o"][:17]).all() and np.array_equal(got["o"][17:], want["o"][17:])
    assert np.array_equal(got["s1"][1:], want["s1"][1:])


def test_packed_sequences_equal_each_alone() -> None:
    lengths = [0, 17, 5, 0, 16]
    case = made(SMALL | {"lengths": lengths, "initial": False})
    drawn = storage.draw_all(on_host.buffers_of(FOLDER, case), 2)
    packed, start = on_host.run(FOLDER, case, given=drawn).outputs, 0
    for sequence, length in enumerate(lengths):
        if length == 0:
            assert not packed["s1"][sequence].any()
            continue
        widths = {"q": 128, "k": 128, "v": 160, "g": 4, "beta": 4}
        mine = {name: drawn[name][4 * width * start : 4 * width * (start + length)] for name, width in widths.items()}
        alone = on_host.run(FOLDER, made(SMALL | {"lengths": [length], "initial": False}), given=mine).outputs
        assert np.array_equal(packed["o"][start : start + length], alone["o"])
        assert np.array_equal(packed["s1"][sequence], alone["s1"][0])
        start += length


def test_the_sample_repository_starts_from_a_right_version(tmp_path: Path) -> None:
    folder = tmp_path / "kernels" / "la_before"
    shutil.copytree(FOLDER, folder)
    shutil.copytree(SAMPLE, folder, dirs_exist_ok=True)
    assert {path.name for path in SAMPLE.iterdir()} == {"la_prefill.cu", "plan.py"}
    for case in smoke():
        assert accepted(on_host.run(folder, case), on_host.limit(FOLDER, case)), case["id"]


def test_the_sample_leaves_decode_alone(tmp_path: Path) -> None:
    folder = tmp_path / "la_earlier"
    shutil.copytree(FOLDER, folder)
    shutil.copytree(SAMPLE, folder, dirs_exist_ok=True)
    before, now, host = load_folder(folder).plan, load_folder(FOLDER).plan, plain(on_host.HOST)
    for case in (case for case in smoke() if case["kernel"] == "la_decode"):
        chosen = {"dk_split": 1}
        assert before.tunables(case, host) == now.tunables(case, host)
        assert before.builds(case, host, chosen) == now.builds(case, host, chosen)
        assert before.launches(case, host, chosen, {}) == now.launches(case, host, chosen, {})


def test_shapes_are_the_models() -> None:
    cases = load_folder(FOLDER).cases
    for name in cases.MODELS:
        linear = MODELS[name].linear
        assert linear is not None
        numbers = [cases.HEADS[key] for key in ("k_heads", "v_heads", "dk", "dv")]
        assert numbers == [linear.k_heads, linear.v_heads, linear.dk, linear.dv]

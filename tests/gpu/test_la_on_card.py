"""Linear attention on a real card: a state handed over, and dk-splits that agree and repeat to the last bit."""

import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest

from kernels import check, storage
from kernels.catalog import SUITE, load_folder
from kernels.spec import Buffer, Build, Plan, plain, read
from runners.children.frame import Arena, Bound, Frame, frame_bytes, scratch_bytes
from runners.device import Backend
from runners.toolchains import CompileRequest, for_target

pytestmark = pytest.mark.gpu

LA = load_folder(SUITE / "la_prefill")
MODEL = {"k_heads": 16, "v_heads": 32, "dk": 128, "dv": 128, "mapping": "tiled", "initial": True, "fused": False}
TOKENS = {"q": 16 * 128, "k": 16 * 128, "v": 32 * 128, "g": 32, "beta": 32}  # floats of a token


def prompt(length: int) -> dict[str, object]:
    return LA.cases._case("la_prefill", "edge", "test", "test", "f32", "full", MODEL | {"lengths": [length]})


def ran(card: Backend, case: dict[str, object], contents: dict[str, storage.Bytes], split: int = 4) -> dict[str, storage.Bytes]:
    """Outputs of one launch on `contents`; outputs are poisoned first."""
    buffers = read(tuple[Buffer, ...], LA.cases.buffers(case))
    shown, chosen = plain(card.device), {"dk_split": split}
    builds = LA.plan.builds(case, shown, chosen)
    plan = read(Plan, {"schema": 1, "tunables": chosen, "builds": builds, **LA.plan.launches(case, shown, chosen, {})})
    out = Path(tempfile.mkdtemp(prefix="kernelgate-test-"))
    asked = CompileRequest(SUITE.parent, "kernels/la_prefill", read(Build, builds["la_prefill"]), card.device.target, out)
    frame = Frame(Arena(card, frame_bytes(buffers, [plan])), buffers)
    frame.place({buffer.name: contents.get(buffer.name, storage.poison(buffer.storage_bytes)) for buffer in buffers})
    modules = {"la_prefill": card.load(for_target(card.device.target).compile(asked).path)}
    card.run(Bound(frame, Arena(card, scratch_bytes(plan)), plan, modules).launches("run"))
    assert frame.offences() == []
    return {name: frame.read(name)[0] for name in ("o", "s1")}


def drawn(case: dict[str, object]) -> dict[str, storage.Bytes]:
    return storage.draw_all([read(Buffer, b) for b in LA.cases.buffers(case) if b["role"] != "out"], 5)


def part(whole: dict[str, storage.Bytes], first: int, last: int) -> dict[str, storage.Bytes]:
    """The inputs of tokens `first` to `last` - 1, as a prompt of their own."""
    cut = {name: whole[name][4 * floats * first : 4 * floats * last] for name, floats in TOKENS.items()}
    return cut | {"s0": whole["s0"], "starts": np.frombuffer(struct.pack("<2i", 0, last - first), np.uint8)}


def alike(got: storage.Bytes, want: storage.Bytes) -> bool:
    errors = check.compare(got.view("<f4"), want.view("<f4"))
    return errors.clean and errors.rel_l2 <= 3e-6


def test_a_thousand_tokens_and_then_842_equal_1842(card: Backend) -> None:
    inputs = drawn(prompt(1842))
    want = ran(card, prompt(1842), inputs)
    first = ran(card, prompt(1000), part(inputs, 0, 1000))
    second = ran(card, prompt(842), part(inputs, 1000, 1842) | {"s0": first["s1"]})
    assert alike(np.concatenate([first["o"], second["o"]]), want["o"]) and alike(second["s1"], want["s1"])


def test_all_splits_agree_and_repeat_to_the_last_bit(card: Backend) -> None:
    inputs = drawn(prompt(1842))
    results = {split: ran(card, prompt(1842), inputs, split) for split in (1, 2, 4, 8)}
    assert all(alike(results[split][name], results[1][name]) for split in (2, 4, 8) for name in ("o", "s1"))
    again = ran(card, prompt(1842), inputs, 4)
    assert all(np.array_equal(again[name], results[4][name]) for name in ("o", "s1"))

"""Numbers of the emulator are those of a device as far as a CPU can: denormals, contraction, rounding of halves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernels.spec import Build
from runners.emulator.direct import Loaded, load
from runners.emulator.library import Call, Library
from runners.toolchains import CompileRequest, host_compiler
from runners.toolchains.host import HostToolchain

DATA = Path(__file__).resolve().parents[1] / "data" / "emulator"
TINY = np.float32(1e-40)  # a denormal


@pytest.fixture(scope="module", params=[False, True], ids=["own switch", "portable switch"])
def numerics(request: pytest.FixtureRequest) -> Loaded:
    return load(DATA / "numerics.cu", {}, 64, False, HostToolchain(portable=request.param))


def test_denormals_are_zero_for_every_thread_before_and_after_barriers(numerics: Loaded) -> None:
    small, factor, out = np.full(64, TINY), np.full(64, 1e20, np.float32), np.ones((4, 64), np.float32)
    for seed in (0, 5):
        numerics.launch("denormals", (1, 1, 1), (64, 1, 1), small, np.full(64, 1e-30, np.float32), factor, out, seed=seed)
        assert not out[0].any(), "a denormal operand is read as zero"
        assert not out[1].any(), "a denormal result is flushed"
        assert not out[2:].any(), "and the same behind a barrier and a shuffle"


def test_an_overflow_of_fp16_is_seen_where_fp32_has_room(numerics: Loaded) -> None:
    a, out = np.array([300.0, 200.0], np.float16), np.zeros(4, np.float16)
    numerics.launch("half_overflow", (1, 1, 1), (1, 1, 1), a, out)
    assert np.isposinf(out[0]), "300 * 300 is beyond 65504"
    assert out[1] == 40000
    assert np.isposinf(out[2]), "the sum overflows although the next operation would bring it back"
    assert out[3] == np.float16(-40000), "a fused multiply-add rounds once"


def contracted(option: str, compiler: HostToolchain, folder: Path) -> tuple[bool, bool]:
    """Whether a * b + c is rounded once under `option`, and whether this processor can."""
    build = Build("numerics.cu", 64, {}, (option,) if option else ())
    kernel = Library(compiler.compile(CompileRequest(DATA.parent, DATA.name, build, "host", folder)).path)
    x, out = np.array([1 + 2**-12, 1 + 2**-12, -1 - 2**-11], np.float32), np.ones(2, np.float32)
    assert kernel.launch(Call("contracted", (1, 1, 1), (1, 1, 1), tuple(a.ctypes.data.to_bytes(8, "little") for a in (x, out)))) is None
    assert out[0] in (0, np.float32(2**-24))
    return bool(out[0]), bool(out[1])


@pytest.mark.parametrize("bundled", [False, True], ids=["found", "bundled"])
def test_products_and_sums_are_contracted_unless_the_build_says_off(bundled: bool, tmp_path: Path) -> None:
    zig = host_compiler.zig_folder()
    assert zig is not None, "the ziglang wheel is locked"
    compiler = HostToolchain(host_compiler.bundled(zig) if bundled else None)
    for option in ("", "fp-contract=fast", "fp-contract=on", "fp-contract=off"):
        found, possible = contracted(option, compiler, tmp_path / (option or "none"))
        assert found == (possible and option != "fp-contract=off"), option

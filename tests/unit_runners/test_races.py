"""The race check names file and line of what it finds, and finds nothing in kernels without a fault."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from runners.device import BoundLaunch
from runners.emulator import build_and_load, races
from runners.emulator.direct import Loaded, load
from runners.host_device import HostDevice
from runners.protocol import Race
from runners.toolchains import host_compiler
from runners.toolchains.host import HostToolchain

DATA = Path(__file__).resolve().parents[1] / "data" / "emulator"
TOOLCHAINS = [HostToolchain(), HostToolchain(host_compiler.bundled(zig))] if (zig := host_compiler.zig_folder()) else []
IN = np.arange(1024, dtype=np.float32)
OUT = np.zeros(1024, np.float32)


def line_of(mark: str) -> int:
    lines = (DATA / "races.cu").read_text(encoding="utf-8").splitlines()
    return next(number for number, text in enumerate(lines, 1) if re.search(rf"// LINE {mark}$", text))


def run(loaded: Loaded, kernel: str, *arguments: np.ndarray | int, dynamic_shared: int = 0) -> tuple[Race, ...]:
    packed = tuple(struct.pack("<Q", a.ctypes.data) if isinstance(a, np.ndarray) else struct.pack("<i", a) for a in arguments)
    launch = BoundLaunch(loaded.library, kernel, (5, 1, 1), (64, 1, 1), dynamic_shared, packed)
    return races.check(HostDevice(seed=11), [launch])


@pytest.fixture(scope="module")
def whole() -> Loaded:
    return build_and_load(DATA / "races.cu", {"LOSE_BARRIERS": 0}, 64, instrument=True)


@pytest.fixture(scope="module")
def broken() -> Loaded:
    return build_and_load(DATA / "races.cu", {"LOSE_BARRIERS": 1}, 64, instrument=True)


def test_complete_kernels_have_no_finding(whole: Loaded) -> None:
    assert run(whole, "in_template", IN, OUT) == ()
    assert run(whole, "at_namespace_scope", IN, OUT) == ()
    assert run(whole, "second_barrier", IN, OUT, 4) == ()
    assert run(whole, "copied", IN, OUT) == ()
    assert run(whole, "halves", OUT, 1) == ()
    assert run(whole, "in_turns", IN, OUT) == ()
    assert run(whole, "beyond", OUT, 0) == ()
    assert run(whole, "dynamic", OUT, 64, dynamic_shared=256) == ()
    assert run(whole, "two_barriers", OUT) == ()


@pytest.mark.parametrize(("kernel", "mark", "variable", "arguments"), [
    ("in_template", "rotate", "part", (IN, OUT)),
    ("at_namespace_scope", "namespace", "tiles", (IN, OUT)),
    ("second_barrier", "refill", "tile", (IN, OUT, 4)),
    ("copied", "copied", "tile", (IN, OUT)),
])  # fmt: skip
def test_a_lost_barrier_is_found_at_its_line(broken: Loaded, kernel: str, mark: str, variable: str, arguments: tuple) -> None:
    found = run(broken, kernel, *arguments)
    assert ("emulator/races.cu", line_of(mark)) in [(race.file, race.line) for race in found]
    assert all(variable in race.message and "no barrier between" in race.message for race in found)


def test_bytes_of_one_word_are_told_apart_and_warps_are_not_ordered(whole: Loaded) -> None:
    (found,) = run(whole, "halves", OUT, 32)
    assert (found.line, "reads packed" in found.message) == (line_of("halves"), True)


def test_an_overrun_into_the_next_variable(whole: Loaded) -> None:
    (found,) = run(whole, "beyond", OUT, 1)
    assert (found.file, found.line) == ("emulator/races.cu", line_of("beyond"))
    assert "thread 63 reaches outside a" in found.message


def test_an_overrun_of_dynamic_shared_memory(whole: Loaded) -> None:
    (found,) = run(whole, "dynamic", OUT, 65, dynamic_shared=256)
    assert found.line == line_of("dynamic") and "outside the dynamic shared memory" in found.message


def test_an_unwritten_element(whole: Loaded) -> None:
    (found,) = run(whole, "unwritten", OUT)
    assert found.line == line_of("unwritten") and "has not written" in found.message


def test_a_value_from_an_ended_lane(whole: Loaded) -> None:
    (found,) = run(whole, "ended_lane", OUT)
    assert found.line == line_of("ended_lane") and "lane that has ended" in found.message


def test_threads_at_different_barriers_are_a_warning_only(whole: Loaded) -> None:
    launch = BoundLaunch(whole.library, "two_barriers", (1, 1, 1), (64, 1, 1), 0, (struct.pack("<Q", OUT.ctypes.data),))
    library, call = HostDevice(seed=1).bind(launch)
    assert library.launch(call) is None
    (warning,) = races.findings(library, call)
    assert warning.fault is races.Fault.UNLIKE_MEETING and warning.other is not None
    assert line_of("two_barriers") in (warning.place.line, warning.other.line)


@pytest.mark.parametrize("toolchain", TOOLCHAINS)
def test_globals_of_the_device_are_not_taken_for_shared_memory(toolchain: HostToolchain) -> None:
    loaded = load(DATA / "globals.cu", {}, 64, True, toolchain)
    assert run(loaded, "remember", np.zeros(5, np.int32)) == run(loaded, "beyond", OUT, 0) == ()
    (found,) = run(loaded, "beyond", OUT, 1)
    assert found.file == "emulator/globals.cu" and "reaches outside above" in found.message


def test_the_bundled_compiler_finds_the_same() -> None:
    zig = host_compiler.zig_folder()
    assert zig is not None, "the ziglang wheel is locked"
    chosen = HostToolchain(host_compiler.bundled(zig))
    good = load(DATA / "races.cu", {"LOSE_BARRIERS": 0}, 64, True, chosen)
    bad = load(DATA / "races.cu", {"LOSE_BARRIERS": 1}, 64, True, chosen)
    for kernel in ("in_template", "copied"):
        assert run(good, kernel, IN, OUT) == ()
    assert line_of("rotate") in [race.line for race in run(bad, "in_template", IN, OUT)]
    assert line_of("copied") in [race.line for race in run(bad, "copied", IN, OUT)]
    assert [race.line for race in run(good, "beyond", OUT, 1)] == [line_of("beyond")]

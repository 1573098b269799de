"""The CPU as a backend: memory, launches, limits checked before them, times of batches."""

from __future__ import annotations

import resource
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernels.spec import Build
from runners.device import BoundLaunch, LaunchError, OutOfMemory, Zeroing, open_device
from runners.emulator import races
from runners.emulator.library import Library
from runners.host_device import HOST, HostDevice
from runners.toolchains import CompileRequest
from runners.toolchains.host import HostToolchain

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    request = CompileRequest(DATA, "emulator", Build("basics.cu", 64), "host", tmp_path_factory.mktemp("built"))
    return HostToolchain().compile(request).path


def launch(module: Library, address: int, **changes: object) -> BoundLaunch:
    usual = BoundLaunch(module, "indices", (2, 1, 1), (64, 1, 1), 0, (struct.pack("<Q", address),))
    return replace(usual, **changes)  # type: ignore[arg-type]


def test_a_launch_writes_device_memory(built: Path) -> None:
    device = open_device("host")
    assert isinstance(device, HostDevice) and device.device == HOST
    address = device.allocate(4 * 128)
    assert address % 256 == 0
    device.upload(address, b"\xff" * 512)
    module = device.load(built)
    assert device.load(built) is module
    device.run([launch(module, address)])
    found = np.frombuffer(device.download(address, 512), np.int32)
    assert np.array_equal(found, np.concatenate([np.arange(64), 1000 + np.arange(64)]))


@pytest.mark.parametrize(("changes", "says"), [
    ({"kernel": "nothing"}, "no such kernel"),
    ({"block": (1025, 1, 1)}, "1025 threads"),
    ({"block": (0, 1, 1)}, "0 threads"),
    ({"grid": (1, 65536, 1)}, "the grid"),
    ({"grid": (0, 1, 1)}, "the grid"),
    ({"dynamic_shared": 65537}, "65537 bytes"),
    ({"dynamic_shared": -1}, "-1 bytes"),
    ({"args": ()}, "arguments of"),
    ({"args": (b"\0" * 4,)}, "arguments of"),
])  # fmt: skip
def test_limits_are_checked_before_launching(built: Path, changes: dict[str, object], says: str) -> None:
    device = HostDevice(seed=1)
    address = device.allocate(512)
    with pytest.raises(LaunchError, match=says):
        device.run([launch(device.load(built), address, **changes)])
    with pytest.raises(LaunchError, match=says):
        device.record([launch(device.load(built), address, **changes)], 3)


def test_a_dead_lock_is_a_launch_error(built: Path) -> None:
    device = HostDevice(seed=1)
    with pytest.raises(LaunchError, match=r"dead-lock in block .*emulator/basics\.cu:\d+"):
        device.run([launch(device.load(built), device.allocate(512), kernel="never_meet")])


@contextmanager
def address_space(more: int) -> Iterator[None]:
    """At most `more` bytes of address space beyond what this process has now."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_what_is_given_back_can_be_had_again() -> None:
    device = HostDevice()
    with address_space(64 << 20):
        for _ in range(4):
            device.allocate(40 << 20)
            device.release()
        with pytest.raises(OutOfMemory, match="the machine has no memory for 83886080 bytes"):
            device.allocate(80 << 20)


@pytest.mark.parametrize("instrument", [False, True])
def test_a_machine_without_memory_is_told_apart_from_a_crash(tmp_path: Path, instrument: bool) -> None:
    device, request = HostDevice(seed=1), CompileRequest(DATA, "emulator", Build("basics.cu", 64), "host", tmp_path, instrument)
    wanted = launch(device.load(HostToolchain().compile(request).path), device.allocate(1 << 16), block=(1024, 1, 1))
    with address_space(64 << 20), pytest.raises(OutOfMemory, match="the machine has no memory for a launch of indices"):
        races.check(device, [wanted]) if instrument else device.run([wanted])
    device.run([wanted])


def test_batches_are_timed_in_order_with_all_their_launches(built: Path) -> None:
    device = HostDevice(seed=1)
    module, address = device.load(built), device.allocate(512)
    one, many = (device.record([launch(module, address)] * 2, count) for count in (1, 50))
    assert (one.launches, many.launches) == (2, 100)
    times = device.time([one, many, one])
    assert len(times.each) == 3 and all(time > 0 for time in times.each) and times.host >= sum(times.each)


def test_zeroing_is_a_step_of_a_batch(built: Path) -> None:
    device = HostDevice(seed=1)
    module, address, room = device.load(built), device.allocate(512), device.allocate(64)
    device.upload(room, b"\xff" * 64)
    batch = device.record([launch(module, address), Zeroing(room, 48)], 3)
    device.time([batch])
    assert batch.launches == 6 and device.download(room, 64) == bytes(48) + b"\xff" * 16

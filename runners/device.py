"""The seam between a launch plan and a device: what a backend can do, and how one is opened.

A backend launches on one stream, in order. Addresses are plain integers in the device's (or, on the
host, the process's) address space. `cupy_device` serves CUDA and HIP, `host_device` the emulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kernels.spec import Device
from runners.telemetry import Watcher


class LaunchError(RuntimeError):
    """A launch was refused or ended in an error (bad configuration, illegal address, dead-lock)."""

    told_as = "crashed"  # the key of a child's answer


class LaunchTimeout(LaunchError):
    """A launch was stopped because it does not end."""

    told_as = "hung"


class OutOfMemory(LaunchError):
    """The machine or the device had no memory for a case or a launch, which is no kernel's fault."""

    told_as = "starved"


class ScratchTooLarge(LaunchError):
    """A plan wants more scratch than the device has memory beside the case's buffers."""

    told_as = "too_large"


@dataclass(frozen=True)
class BoundLaunch:
    """A plan's launch with addresses filled in; `args` are the packed bytes of each positional argument."""

    module: object
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    args: tuple[bytes, ...]


class Batch(Protocol):
    """A number of repetitions of the same launches, recorded once (a graph where the backend has one)."""

    @property
    def launches(self) -> int: ...


@dataclass(frozen=True)
class Zeroing:
    """Bytes set to zero as a step among launches: scratch that a plan wants zero before each run."""

    address: int
    size: int


Step = BoundLaunch | Zeroing


@dataclass(frozen=True)
class Times:
    """µs of each batch, and by the host's clock of all of them up to a device-wide synchronisation."""

    each: list[float]
    host: float


class Backend(Protocol):
    device: Device
    backend: str
    driver: str
    memory_bytes: int  # all it has

    def load(self, code_object: Path) -> object:
        """A module from a code object on disk."""
        ...

    def allocate(self, size: int) -> int:
        """Address of `size` fresh bytes, 256-byte aligned; raises OutOfMemory."""
        ...

    def release(self) -> None:
        """Give back all that was allocated."""
        ...

    def upload(self, address: int, data: bytes) -> None: ...

    def download(self, address: int, size: int) -> bytes: ...

    def run(self, launches: Sequence[Step]) -> None:
        """Launch in order, read every launch's error, synchronise the whole device; raises LaunchError."""
        ...

    def record(self, launches: Sequence[Step], count: int) -> Batch:
        """`count` repetitions of `launches`, ready to be timed."""
        ...

    def time(self, batches: Sequence[Batch]) -> Times:
        """Queue all batches back to back without a synchronisation between, then wait for the whole device."""
        ...

    def watcher(self) -> Watcher:
        """What looks at the device while it is timed."""
        ...


def open_device(name: str) -> Backend:
    """The backend of `host`, `cuda:N` or `hip:N`; ValueError for any other name."""
    kind, _, index = name.partition(":")
    if name == "host":
        from runners.host_device import HostDevice

        return HostDevice()
    if kind in ("cuda", "hip") and index.isdigit():
        from runners.cupy_device import CupyDevice

        return CupyDevice(int(index))
    raise ValueError(f"{name!r} is no device: use host, cuda:N or hip:N")

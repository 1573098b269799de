"""The CPU as a device: memory is this process's own, launches go through the emulator, times are the host's."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.spec import Device, Unit
from runners.device import Batch, BoundLaunch, LaunchError, LaunchTimeout, OutOfMemory, Step, Times, Zeroing
from runners.emulator.library import MAX_THREADS, Call, Library, Status, Stopped
from runners.telemetry import Watcher

# Fixed numbers, so that a plan for the host is the same on every machine. Small caches: nothing is rotated for them.
HOST = Device(
    name="host emulator",
    target="host",
    wave=32,
    unit=Unit.CORE,
    units=1,
    simds_per_unit=1,
    waves_per_simd=32,
    regs_per_simd=65536,
    reg_granule=1,
    shared_per_unit=65536,
    shared_per_block=49152,
    shared_optin=65536,
    shared_granule=256,
    shared_reserved_per_block=0,
    blocks_per_unit=1,
    grid_max=(2147483647, 65535, 65535),
    l2_bytes=1 << 20,
    llc_bytes=8 << 20,
    fast_fp16=False,
    dot2=False,
    async_copy=True,
    copy_bytes=16,
)


@dataclass(frozen=True)
class HostBatch:
    """Launches to be repeated; the seed of a timed one is 0, so that blocks run in the same order every time."""

    calls: tuple[tuple[Library, Call] | Zeroing, ...]
    count: int
    launches: int


class HostDevice:
    """Blocks of untimed launches run in an order drawn from `seed` (from the operating system if None)."""

    backend = "emulator"

    def __init__(self, device: Device = HOST, seed: int | None = None) -> None:
        self.device = device
        self.driver = f"{platform.system()} {platform.release()}"
        self.memory_bytes = _memory_bytes()
        self._seed = int.from_bytes(os.urandom(6), "little") if seed is None else seed
        self._memory: list[mmap.mmap] = []
        self._libraries: dict[Path, Library] = {}

    def load(self, code_object: Path) -> Library:
        """The library at `code_object`, loaded once."""
        path = code_object.resolve()
        if path not in self._libraries:
            self._libraries[path] = Library(path)
        return self._libraries[path]

    def allocate(self, size: int) -> int:
        """Fresh pages; a page is more than 256-byte aligned."""
        try:
            memory = mmap.mmap(-1, max(size, 1))
        except OSError as error:
            raise OutOfMemory(f"the machine has no memory for {size} bytes: {self.memory_bytes} are the most") from error
        self._memory.append(memory)
        return ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def release(self) -> None:
        self._memory.clear()

    def upload(self, address: int, data: bytes) -> None:
        ctypes.memmove(address, data, len(data))

    def download(self, address: int, size: int) -> bytes:
        return ctypes.string_at(address, size)

    def run(self, launches: Sequence[Step]) -> None:
        """Launch in order; LaunchError names what is wrong with the first that cannot be launched or does not end."""
        for step in launches:
            _do(step if isinstance(step, Zeroing) else self.bind(step))

    def record(self, launches: Sequence[Step], count: int) -> HostBatch:
        steps = tuple(step if isinstance(step, Zeroing) else self.bind(step, 0) for step in launches)
        return HostBatch(steps, count, len(launches) * count)

    def time(self, batches: Sequence[Batch]) -> Times:
        """µs of each batch, by the host's clock."""
        times, started = [], time.perf_counter_ns()
        for batch in batches:
            assert isinstance(batch, HostBatch)
            began = time.perf_counter_ns()
            for _ in range(batch.count):
                for step in batch.calls:
                    _do(step)
            times.append((time.perf_counter_ns() - began) / 1000)
        return Times(times, (time.perf_counter_ns() - started) / 1000)

    def watcher(self) -> Watcher:
        from runners.watch_host import HostWatcher  # only where something is timed: psutil is not in every sandbox

        return HostWatcher()

    def bind(self, launch: BoundLaunch, seed: int | None = None) -> tuple[Library, Call]:
        """The call that `launch` is, with a fresh block order unless `seed` fixes one; LaunchError if the device refuses it."""
        self._seed += 1
        seed, library = self._seed if seed is None else seed, launch.module
        assert isinstance(library, Library)
        if problem := refusal(launch, library, self.device):
            raise LaunchError(f"{launch.kernel}: {problem}")
        return library, Call(launch.kernel, launch.grid, launch.block, launch.args, launch.dynamic_shared, self.device.wave, seed)


def _memory_bytes() -> int:
    """The machine's, or the part of it that this process may have."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return whole if allowed == resource.RLIM_INFINITY else min(allowed, whole)


def refusal(launch: BoundLaunch, library: Library, device: Device) -> str:
    """Why `device` would not take this launch; empty if it would."""
    kernel = library.kernels.get(launch.kernel)
    if kernel is None:
        return f"the code object has no such kernel, only {', '.join(sorted(library.kernels))}"
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    if not 1 <= threads <= MAX_THREADS:
        return f"{threads} threads in a block, where 1 to {MAX_THREADS} are possible"
    if not all(1 <= size <= limit for size, limit in zip(launch.grid, device.grid_max, strict=True)):
        return f"the grid {launch.grid} is outside {device.grid_max}"
    if launch.dynamic_shared < 0 or kernel.static_shared + launch.dynamic_shared > device.shared_optin:
        return f"{kernel.static_shared} + {launch.dynamic_shared} bytes of shared memory, where a block has {device.shared_optin}"
    wanted, given = [p.bytes for p in kernel.parameters], [len(value) for value in launch.args]
    return "" if wanted == given else f"arguments of {given} bytes, where the kernel takes {wanted}"


def _do(step: tuple[Library, Call] | Zeroing) -> None:
    if isinstance(step, Zeroing):
        ctypes.memset(step.address, 0, step.size)
        return
    library, call = step
    stopped = library.launch(call)
    if stopped is not None:
        raise launch_error(library, call, stopped)


def launch_error(library: Library, call: Call, stopped: Stopped) -> LaunchError:
    """The error that a launch which did not end is told as."""
    if stopped.status is Status.NO_MEMORY:
        return OutOfMemory(f"the machine has no memory for a launch of {call.kernel}")
    from runners.emulator.lines import describe_stop  # only here, since it reads debug information

    kind = LaunchTimeout if stopped.status is Status.STUCK else LaunchError
    return kind(describe_stop(library.path, call.kernel, stopped))

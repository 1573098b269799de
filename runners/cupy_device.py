"""NVIDIA and AMD cards through CuPy, which loads and launches code objects and compiles nothing.

CuPy is imported when a card is opened: nothing else of the node side needs it. Batches are captured graphs on CUDA and
plain launches on HIP, where CuPy captures nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kernels.spec import Device
from runners import watch_amd, watch_nvidia
from runners.cupy_cards import described
from runners.device import Batch, BoundLaunch, LaunchError, OutOfMemory, Step, Times, Zeroing
from runners.telemetry import Watcher

NO_MEMORY = 2  # in both runtimes and both drivers
WITHOUT_OPT_IN = 48 << 10  # bytes of dynamic shared memory that CUDA grants unasked
DRIVER_VERSION = Path("/proc/driver/nvidia/version")
SCALARS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True)
class CupyBatch:
    """Repetitions ready to be queued by one call."""

    queue: Callable[[], None]
    launches: int


class CupyDevice:
    """One card, with one stream of its own on which everything runs in order."""

    def __init__(self, index: int = 0) -> None:
        import cupy

        self.cupy = cupy
        self.runtime = cupy.cuda.runtime
        self.is_hip = bool(self.runtime.is_hip)
        with self._errors("opening the card"):
            cupy.cuda.Device(index).use()
            self.bus = str(self.runtime.deviceGetPCIBusId(index))
            properties: Mapping[str, Any] = self.runtime.getDeviceProperties(index)
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self.driver = self._driver()
        self.device: Device = described(properties, self.is_hip)
        self.memory_bytes = int(properties["totalGlobalMem"])
        self._allocated: list[int] = []
        self.backend = f"CuPy {cupy.__version__} on {'HIP' if self.is_hip else 'CUDA'}"

    def load(self, code_object: Path) -> Any:
        """The module of a code object; LaunchError if the driver refuses it."""
        with self._errors(f"loading {code_object.name}"):
            return self.cupy.RawModule(path=str(code_object))

    def allocate(self, size: int) -> int:
        """Fresh device memory, 256-byte aligned as every allocation of both runtimes is."""
        with self._errors(f"{size} bytes"):
            self._allocated.append(int(self.runtime.malloc(max(size, 1))))
        return self._allocated[-1]

    def release(self) -> None:
        with self._errors("giving memory back"):
            while self._allocated:
                self.runtime.free(self._allocated.pop())

    def upload(self, address: int, data: bytes) -> None:
        if not data:
            return
        with self._errors("copying to the card"):
            self.runtime.memcpy(address, np.frombuffer(data, np.uint8).ctypes.data, len(data), self.runtime.memcpyHostToDevice)
            self.runtime.deviceSynchronize()  # the copy's stream and ours do not wait for each other

    def download(self, address: int, size: int) -> bytes:
        data = np.empty(size, np.uint8)
        if size:
            with self._errors("copying from the card"):
                self.runtime.deviceSynchronize()
                self.runtime.memcpy(data.ctypes.data, address, size, self.runtime.memcpyDeviceToHost)
        return data.tobytes()

    def run(self, launches: Sequence[Step]) -> None:
        """One launch after the other, each waited for, so that an error names its own launch."""
        for step in launches:
            with self._errors("zeroing" if isinstance(step, Zeroing) else step.kernel):
                self._bind(step)()
                self.runtime.deviceSynchronize()

    def record(self, launches: Sequence[Step], count: int) -> CupyBatch:
        """A graph of all repetitions on CUDA; on HIP the calls themselves."""
        calls = [self._bind(launch) for launch in launches] * count
        with self._errors("recording a batch"):
            queue = partial(_all, calls) if self.is_hip else self._graph(calls)
        return CupyBatch(queue, len(launches) * count)

    def time(self, batches: Sequence[Batch]) -> Times:
        """µs between the events around each batch; nothing waits before the last one has ended, then the whole device."""
        events = [self.cupy.cuda.Event() for _ in range(len(batches) + 1)]
        with self._errors("timing"):
            began = time.perf_counter_ns()
            events[0].record(self.stream)
            for batch, event in zip(batches, events[1:], strict=True):
                assert isinstance(batch, CupyBatch)
                batch.queue()
                event.record(self.stream)
            self.runtime.deviceSynchronize()  # work on other streams counts too
            host = (time.perf_counter_ns() - began) / 1000
            return Times([1000.0 * self.cupy.cuda.get_elapsed_time(start, end) for start, end in pairwise(events)], host)

    def watcher(self) -> Watcher:
        return watch_amd.watch(self.bus) if self.is_hip else watch_nvidia.watch(self.bus)

    def _graph(self, calls: Sequence[Callable[[], None]]) -> Callable[[], None]:
        """Uploaded once, so that the first timed launch pays nothing for it."""
        self.stream.begin_capture()
        try:
            _all(calls)
        finally:  # also after a refused launch: a stream left capturing would refuse everything else
            graph = self.stream.end_capture()
        graph.upload(self.stream)
        return partial(graph.launch, self.stream)

    def _bind(self, launch: Step) -> Callable[[], None]:
        if isinstance(launch, Zeroing):
            return partial(self.runtime.memsetAsync, launch.address, 0, launch.size, self.stream.ptr)
        kernel = self._kernel(launch)
        values = tuple(_scalar(argument) for argument in launch.args)

        def call() -> None:
            with self.stream:
                kernel(launch.grid, launch.block, values, shared_mem=launch.dynamic_shared)

        return call

    def _kernel(self, launch: BoundLaunch) -> Any:
        """The function, with CUDA's opt-in where it needs one; on HIP CuPy's setter raises for every value."""
        most = self.device.shared_optin
        if launch.dynamic_shared > most:
            raise LaunchError(f"{launch.kernel}: {launch.dynamic_shared} B of dynamic shared memory, {most} B are the most")
        with self._errors(launch.kernel):
            kernel = launch.module.get_function(launch.kernel)  # type: ignore[attr-defined]
            if launch.dynamic_shared > WITHOUT_OPT_IN and not self.is_hip:
                kernel.max_dynamic_shared_size_bytes = launch.dynamic_shared
            return kernel

    def _driver(self) -> str:
        version = int(self.runtime.driverGetVersion())
        if self.is_hip:
            return f"HIP {version}"
        known = DRIVER_VERSION.read_text().split("Kernel Module")[-1].split() if DRIVER_VERSION.is_file() else []
        number = next((word for word in known if word[0].isdigit()), "")
        return f"{number} (CUDA {version // 1000}.{version % 1000 // 10})".strip()

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Both of CuPy's error types as ours; after some of them the process has lost its card."""
        try:
            yield
        except (self.runtime.CUDARuntimeError, self.cupy.cuda.driver.CUDADriverError) as error:
            if error.status == NO_MEMORY:
                free = int(self.runtime.memGetInfo()[0])
                raise OutOfMemory(f"the device has no memory for {what}: {free} of its {self.memory_bytes} bytes are free") from error
            raise LaunchError(f"{what}: {error}") from error


def _all(calls: Sequence[Callable[[], None]]) -> None:
    for call in calls:
        call()


def _scalar(argument: bytes) -> Any:
    """The packed bytes as the NumPy scalar of their size, which CuPy passes on unchanged."""
    if len(argument) not in SCALARS:
        raise LaunchError(f"an argument of {len(argument)} bytes cannot be passed by value")
    return np.frombuffer(argument, SCALARS[len(argument)])[0]

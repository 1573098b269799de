"""In the sandbox: how fast loops of ours go on the device. What it can do at least; the best of several batches is told."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.children.channel import Channel
from runners.device import Backend, BoundLaunch, open_device

BLOCK = 256
BLOCKS = 8  # a unit
CHAINS = 64  # as in roofline.cu
BATCH_US = 2000.0
BATCHES = 8
LARGE = 256 << 20  # bytes that no cache holds; of a larger one, four times as many as it holds
WHOLE = 64 << 20  # of the host, whose described caches are small
VECTOR = 16


def main() -> None:
    channel = Channel()
    backend = open_device(channel.request["device"])
    watcher = backend.watcher()
    watcher.begin()
    found = Loops(backend, Path(channel.request["code"])).rates()
    watcher.look()
    channel.say(**found, telemetry=watcher.end())


@dataclass(frozen=True)
class Sweep:
    """`each` vectors of 16 bytes a thread: on a card neighbouring threads read neighbours, on the host a thread its own row."""

    each: int
    first: int
    step: int
    bytes: int


class Loops:
    """Our kernels on one device."""

    def __init__(self, backend: Backend, code: Path) -> None:
        self.backend, self.module = backend, backend.load(code)
        self.grid = backend.device.units * BLOCKS
        self.threads = self.grid * BLOCK
        self.on_host = backend.device.target == "host"
        self.sums = backend.allocate(4 * self.threads)

    def rates(self) -> dict[str, float]:
        """FLOP/s and bytes/s."""
        device = self.backend.device
        large = self._sweep(WHOLE if self.on_host else max(LARGE, 4 * device.llc_bytes))
        small = self._sweep(max(device.l2_bytes // 4, VECTOR * self.threads))
        x, y = self.backend.allocate(large.bytes), self.backend.allocate(large.bytes)
        for address in (x, y):
            self.backend.upload(address, bytes(large.bytes))
        return {
            "f32": self._flops("fma32", 2),
            "f16": 0.0 if self.on_host else self._flops("fma16", 4),
            "read": large.bytes / self._seconds("sweep", self._read(x, large, 1)),
            "copy": 2 * large.bytes / self._seconds("copy", (x, y, large.each, large.first, large.step)),
            "cached": 16 * small.bytes / self._seconds("sweep", self._read(x, small, 16)),
        }

    def _flops(self, kernel: str, each: int) -> float:
        turns = 128 if self.on_host else 512
        return each * CHAINS * turns * self.threads / self._seconds(kernel, (self.sums, 0.5, 1.0, turns))

    def _sweep(self, wanted: int) -> Sweep:
        """Of as many whole vectors a thread as `wanted` bytes have."""
        each = max(1, wanted // (VECTOR * self.threads))
        first, step = (each, 1) if self.on_host else (1, self.threads)
        return Sweep(each, first, step, each * VECTOR * self.threads)

    def _read(self, x: int, sweep: Sweep, times: int) -> tuple[float, ...]:
        return x, self.sums, sweep.each, sweep.first, sweep.step, times

    def _seconds(self, kernel: str, args: Sequence[float]) -> float:
        """Of one launch, in the fastest of several batches."""
        launch = BoundLaunch(self.module, kernel, (self.grid, 1, 1), (BLOCK, 1, 1), 0, _packed(kernel, args))
        once = self.backend.record([launch], 1)
        _, took = self.backend.time([once, once]).each
        count = max(1, round(BATCH_US / max(took, 1.0)))
        batch = self.backend.record([launch], count)
        _, *times = self.backend.time([batch] * (BATCHES + 1)).each
        return min(times) / count / 1e6


FORMATS = {"fma32": "Qffi", "fma16": "Qffi", "sweep": "QQiiii", "copy": "QQiii"}


def _packed(kernel: str, args: Sequence[float]) -> tuple[bytes, ...]:
    return tuple(struct.pack(f"<{kind}", value) for kind, value in zip(FORMATS[kernel], args, strict=True))


if __name__ == "__main__":
    main()

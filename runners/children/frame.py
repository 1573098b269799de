"""One case's memory on a device: buffers between guard bands, scratch and tables, and a plan's launches bound to it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kernels import storage
from kernels.spec import Arg, Buffer, Dtype, Plan, Role, Table
from runners.device import Backend, BoundLaunch, ScratchTooLarge, Step, Zeroing

ALIGN = 256
SCRATCH_GUARD = 4096
WRITTEN_MASK = 0x5A


class Arena:
    """One allocation of a device, handed out in pieces and taken back all at once."""

    def __init__(self, backend: Backend, size: int) -> None:
        self.backend, self.size, self.used = backend, size, 0
        self.start = backend.allocate(size)

    def reset(self, shift: int = 0) -> None:
        """Take everything back; `shift` moves what is handed out next to other addresses."""
        self.used = shift * ALIGN

    def take(self, size: int, align: int = ALIGN) -> int:
        """Address of `size` bytes."""
        at = -(-(self.start + self.used) // align) * align - self.start
        self.used = at + size
        if self.used > self.size:
            raise MemoryError(f"{self.used} bytes wanted of an arena of {self.size}")
        return self.start + at


def arenas(backend: Backend, buffers: int, scratch: int) -> tuple[Arena, Arena]:
    """One for a case's buffers, one for a plan's scratch; raises OutOfMemory, or ScratchTooLarge where the plan asks for too much."""
    first = Arena(backend, buffers)
    if buffers + scratch > backend.memory_bytes:
        raise ScratchTooLarge(f"{scratch} bytes are wanted beside {buffers} of buffers, and the device has {backend.memory_bytes}")
    return first, Arena(backend, scratch)


@dataclass
class Region:
    """Bytes between two guard bands; `content` is what lies there before a launch.

    Bands of what is written hold another pattern than those of what is read, and a finite one: a kernel that goes one
    element too far on both sides would else copy the one band's NaN onto its equal.
    """

    address: int
    content: storage.Bytes
    guard: int
    written: bool

    @property
    def framed(self) -> bytes:
        band = storage.guard(self.guard) ^ self.mask
        return np.concatenate([band, self.content, band]).tobytes()

    @property
    def mask(self) -> np.uint8:
        return np.uint8(WRITTEN_MASK if self.written else 0)

    def split(self, whole: bytes) -> tuple[storage.Bytes, int]:
        """The content of a downloaded region, and how many bytes of its bands were overwritten."""
        data, size = np.frombuffer(whole, np.uint8), len(self.content)
        bands = data[: self.guard] ^ self.mask, data[self.guard + size :] ^ self.mask
        return data[self.guard : self.guard + size], sum(map(storage.damage, bands))


def frame_bytes(buffers: Sequence[Buffer], plans: Sequence[Plan]) -> int:
    """Bytes an arena needs for one frame and the tables of the plans bound to it."""
    data = sum(buffer.storage_bytes + 2 * storage.guard_bytes(buffer) + 2 * ALIGN for buffer in buffers)
    return data + sum(8 * max(len(t.values), len(t.byte_offsets), 1) + ALIGN for plan in plans for t in plan.tables.values()) + ALIGN


def scratch_bytes(plan: Plan) -> int:
    """Bytes an arena needs for a plan's scratch."""
    return sum(s.bytes + s.align + 2 * SCRATCH_GUARD + 2 * ALIGN for s in plan.scratch.values()) + ALIGN


@dataclass
class Frame:
    """Where one case's buffers lie; several plans may be bound to the same frame."""

    arena: Arena
    buffers: Sequence[Buffer]
    regions: dict[str, Region] = field(default_factory=dict)

    def place(self, contents: Mapping[str, storage.Bytes]) -> None:
        """Give every buffer its address and first content."""
        for buffer in self.buffers:
            guard = storage.guard_bytes(buffer)
            address = self.arena.take(buffer.storage_bytes + 2 * guard) + guard
            self.regions[buffer.name] = Region(address, contents[buffer.name], guard, buffer.role in (Role.OUT, Role.INOUT))
        self.fill()

    def refill(self, contents: Mapping[str, storage.Bytes], outputs: bool = True) -> None:
        """New content at the old addresses; without `outputs` those stay as the last launch left them."""
        for name, region in self.regions.items():
            region.content = contents[name]
        self.fill(outputs)

    def fill(self, outputs: bool = True) -> None:
        """Upload content and guard bands of every buffer: inputs, restored inouts, poisoned outputs."""
        for buffer in self.buffers:
            if outputs or buffer.role is not Role.OUT:
                region = self.regions[buffer.name]
                self.arena.backend.upload(region.address - region.guard, region.framed)

    def read(self, name: str) -> tuple[storage.Bytes, int]:
        """A buffer's storage as it is now, and how many bytes of its guard bands were overwritten."""
        region = self.regions[name]
        size = len(region.content) + 2 * region.guard
        return region.split(self.arena.backend.download(region.address - region.guard, size))

    def offences(self) -> list[str]:
        """Every write a launch may not have done: over a guard band, into an input, between an output's rows."""
        found = []
        for buffer in self.buffers:
            now, damaged = self.read(buffer.name)
            if damaged:
                found.append(f"wrote {damaged} bytes outside buffer {buffer.name}")
            if misplaced := storage.misplaced_writes(buffer, self.regions[buffer.name].content, now):
                what = "the padding of" if buffer.role in (Role.OUT, Role.INOUT) else f"the {buffer.role.value} buffer"
                found.append(f"changed {misplaced} bytes of {what} {buffer.name}")
        return found


class Bound:
    """A plan bound to a frame: tables in the frame's arena, scratch in its own, launches with their arguments packed."""

    def __init__(self, frame: Frame, scratch: Arena, plan: Plan, modules: Mapping[str, object]) -> None:
        self.frame, self.pool, self.plan, self.backend = frame, scratch, plan, scratch.backend
        self.scratch = {name: self._scratch(s.bytes, s.align, s.init == "zero") for name, s in plan.scratch.items()}
        self.tables = {name: self._table(table) for name, table in plan.tables.items()}
        self.modules = modules

    def _scratch(self, size: int, align: int, zero: bool) -> Region:
        address = self.pool.take(size + 2 * SCRATCH_GUARD + align) + SCRATCH_GUARD
        content = np.zeros(size, np.uint8) if zero else storage.unset(size)
        return Region(-(-address // align) * align, content, SCRATCH_GUARD, written=True)

    def _table(self, table: Table) -> int:
        start = self.frame.regions[table.of].address if table.of else 0
        values = [start + offset for offset in table.byte_offsets] if table.of else list(table.values)
        data = np.array(values, {Dtype.I32: "<i4"}.get(table.dtype, "<i8")).tobytes()
        address = self.frame.arena.take(max(len(data), 8))
        self.backend.upload(address, data)
        return address

    def fill(self) -> None:
        """Scratch as it is before the first launch: NaN, or zeros where the plan says so."""
        for region in self.scratch.values():
            self.backend.upload(region.address - region.guard, region.framed)

    def offences(self) -> list[str]:
        """Scratch buffers that were written outside."""
        return [f"wrote {bytes_} bytes outside scratch {name}" for name, region in self.scratch.items() if (bytes_ := self._damage(region))]

    def _damage(self, region: Region) -> int:
        size = len(region.content) + 2 * region.guard
        return region.split(self.backend.download(region.address - region.guard, size))[1]

    def timed(self) -> list[Step]:
        """The `run` launches after the zeroing of what they want zero: a plan's `zero` scratch, unless `prepare` leaves something there."""
        kept = {arg.scratch for launch in self.plan.launches if launch.phase == "prepare" for arg in launch.args}
        zeroed = [name for name, scratch in self.plan.scratch.items() if scratch.init == "zero" and name not in kept]
        return [*(Zeroing(self.scratch[n].address, len(self.scratch[n].content)) for n in zeroed), *self.launches("run")]

    def launches(self, phase: str) -> list[BoundLaunch]:
        """The plan's launches of one phase, in order."""
        return [
            BoundLaunch(
                module=self.modules[launch.build],
                kernel=launch.kernel,
                grid=(launch.grid[0], launch.grid[1], launch.grid[2]),
                block=(launch.block[0], launch.block[1], launch.block[2]),
                dynamic_shared=launch.dynamic_shared,
                args=tuple(self._pack(arg) for arg in launch.args),
            )
            for launch in self.plan.launches
            if launch.phase == phase
        ]

    def _pack(self, arg: Arg) -> bytes:
        if arg.i32 is not None:
            return struct.pack("<i", arg.i32)
        if arg.i64 is not None:
            return struct.pack("<q", arg.i64)
        if arg.f32 is not None:
            return struct.pack("<f", arg.f32)
        if arg.buffer is not None:
            return struct.pack("<Q", self.frame.regions[arg.buffer].address + arg.byte_offset)
        if arg.scratch is not None:
            return struct.pack("<Q", self.scratch[arg.scratch].address + arg.byte_offset)
        return struct.pack("<Q", self.tables[arg.table or ""] + arg.byte_offset)

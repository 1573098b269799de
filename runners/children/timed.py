"""In the sandbox: times both sides against each other in one process, quad by quad, and re-runs timed launches on new inputs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels import storage
from kernels.spec import Buffer, Device, Plan, Role, read
from runners.children.channel import Channel
from runners.children.frame import Arena, Bound, Frame, frame_bytes, scratch_bytes
from runners.children.patience import answer_each
from runners.device import Backend, Batch, Zeroing, open_device
from runners.protocol import Session, Side, Stage
from runners.sampling import Rules, quads_wanted
from runners.telemetry import disagree

BATCH_US = 1000.0  # a batch is at least this long
ALONE_US = 20_000.0  # a launch longer than this is a batch by itself
WARM_SETS = 2
MOST_SETS = 64
SIDES = (Side.BASE, Side.HEAD)
ORDERS = ((Side.BASE, Side.HEAD, Side.HEAD, Side.BASE), (Side.HEAD, Side.BASE, Side.BASE, Side.HEAD))


def main() -> None:
    channel = Channel()
    backend = open_device(channel.request["device"])
    answer_each(channel, lambda item: time_case(backend, item, Path("/out")))


def time_case(backend: Backend, item: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """One session of one case; with `verify`, then outputs of timed launches on inputs no launch has seen."""
    pair = Pair(backend, item)
    pair.prepare(item["seed"])
    pair.warm_up()
    answer = pair.session(read(Rules, item["rules"], "rules"), Stage(item["stage"]))
    if item["verify"]:
        answer["checks"] = [pair.check(side, item["check_seed"], out / f"{item['index']}-{side.value}") for side in SIDES]
    backend.release()
    return answer | {"gpu_seconds": pair.spent / 1e6}


class Pair:
    """Both sides' code objects over the same rotating buffers and the same scratch addresses."""

    def __init__(self, backend: Backend, item: Mapping[str, Any]) -> None:
        self.backend, self.random, self.spent, self.apart = backend, random.Random(item["order_seed"]), 0.0, 0
        self.buffers = read(tuple[Buffer, ...], item["buffers"], "buffers")
        self.plans = {side: read(Plan, item[side.value]["plan"], "plan") for side in SIDES}
        order = SIDES if item["loaded_first"] == Side.BASE else SIDES[::-1]
        self.modules = {side: {n: backend.load(Path(p)) for n, p in item[side.value]["modules"].items()} for side in order}
        self.cold = bool(item["cold"])
        sets, flushed = rotation(backend.device, self.buffers) if self.cold else (WARM_SETS, 0)
        self.flush = backend.record([Zeroing(backend.allocate(flushed), flushed)], 1) if flushed else None
        self.bound = self._bind(sets)
        self.count = 1

    def _bind(self, sets: int) -> list[dict[Side, Bound]]:
        """One frame per set; scratch is shared by sets and sides unless a `prepare` launch leaves something in it."""
        plans = list(self.plans.values())
        keeps = any(launch.phase == "prepare" for plan in plans for launch in plan.launches)
        arena = Arena(self.backend, sets * frame_bytes(self.buffers, plans))
        needs = [scratch_bytes(plan) for plan in plans]
        scratch = Arena(self.backend, sets * sum(needs) if keeps else max(needs))
        self.frames = [Frame(arena, self.buffers) for _ in range(sets)]
        bound = []
        for frame in self.frames:
            frame.place({b.name: storage.poison(b.storage_bytes) for b in self.buffers})
            sides = {}
            for side in SIDES:
                if not keeps:
                    scratch.reset()
                sides[side] = Bound(frame, scratch, self.plans[side], self.modules[side])
            bound.append(sides)
        return bound

    def prepare(self, seed: int) -> None:
        """Inputs of every set, scratch, and what comes before the timed launches."""
        for number, (frame, sides) in enumerate(zip(self.frames, self.bound, strict=True)):
            frame.refill(storage.draw_all(self.buffers, seed + number))
            for side in SIDES:
                sides[side].fill()
                if before := sides[side].launches("prepare"):
                    self.backend.run(before)

    def warm_up(self) -> None:
        """Run both sides once, then fix how many launches a batch holds: the same on both sides."""
        once = {side: self._record(side, 0, 1) for side in SIDES}
        self._time([once[side] for side in SIDES])
        _, *times = self._time([once[Side.BASE], *(once[side] for side in SIDES)])
        each = [time / self._units for time in times]
        if max(each) > ALONE_US:
            self.cold, self.flush = False, None  # such a launch is a batch by itself, and has long forgotten the one before
        self.count = 1 if max(each) > ALONE_US else max(1, round(0.5 + BATCH_US / (min(each) * self._units)))
        turns = 1 if self.cold else len(self.bound)
        repeated = 1 if self.flush else self.count
        self.batches = [{side: self._record(side, number, repeated) for side in SIDES} for number in range(turns)]

    @property
    def _units(self) -> int:
        """Launches of the timed unit in one repetition of a batch: cold batches go through all sets."""
        return len(self.bound) if self.cold else 1

    def _record(self, side: Side, number: int, count: int) -> Batch:
        sets = self.bound if self.cold else [self.bound[number]]
        return self.backend.record([step for bound in sets for step in bound[side].timed()], count)

    def _time(self, batches: list[Batch]) -> list[float]:
        times = self.backend.time(batches)
        self.spent += sum(times.each)
        self.apart += disagree(sum(times.each), times.host)
        return times.each

    def session(self, rules: Rules, stage: Stage) -> dict[str, Any]:
        """Quads until the session's own scatter says that more would not help."""
        quads: list[tuple[float, float, float, float]] = []
        order: list[int] = []
        self.apart, watcher = 0, self.backend.watcher()
        watcher.begin()
        while wanted := quads_wanted(Session(stage, tuple(quads), tuple(order)), rules):
            for _ in range(wanted):
                order.append(self.random.getrandbits(1))
                quads.append(self._quad(order[-1], self.batches[len(quads) % len(self.batches)]))
                watcher.look()
        seen = watcher.end() | {"apart": self.apart / len(quads)}
        return {"quads": quads, "order": order, "launches": self.count * self._units, "telemetry": seen}

    def _quad(self, order: int, batches: dict[Side, Batch]) -> tuple[float, float, float, float]:
        """µs per launch of four batches, after a lead-in that takes the gap a first launch has."""
        sides = ORDERS[order]
        _, *times = self._spans([batches[sides[-1]], *(batches[side] for side in sides)])
        a, b, c, d = (time / (self.count * self._units) for time in times)
        return a, b, c, d

    def _spans(self, batches: list[Batch]) -> list[float]:
        """µs of each batch; where the cache is flushed, of its repetitions together, each after a flush that is not counted."""
        if self.flush is None:
            return self._time(batches)
        times = self._time([one for batch in batches for _ in range(self.count) for one in (self.flush, batch)])[1::2]
        return [sum(times[at : at + self.count]) for at in range(0, len(times), self.count)]

    def check(self, side: Side, seed: int, folder: Path) -> dict[str, Any]:
        """Outputs of one launch on new inputs, with what timed launches on nearly the same inputs left behind.

        Before it, addresses, scratch, outputs and nearly all inputs are those of the launch before: a kernel that has kept
        a result, or leaves work undone because it was done already, now gives that launch's results.
        """
        chosen, batch = self.random.randrange(len(self.bound)), self.random.randint(1, self.count)
        judged = storage.draw_all(self.buffers, seed + chosen)
        self.bound[chosen][side].fill()
        self._again(side, chosen, storage.nearly(self.buffers, judged, self.random.getrandbits(62)), batch, outputs=True)
        self._again(side, chosen, judged, 1, outputs=False)
        frame = self.frames[chosen]
        folder.mkdir()
        for buffer in self.buffers:
            if buffer.role in (Role.OUT, Role.INOUT):
                frame.read(buffer.name)[0].tofile(folder / f"{buffer.name}.bin")
        return {"side": side.value, "set": chosen, "offences": [*frame.offences(), *self.bound[chosen][side].offences()]}

    def _again(self, side: Side, chosen: int, contents: Mapping[str, storage.Bytes], count: int, outputs: bool) -> None:
        """`count` timed launches with new content of one set."""
        self.frames[chosen].refill(contents, outputs)
        if before := self.bound[chosen][side].launches("prepare"):
            self.backend.run(before)
        self._time([self._record(side, chosen, count)])


def rotation(device: Device, buffers: tuple[Buffer, ...]) -> tuple[int, int]:
    """How many sets of buffers cold batches go through, so that the last-level cache has forgotten one before its turn comes again.

    Where so many of them are not larger than the cache, also the bytes to overwrite before each round.
    """
    footprint = sum(buffer.storage_bytes for buffer in buffers) or 1
    cache = max(device.l2_bytes, device.llc_bytes)
    sets = min(MOST_SETS, 1 + -(-2 * cache // footprint))
    return sets, 0 if (sets - 1) * footprint > cache else 2 * cache


if __name__ == "__main__":
    main()

"""In the sandbox: runs cases of ONE side on the device and writes their outputs to /out; judges nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels import storage
from kernels.spec import Buffer, Plan, Role, read
from runners.children.channel import Channel
from runners.children.frame import ALIGN, Bound, Frame, arenas, frame_bytes, scratch_bytes
from runners.children.patience import answer_each
from runners.device import Backend, open_device

Contents = dict[str, storage.Bytes]
SHIFT = 37  # the second run's addresses differ from the first's by this many times 256 bytes


def main() -> None:
    channel = Channel()
    backend = open_device(channel.request["device"])
    answer_each(channel, lambda item: run_case(backend, item, Path("/out")))


def run_case(backend: Backend, item: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Two runs on equal input at unlike addresses; the outputs of the first are kept."""
    buffers = read(tuple[Buffer, ...], item["buffers"], "buffers")
    plan = read(Plan, item["plan"], "plan")
    modules = {name: backend.load(Path(path)) for name, path in item["modules"].items()}
    case = _Case(backend, buffers, plan, modules)
    contents = storage.draw_all(buffers, item["seed"])
    began = time.monotonic()
    first, offences = case.once(contents, 0)
    second, again = case.once(contents, SHIFT)
    backend.release()
    folder = out / str(item["index"])
    folder.mkdir()
    for name, data in first.items():
        data.tofile(folder / f"{name}.bin")
    unlike = [name for name in first if bytes(first[name]) != bytes(second[name])]
    return {"offences": offences or again, "unlike": unlike, "seconds": time.monotonic() - began}


class _Case:
    """A case's arenas, large enough to be laid out at either shift."""

    def __init__(self, backend: Backend, buffers: tuple[Buffer, ...], plan: Plan, modules: dict[str, object]) -> None:
        self.buffers, self.plan, self.modules = buffers, plan, modules
        sizes = frame_bytes(buffers, [plan]), scratch_bytes(plan)
        self.arena, self.scratch = arenas(backend, *(size + SHIFT * ALIGN for size in sizes))

    def once(self, contents: Contents, shift: int) -> tuple[Contents, list[str]]:
        """Outputs of one run, and what it wrote where it may not."""
        self.arena.reset(shift)
        self.scratch.reset(shift)
        frame = Frame(self.arena, self.buffers)
        frame.place(contents)
        bound = Bound(frame, self.scratch, self.plan, self.modules)
        bound.fill()
        self.arena.backend.run([*bound.launches("prepare"), *bound.launches("run")])
        outputs = {b.name: frame.read(b.name)[0] for b in self.buffers if b.role in (Role.OUT, Role.INOUT)}
        return outputs, [*frame.offences(), *bound.offences()]


if __name__ == "__main__":
    main()

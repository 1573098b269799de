"""In the sandbox, after the candidate has ended: fp64 outputs of the judge's reference, and limits from its plain implementation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels import storage
from kernels.catalog import KernelFolder, load_folder
from kernels.check import PROBES, Projected, calibrate, marked
from kernels.spec import Buffer, Role, read
from kernels.storage import Array
from runners.children.channel import Channel, fault
from runners.children.patience import at_most


def main() -> None:
    channel = Channel()
    for item in channel.request["items"]:
        channel.say(start=item["index"])
        folder = Path("/suite", item["folder"])
        with at_most(item["patience"]):
            try:
                answer = judge_case(folder, item, Path("/out"))
            except BaseException as error:  # noqa: BLE001 - whatever a repository's code may raise, SystemExit included
                answer = fault(error, folder)
        channel.say(index=item["index"], **answer)


def judge_case(folder: Path, item: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """One file of float64 per output and seed (two of a projected one); the limit only where it is asked for."""
    kernel = load_folder(folder)
    module = kernel.reference
    case, buffers = item["case"], read(tuple[Buffer, ...], item["buffers"], "buffers")
    for seed in item["seeds"]:
        given = storage.views(buffers, storage.draw_all(buffers, seed))
        outputs = module.reference(case, given)
        for buffer in buffers:
            if buffer.role in (Role.OUT, Role.INOUT):
                _write(buffer, outputs[buffer.name], out / f"{item['index']}-{seed}-{buffer.name}")
    if not item["calibrate"]:
        return {}
    return {"limit": _limit(kernel, case)}


def _write(buffer: Buffer, output: Array | Projected, path: Path) -> None:
    """The whole output, masked elements marked; or the vectors it is multiplied with, and the products."""
    parts = {"vectors": output[0], "products": output[1]} if isinstance(output, tuple) else {"f64": output}
    for ending, part in parts.items():
        array, wanted = marked(part), part_shape(buffer, ending)
        if array.shape != wanted:
            raise ValueError(f"reference() gave {buffer.name} the shape {array.shape} instead of {wanted}")
        array.tofile(path.with_name(f"{path.name}.{ending}"))


def part_shape(buffer: Buffer, part: str) -> tuple[int, ...]:
    """Shape of a file of a reference by its ending."""
    shapes = {"f64": buffer.shape, "vectors": (buffer.shape[-1], PROBES), "products": (*buffer.shape[:-1], PROBES)}
    return tuple(shapes[part])


def _limit(kernel: KernelFolder, case: dict[str, Any]) -> float:
    """From the plain implementation over many seeds; a reference.py may name a smaller case whose error is the same."""
    module = kernel.reference
    small = module.calibration(case) if hasattr(module, "calibration") else case
    buffers = read(tuple[Buffer, ...], kernel.cases.buffers(small), "buffers")
    return calibrate(small, buffers, module.plain, module.reference)


if __name__ == "__main__":
    main()

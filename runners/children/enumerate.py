"""In the sandbox: a kernel folder's cases and held-out cases with their buffers, and the files that decide them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from kernels.catalog import KernelFolder, load_folder
from runners.children.channel import Channel, fault, not_json


def main() -> None:
    channel = Channel()
    request = channel.request
    for name in request["folders"]:
        folder = Path(request["suite"], name)
        opened = _watch(folder)
        try:
            answer = _cases(load_folder(folder), request["tier"], request["seed"], request["device"])
        except BaseException as error:  # noqa: BLE001 - whatever a repository's code may raise, SystemExit included
            answer = fault(error, folder)
        channel.say(folder=name, judge=sorted(opened | {"cases.py", "reference.py"}), **answer)


def _watch(folder: Path) -> set[str]:
    """Names of the folder's files opened from now on: what they say, the judge depends on."""
    opened: set[str] = set()

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str) and args[0].startswith(f"{folder}/") and Path(args[0]).is_file():
            opened.add(str(Path(args[0]).relative_to(folder)))

    sys.addaudithook(hook)
    return opened


def _cases(folder: KernelFolder, tier: str, seed: int, device: dict[str, Any]) -> dict[str, Any]:
    module = folder.cases
    folder.reference  # noqa: B018 - imported so that the files it stands on are seen
    cases, drawn = module.cases(tier, device), module.draw(seed, device)
    buffers = {case["id"]: module.buffers(case) for case in [*cases, *drawn]}
    for name, value in (("cases", cases), ("draw", drawn), ("buffers", buffers)):
        if bad := not_json(value, name):
            return {"error": bad[1], "where": bad[0]}
    return {"cases": cases, "drawn": drawn, "buffers": buffers}


if __name__ == "__main__":
    main()

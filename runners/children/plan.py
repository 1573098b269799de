"""In the sandbox: asks a kernel folder's plan.py for tunables and builds, or for launches, one answer per wanted case."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from kernels.catalog import load_folder
from runners.children.channel import Channel, fault, not_json


def main() -> None:
    channel = Channel()
    folder, device = Path(channel.request["folder"]), channel.request["device"]
    try:
        module = load_folder(folder).plan
    except BaseException as error:  # noqa: BLE001 - whatever importing a repository's file may raise, SystemExit included
        channel.say(**fault(error, folder), where="plan.py")
        return
    for index, wanted in enumerate(channel.request["wanted"]):
        try:
            answer = _launches(module, wanted, device) if "resources" in wanted else _builds(module, wanted, device)
        except BaseException as error:  # noqa: BLE001 - the same: it is the repository's code that runs here
            answer = fault(error, folder)
        channel.say(index=index, **answer)


def _builds(module: ModuleType, wanted: dict[str, Any], device: dict[str, Any]) -> dict[str, Any]:
    legal = module.tunables(wanted["case"], device)
    if bad := not_json(legal, "tunables"):
        return {"error": bad[1], "where": bad[0]}
    chosen, absent = _choose(legal, wanted["tunables"])
    builds = module.builds(wanted["case"], device, dict(chosen))
    if bad := not_json(builds, "builds"):
        return {"error": bad[1], "where": bad[0]}
    return {"legal": legal, "chosen": chosen, "absent": absent, "builds": builds}


def _choose(legal: dict[str, list[Any]], asked: dict[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Defaults, overlaid by what was asked; what this side has no such tunable or value for stays so, and is named in `absent`."""
    chosen = {name: values[0] for name, values in legal.items()}
    found = {name: [value for value in legal.get(name, []) if str(value) == text] for name, text in asked.items()}
    chosen |= {name: values[0] for name, values in found.items() if values}
    return chosen, [name for name, values in found.items() if not values]


def _launches(module: ModuleType, wanted: dict[str, Any], device: dict[str, Any]) -> dict[str, Any]:
    launches = module.launches(wanted["case"], device, wanted["tunables"], wanted["resources"])
    if bad := not_json(launches, ""):
        return {"error": bad[1], "where": bad[0]}
    return {"launches": launches}


if __name__ == "__main__":
    main()

"""The cards of this machine as the kernel lists them, without a driver's library and without CuPy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

NVIDIA = Path("/proc/driver/nvidia/gpus")
KFD = Path("/sys/class/kfd/kfd/topology/nodes")
DEV = Path("/dev")


@dataclass(frozen=True)
class Card:
    """`device` is its name here (`cuda:0`, `hip:1`); `target` is empty where only the runtime knows it; `kind` tells unlike cards apart."""

    device: str
    kind: str
    target: str = ""
    bus: str = ""
    minor: int = -1
    gpu_id: str = ""


def cards(nvidia: Path = NVIDIA, kfd: Path = KFD, dev: Path = DEV) -> tuple[Card, ...]:
    """NVIDIA's by their device nodes, AMD's in the order in which HIP numbers them, which is the kernel's."""
    return (*_nvidia(nvidia, dev), *_amd(kfd))


def find(device: str) -> Card:
    """The card called so; one of which nothing is known where the kernel lists none."""
    return next((card for card in cards() if card.device == device), Card(device, device))


def _nvidia(folder: Path, dev: Path) -> list[Card]:
    known = {}
    for file in sorted(folder.glob("*/information")):
        facts = dict(re.findall(r"^([^:\n]+):\s*(.*?)\s*$", _text(file), re.MULTILINE))
        known[facts.get("Device Minor", "")] = (facts.get("Model", "NVIDIA card"), file.parent.name)
    minors = sorted(
        int(path.name.removeprefix("nvidia")) for path in dev.glob("nvidia[0-9]*") if path.name.removeprefix("nvidia").isdigit()
    )
    found = ((minor, *known.get(str(minor), ("NVIDIA card", ""))) for minor in minors)
    return [Card(f"cuda:{minor}", model, bus=bus, minor=minor) for minor, model, bus in found]


def _amd(folder: Path) -> list[Card]:
    found = []
    for place in sorted(folder.glob("[0-9]*"), key=lambda path: int(path.name)):
        facts = dict(line.split(maxsplit=1) for line in _text(place / "properties").splitlines() if " " in line.strip())
        version, minor = _number(facts.get("gfx_target_version")), _number(facts.get("drm_render_minor"))
        if version > 0 and minor > 0:
            target = f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
            found.append(Card(f"hip:{len(found)}", target, target, minor=minor, gpu_id=_text(place / "gpu_id").strip()))
    return found


def _number(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""

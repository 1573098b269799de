"""What a node with cards lacks, and the command that mends it: from plain facts of the machine to findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

EXTRA = {"cuda12": "cupy-cuda12x", "cuda13": "cupy-cuda13x", "rocm": "cupy-rocm-7-0"}
SOURCE = "cupy"
FIRST_OF_CUDA13 = 75  # older cards end with CUDA 12.9 and with the driver branch 580
DRIVERS = {"cuda12": 525, "cuda13": 580}
LAST_FOR_OLD = 580


@dataclass(frozen=True)
class Finding:
    """One piece: `remedy` is empty where it is there."""

    piece: str
    state: str
    remedy: str = ""


@dataclass(frozen=True)
class CardFacts:
    """A card the kernel lists. `target` is empty where its driver does not say; `closed` are device nodes this user can't open."""

    device: str
    name: str
    target: str = ""
    closed: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeFacts:
    """`packages` are the CuPys installed, by distribution; `driver` is NVIDIA's, `rocm` the version of ROCm, empty where there is none."""

    cards: Sequence[CardFacts] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    driver: str = ""
    rocm: str = ""


def findings(facts: NodeFacts) -> Iterator[Finding]:
    """What concerns all cards, then each card's driver and CuPy."""
    if not facts.cards:
        if facts.packages:
            yield Finding("cards", "none, though CuPy is here", "install the card's driver; the kernel lists no card in /dev and /sys")
        return
    for card in facts.cards:
        piece = f"{card.device}, {card.name}"
        if card.closed:
            yield Finding(piece, f"{', '.join(card.closed)} can't be opened", "usermod -aG video,render $USER, and log in anew")
            continue
        yield _driver(piece, card, facts)
        yield _cupy(piece, card, facts)


def _driver(piece: str, card: CardFacts, facts: NodeFacts) -> Finding:
    return _rocm(piece, card, facts) if card.device.startswith("hip") else _nvidia(piece, card, facts)


def _nvidia(piece: str, card: CardFacts, facts: NodeFacts) -> Finding:
    """R580 is the last branch for cards before Turing, and the first for CUDA 13."""
    piece, branch = f"{piece}, driver", _major(facts.driver)
    least = DRIVERS[_extra(card, facts)]
    if not branch:
        return Finding(piece, "not loaded", f"install NVIDIA's driver {LAST_FOR_OLD} and restart, then `modprobe nvidia_uvm`")
    if _is_old(card) and branch > LAST_FOR_OLD:
        return Finding(
            piece, f"{facts.driver} knows this card no more", f"install driver {LAST_FOR_OLD}, the last branch for {card.target}"
        )
    if branch < least:
        return Finding(piece, f"{facts.driver} is too old", f"install driver {LAST_FOR_OLD}; {EXTRA[_extra(card, facts)]} needs {least}")
    return Finding(piece, facts.driver)


def _rocm(piece: str, card: CardFacts, facts: NodeFacts) -> Finding:
    """Occupancy is 0 from ROCm 7.1.1 on an RX 6800; gfx1151 came with 7; gfx906 is AMD's no more, and is built for all the same."""
    piece = f"{piece}, ROCm"
    if not facts.rocm:
        version = "6.3" if card.target == "gfx906" else "7.0"
        return Finding(piece, "not in /opt/rocm", f"install ROCm {version}: its hip-runtime-amd and rocm-llvm are enough")
    if card.target == "gfx1030" and not facts.rocm.startswith("7.0"):
        return Finding(piece, f"{facts.rocm}, which is not the tested one for this card", "install ROCm 7.0: 7.1.1 reports occupancy 0")
    if card.target == "gfx1151" and _major(facts.rocm) < 7:
        return Finding(piece, f"{facts.rocm} does not know this card", "install ROCm 7.0 or newer")
    return Finding(piece, facts.rocm)


def _cupy(piece: str, card: CardFacts, facts: NodeFacts) -> Finding:
    piece, extra = f"{piece}, CuPy", _extra(card, facts)
    wanted = (SOURCE,) if card.target == "gfx906" else (EXTRA[extra], SOURCE)
    install = _install(card, extra)
    if not facts.packages:
        return Finding(piece, "not installed", install)
    here = ", ".join(f"{name} {version}" for name, version in sorted(facts.packages.items()))
    wrong = [name for name in facts.packages if name not in wanted]
    if wrong or len(facts.packages) > 1:
        state = f"{here}: {'the wrong one for this card' if wrong else 'one of them too many'}"
        return Finding(piece, state, f"pip uninstall -y {' '.join(sorted(facts.packages))}; {install}")
    return Finding(piece, here)


def _install(card: CardFacts, extra: str) -> str:
    if card.target == "gfx906":
        return "CUPY_INSTALL_USE_HIP=1 ROCM_HOME=/opt/rocm HCC_AMDGPU_TARGET=gfx906 CXX=hipcc pip install --no-binary cupy cupy"
    return f"pip install 'kernelgate[{extra}]', or in a checkout pip install -e '.[{extra}]'"


def _extra(card: CardFacts, facts: NodeFacts) -> str:
    """Which of kernelgate's extras the card wants: CUDA 13 where card and driver can, or where nothing is known."""
    if card.device.startswith("hip"):
        return "rocm"
    if _is_old(card) or 0 < _major(facts.driver) < DRIVERS["cuda13"]:
        return "cuda12"
    return "cuda13"


def _is_old(card: CardFacts) -> bool:
    number = card.target.removeprefix("sm_")
    return number.isdigit() and int(number) < FIRST_OF_CUDA13


def _major(version: str) -> int:
    head = version.partition(".")[0]
    return int(head) if head.isdigit() else 0

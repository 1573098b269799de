"""What doctor says of a node's cards: each missing piece with the command that mends it."""

from __future__ import annotations

import pytest

from bot.cli.cards import CardFacts, NodeFacts, findings

P40 = CardFacts("cuda:0", "Tesla P40", "sm_61")
H200 = CardFacts("cuda:0", "NVIDIA H200", "sm_90")
MI50 = CardFacts("hip:0", "gfx906", "gfx906")
RX6800 = CardFacts("hip:0", "gfx1030", "gfx1030")
STRIX = CardFacts("hip:0", "gfx1151", "gfx1151")


def faults(*cards: CardFacts, driver: str = "", rocm: str = "", **packages: str) -> dict[str, tuple[str, str]]:
    """State and remedy of what is missing, by the last word of the piece."""
    facts = NodeFacts(cards, {name.replace("_", "-"): version for name, version in packages.items()}, driver, rocm)
    return {found.piece.split(", ")[-1]: (found.state, found.remedy) for found in findings(facts) if found.remedy}


@pytest.mark.parametrize(
    ("card", "more"),
    [
        (P40, {"driver": "580.95.05", "cupy_cuda12x": "14.2.0"}),
        (H200, {"driver": "580.95.05", "cupy_cuda13x": "14.2.0"}),
        (H200, {"driver": "550.54", "cupy_cuda12x": "14.2.0"}),
        (RX6800, {"rocm": "7.0.2", "cupy_rocm_7_0": "14.2.0"}),
        (STRIX, {"rocm": "7.2.1", "cupy_rocm_7_0": "14.2.0"}),
        (STRIX, {"rocm": "7.2.1", "cupy": "14.2.0"}),
        (MI50, {"rocm": "6.3.4", "cupy": "14.2.0"}),
        (MI50, {"rocm": "7.2.1", "cupy": "14.2.0"}),
    ],
)
def test_a_node_that_has_all_is_told_nothing(card: CardFacts, more: dict[str, str]) -> None:
    assert faults(card, **more) == {}


@pytest.mark.parametrize(
    ("card", "more", "piece", "state", "remedy"),
    [
        (P40, {"driver": "580.95.05"}, "CuPy", "not installed", "kernelgate[cuda12]"),
        (P40, {"driver": "580.95.05", "cupy_cuda13x": "14.2"}, "CuPy", "wrong one", "cupy-cuda13x; pip install 'kernelgate[cuda12]'"),
        (P40, {"driver": "590.44", "cupy_cuda12x": "14.2"}, "driver", "knows this card no more", "driver 580, the last branch for sm_61"),
        (P40, {"driver": "470.1", "cupy_cuda12x": "14.2"}, "driver", "too old", "needs 525"),
        (P40, {"cupy_cuda12x": "14.2"}, "driver", "not loaded", "modprobe nvidia_uvm"),
        (H200, {"driver": "535.1"}, "CuPy", "not installed", "kernelgate[cuda12]"),
        (H200, {"driver": "580.1", "cupy_rocm_7_0": "14.2"}, "CuPy", "wrong one", "kernelgate[cuda13]"),
        (H200, {"driver": "580.1", "cupy_cuda13x": "14.2", "cupy": "14.2"}, "CuPy", "too many", "pip uninstall -y cupy cupy-cuda13x"),
        (RX6800, {"rocm": "7.0.2"}, "CuPy", "not installed", "kernelgate[rocm]"),
        (RX6800, {"rocm": "7.1.1", "cupy_rocm_7_0": "14.2"}, "ROCm", "7.1.1", "install ROCm 7.0"),
        (RX6800, {"cupy_rocm_7_0": "14.2"}, "ROCm", "not in /opt/rocm", "install ROCm 7.0"),
        (STRIX, {"rocm": "6.4", "cupy_rocm_7_0": "14.2"}, "ROCm", "does not know this card", "7.0 or newer"),
        (MI50, {"rocm": "6.3.4"}, "CuPy", "not installed", "HCC_AMDGPU_TARGET=gfx906"),
        (MI50, {"rocm": "6.3.4", "cupy_rocm_7_0": "14.2"}, "CuPy", "wrong one", "--no-binary cupy"),
        (MI50, {"cupy": "14.2"}, "ROCm", "not in /opt/rocm", "install ROCm 6.3"),
        (CardFacts("hip:0", "gfx906", "gfx906", ("/dev/kfd",)), {}, "gfx906", "/dev/kfd can't be opened", "video,render"),
    ],
)  # fmt: skip
def test_each_missing_piece_has_its_command(card: CardFacts, more: dict[str, str], piece: str, state: str, remedy: str) -> None:
    found = faults(card, **more)
    assert list(found) == [piece] and state in found[piece][0] and remedy in found[piece][1]


def test_a_machine_without_cards_is_asked_for_none() -> None:
    assert not faults() and list(faults(cupy_cuda13x="14.2")) == ["cards"]


def test_each_card_is_told_of() -> None:
    facts = NodeFacts((MI50, RX6800), {"cupy": "14.2.0"}, "", "7.0.2")
    assert [found.piece for found in findings(facts) if not found.remedy] == [
        "hip:0, gfx906, ROCm", "hip:0, gfx906, CuPy", "hip:0, gfx1030, ROCm", "hip:0, gfx1030, CuPy",
    ]  # fmt: skip

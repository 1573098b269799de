"""The suite's cases of gemm that one thread per output knows too: C = A W^T in fp32. Everything else is the suite's.

Up to FEW rows the suite has a path without tiles, whose gain hangs on the processor: a sample about tiles has no case of it.
"""

from __future__ import annotations

import random

from . import every_case

KNOWN = {"m", "n", "k", "pad", "offset"}
FEW = 16
buffers = every_case.buffers


def cases(tier: str, device: dict) -> list:
    return [case for case in every_case.cases(tier, device) if _known(case) and case["shape"]["m"] > FEW]


def _known(case: dict) -> bool:
    return case["dtype"] == "f32" and case["shape"].keys() <= KNOWN


def draw(seed: int, device: dict) -> list:
    """Three held-out shapes: any size, padding and offset."""
    chance = random.Random(seed)
    return [every_case.drawn_size(chance) for _ in range(3)]

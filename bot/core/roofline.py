"""How long a case takes at least, by the loops that were measured on its device and the work that it says it is."""

from __future__ import annotations

from kernels.spec import Case, Dtype
from runners.protocol import Roofline

MARGIN = 1.25  # what hardware may do beyond our loops, which reach four fifths of it or more


def least_us(case: Case, roofline: Roofline) -> float:
    """µs of one launch at the roofline; 0 where the case counts neither FLOPs nor bytes."""
    flops, moved = _flops(case, roofline), max(roofline.read, roofline.copy) if case.cold else roofline.cached
    return 1e6 * max(_at(case.flops, flops), _at(case.bytes, moved))


def is_beyond(us: float, case: Case, roofline: Roofline) -> bool:
    """Whether a launch is faster than the device can be."""
    return us * MARGIN < least_us(case, roofline)


def _flops(case: Case, roofline: Roofline) -> float:
    """No limit for types that a card may compute in matrix or integer units, which no loop of ours measures."""
    if case.dtype == Dtype.F32:
        return roofline.f32
    return max(roofline.f32, roofline.f16) if case.dtype == Dtype.F16 and roofline.f16 else 0.0


def _at(amount: float, rate: float) -> float:
    return amount / rate if rate else 0.0

"""The cards of the shelf as data: device descriptions by pool and by compile target, in the runtime's own units.

On RDNA the unit is the WGP, as HIP counts it: an RX 6800 has 30. Registers are wave-wide 32-bit registers
per SIMD. The host's description is the emulator's and lies beside these, in `host_device`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from kernels.spec import Device, read


@cache
def by_pool() -> Mapping[str, Device]:
    """Every described card under the pool name its nodes usually carry."""
    data = json.loads(files("kernels").joinpath("devices.json").read_text(encoding="utf-8"))
    return {pool: read(Device, value, pool) for pool, value in data.items()}


@cache
def by_target() -> Mapping[str, Device]:
    """The described card of each compile target (one each)."""
    return {device.target: device for device in by_pool().values()}


def for_target(target: str) -> Device:
    """The card described for `target`; ValueError names those there are."""
    try:
        return by_target()[target]
    except KeyError:
        raise ValueError(f"no card is described for {target!r}; there are {', '.join(sorted(by_target()))}") from None

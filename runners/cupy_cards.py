"""The description of the card that is there: the shelf's where its target is described, with the runtime's own counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kernels import devices
from kernels.spec import Device, Unit
from runners.device import LaunchError


def described(properties: Mapping[str, Any], is_hip: bool) -> Device:
    """From the runtime's properties of one card; LaunchError for an AMD card that nobody has described."""
    target = _target(properties, is_hip)
    known = devices.by_target().get(target)
    if known is None and is_hip:
        raise LaunchError(f"no card is described for {target}; there are {', '.join(sorted(devices.by_target()))}")
    card = known or _derived(properties, target)
    l2 = int(properties.get("l2CacheSize") or card.l2_bytes)
    return replace(
        card,
        name=_text(properties["name"]) or card.name,
        units=int(properties["multiProcessorCount"]),  # on RDNA HIP counts WGPs, as the descriptions do
        l2_bytes=l2,
        llc_bytes=max(card.llc_bytes, l2),
    )


def _target(properties: Mapping[str, Any], is_hip: bool) -> str:
    if is_hip:
        return _text(properties["gcnArchName"]).split(":")[0]
    return f"sm_{properties['major']}{properties['minor']}"


def _derived(properties: Mapping[str, Any], target: str) -> Device:
    """An NVIDIA card by what is common to all since Volta: four schedulers, granules of 8 registers and 128 bytes."""
    capability = 10 * int(properties["major"]) + int(properties["minor"])
    l2 = int(properties["l2CacheSize"])
    return Device(
        name=_text(properties["name"]),
        target=target,
        wave=32,
        unit=Unit.SM,
        units=int(properties["multiProcessorCount"]),
        simds_per_unit=4,
        waves_per_simd=int(properties["maxThreadsPerMultiProcessor"]) // 128,
        regs_per_simd=int(properties["regsPerMultiprocessor"]) // 128,
        reg_granule=8,
        shared_per_unit=int(properties["sharedMemPerMultiprocessor"]),
        shared_per_block=int(properties["sharedMemPerBlock"]),
        shared_optin=int(properties.get("sharedMemPerBlockOptin") or properties["sharedMemPerBlock"]),
        shared_granule=128 if capability >= 80 else 256,
        shared_reserved_per_block=int(properties.get("reservedSharedMemPerBlock") or (1024 if capability >= 80 else 0)),
        blocks_per_unit=int(properties.get("maxBlocksPerMultiProcessor") or 16),
        grid_max=tuple(int(size) for size in properties["maxGridSize"]),
        l2_bytes=l2,
        llc_bytes=l2,
        fast_fp16=capability in (60, 62) or capability >= 70,
        dot2=False,
        async_copy=capability >= 80,
        copy_bytes=16 if capability >= 70 else 8,
    )


def _text(value: bytes | str) -> str:
    """CuPy gives names as bytes, some of them padded."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return text.strip("\0 ")

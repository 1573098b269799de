"""Runs the same kernel source on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.emulator.direct import Loaded


def build_and_load(
    source: Path | str, defines: Mapping[str, int | float | str] | None = None, block: int = 256, *, instrument: bool = False
) -> Loaded:
    """Compile a `.cu` file and load it here, ready to be launched on NumPy arrays; for tests and the command line."""
    from runners.emulator.direct import load

    return load(Path(source), dict(defines or {}), block, instrument)

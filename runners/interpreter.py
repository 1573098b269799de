"""This Python, NumPy and our own node packages as mounts of a sandbox, at fixed paths inside."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

SITE = "/kernelgate"
NAME = f"python{sys.version_info.major}.{sys.version_info.minor}"
PACKAGES = ("numpy", "numpy.libs", "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection", "elftools")


def python(extra: Sequence[str] = (), libraries_at: str = "") -> tuple[list[str], dict[str, Path]]:
    """Command prefix and read mounts that run this interpreter inside; `extra` names further packages to mount."""
    home, base = _interpreter()
    search = ":".join(part for part in (f"{home}/lib", libraries_at) if part)
    prefix = ["/usr/bin/env", f"PYTHONPATH={SITE}", f"LD_LIBRARY_PATH={search}", f"{home}/bin/{NAME}", "-B", "-s", "-P"]
    own = {f"{SITE}/{name}": _package(name) for name in ("runners", "kernels")}
    libraries = {f"{SITE}/{path.name}": path for path in map(_library, (*PACKAGES, *extra)) if path is not None}
    return prefix, {**base, **own, **libraries}


@cache
def _interpreter() -> tuple[str, dict[str, Path]]:
    """Debian's own Python lies in /usr already; any other is mounted whole at /python."""
    base = Path(sys.base_prefix).resolve()
    return (str(base), {}) if base.is_relative_to("/usr") else ("/python", {"/python": base})


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise RuntimeError(f"the package {name!r} of this installation is missing")
    return Path(next(iter(found.submodule_search_locations))).resolve()


@cache
def _library(name: str) -> Path | None:
    """A package's folder, a module's file, or a `NAME.libs` folder beside its package; None where a wheel has none."""
    if name.endswith(".libs"):
        folder = _package(name.removesuffix(".libs")).parent / name
        return folder if folder.is_dir() else None
    found = importlib.util.find_spec(name)
    if found is None:
        return None
    if found.submodule_search_locations:
        return Path(next(iter(found.submodule_search_locations))).resolve()
    return Path(found.origin) if found.origin else None

"""Small things worth keeping between jobs, written by the agent only and named by a hash of all they depend on."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path


def folder() -> Path:
    """KERNELGATE_CACHE, else `kernelgate` in the user's cache folder."""
    if chosen := os.environ.get("KERNELGATE_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "kernelgate")


def get(kind: str, key: str) -> float | None:
    """The number kept under `key`; None where there is none or the file is damaged."""
    try:
        value = json.loads(read(kind, f"{key}.json") or "")
    except ValueError:
        return None
    return float(value) if isinstance(value, int | float) else None


def put(kind: str, key: str, value: float) -> None:
    """Keep a number."""
    write(kind, f"{key}.json", json.dumps(value).encode())


def read(kind: str, name: str) -> bytes | None:
    """What was kept under `name`, None if nothing; it may be damaged."""
    try:
        return (folder() / kind / name).read_bytes()
    except OSError:
        return None


def write(kind: str, name: str, data: bytes) -> None:
    """Keep `data`; two writers at once leave one of both values, whole."""
    place = folder() / kind
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place, delete=False) as file:
        file.write(data)
    Path(file.name).replace(place / name)

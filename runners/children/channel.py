"""The JSON a child reads on stdin and the lines it answers with on its first stdout, which repository code no longer has."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Channel:
    """Takes stdout away from everything that runs later: what repository code prints goes to stderr."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        self.request: dict[str, Any] = json.load(sys.stdin)

    def say(self, **fields: object) -> None:
        """One line of the answer."""
        self._out.write(json.dumps(fields).encode() + b"\n")


def fault(error: BaseException, folder: Path | None = None) -> dict[str, Any]:
    """What went wrong, with the innermost line inside `folder` where there is one."""
    found: dict[str, Any] = {"error": f"{type(error).__name__}: {error}"}
    if folder is None:
        return found
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(folder):
            return found | {"file": f"{folder.name}/{Path(frame.filename).relative_to(folder)}", "line": frame.lineno or 0}
    return found


def not_json(value: object, where: str = "") -> tuple[str, str] | None:
    """Key and reason of the first part of `value` that plain JSON can't hold."""
    if value is None or isinstance(value, bool | int | str):
        return None
    if isinstance(value, float):
        return None if value == value and abs(value) != float("inf") else (where, f"{value} is not JSON")
    if isinstance(value, Mapping):
        bad = next((key for key in value if not isinstance(key, str)), None)
        if bad is not None:
            return where, f"the key {bad!r} is not text"
        return _first((value[key], f"{where}.{key}" if where else key) for key in value)
    if isinstance(value, list | tuple):
        return _first((part, f"{where}.{index}" if where else str(index)) for index, part in enumerate(value))
    return where, f"{type(value).__name__} is not JSON"


def _first(parts: Any) -> tuple[str, str] | None:
    return next((found for part, where in parts if (found := not_json(part, where))), None)

"""Starts one of the children in the sandbox and reads its lines back, under a byte cap and with no trust in them."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from runners import sandbox
from runners.sandbox import Ended, Finished, Limits


class Stopped(Exception):
    """The job was cancelled while a child ran, or between two steps."""


@dataclass(frozen=True)
class Room:
    """What of the machine a job's children see: device nodes, environment, packages, and the name `device` has inside."""

    stop: threading.Event
    devices: tuple[Path, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    extra: tuple[str, ...] = ()
    device: str = "host"

    def go_on(self) -> None:
        """Between two steps of a long row of them: raises Stopped once the job is cancelled."""
        if self.stop.is_set():
            raise Stopped


@dataclass(frozen=True)
class Reply:
    """A child's lines in order, and how it ended."""

    lines: tuple[dict[str, Any], ...]
    finished: Finished

    @property
    def trouble(self) -> str:
        """Why the child did not come to its end, empty if it did."""
        if self.finished.ok:
            return ""
        if self.finished.ended is Ended.TIMED_OUT:
            return f"took longer than {self.finished.seconds:.0f} s"
        if self.finished.ended is Ended.OUTPUT_LIMIT:
            return "wrote more than is allowed"
        if self.finished.ended is Ended.MEMORY_LIMIT:
            return "took more memory than is allowed"
        if self.finished.ended is Ended.SIGNALLED:
            return f"ended by signal {-self.finished.code}"
        return f"ended with code {self.finished.code}: {last_line(self.finished.stderr)}"


def ask(
    module: str,
    request: object,
    room: Room,
    *,
    read: Mapping[str, Path] | None = None,
    write: Mapping[str, Path] | None = None,
    env: Mapping[str, str] | None = None,
    limits: Limits = Limits(),
    extra: Sequence[str] = (),
    on_device: bool = False,
) -> Reply:
    """Run `runners.children.MODULE` with `request` on stdin; only `on_device` children see the card."""
    own = dict(room.env) if on_device else {}
    argv, mounts = sandbox.python([*extra, *(room.extra if on_device else ())], own.pop("LD_LIBRARY_PATH", ""))
    finished = sandbox.run(
        [*argv, "-m", f"runners.children.{module}"],
        read={**mounts, **(read or {})},
        write=write or {},
        env={**own, **(env or {})},
        stdin=json.dumps(request).encode(),
        limits=limits,
        devices=room.devices if on_device else (),
        stop=room.stop,
    )
    if finished.ended is Ended.STOPPED:
        raise Stopped
    return Reply(tuple(_lines(finished.stdout)), finished)


def _lines(output: bytes) -> list[dict[str, Any]]:
    """Every whole line that is a JSON object; a line cut short by the child's end is left out."""
    found = []
    for line in output.split(b"\n"):
        try:
            value = from_json(line)  # unlike the standard library's, it bounds depth and takes no text that UTF-8 can't hold
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def last_line(text: bytes) -> str:
    """The last line a process complained with, short enough for a table."""
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else "it said nothing"

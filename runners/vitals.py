"""How a card is while nothing of ours runs on it: memory in use, who else is there, what slows it.

Asked in a throw-away process with a time-out, since drivers hang; a process that even SIGKILL doesn't end is left behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

SECONDS = 5.0
SLACK = 64 << 20  # bytes by which an idle card's memory may wander
GRAVE = ("hardware slowdown", "hardware thermal slowdown", "hardware power brake")


class Unfit(Exception):
    """The device is to take no job; the message says why and, where there is one, the remedy."""


@dataclass(frozen=True)
class Vitals:
    """`used_bytes` is None where nobody can say; `others` are processes on the card; `slowed` is why its clock is low.

    `target` is what the driver says without a runtime, empty where it doesn't.
    """

    used_bytes: int | None = None
    others: tuple[str, ...] = ()
    slowed: tuple[str, ...] = ()
    target: str = ""


def look(device: str, seconds: float = SECONDS, command: Sequence[str] = ()) -> Vitals:
    """The vitals of a card; those of the host are never bad. Raises Unfit where the card does not answer in time."""
    if device == "host":
        return Vitals()
    words = list(command) or [sys.executable, "-m", "runners.children.vitals", device]
    pipe = subprocess.PIPE
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        out, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        _abandon(process)
        raise Unfit(f"{device} does not say how it is within {seconds:.0f} s: its driver hangs") from error
    try:
        return TypeAdapter(Vitals).validate_python(json.loads(out))
    except (ValueError, ValidationError) as error:
        raise Unfit(f"{device} can't be asked how it is") from error


def complaint(vitals: Vitals, idle_bytes: int | None) -> str:
    """What keeps a card from a job; empty if nothing does. `idle_bytes`: the least ever seen in use."""
    if vitals.others:
        return f"other processes are on the card: {', '.join(vitals.others[:8])}"
    if vitals.used_bytes is not None and idle_bytes is not None and vitals.used_bytes > idle_bytes + SLACK:
        return f"{vitals.used_bytes >> 20} MiB of the card's memory are in use, {idle_bytes >> 20} MiB when idle"
    if grave := [reason for reason in vitals.slowed if reason in GRAVE]:
        return f"the card slows itself: {', '.join(grave)}"
    return ""


def _abandon(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    process.stdout.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0.5)

"""Many items through one child: a crash or hang is the item's that was in flight, the rest goes on in a fresh child."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from runners.child import Reply
from runners.sandbox import Ended, SandboxError
from runners.scratch import scratch

HANGS = 2  # after so many hangs of one kernel its remaining items are not tried
ALARMS = (-signal.SIGALRM, -signal.SIGVTALRM)


def through(items: Sequence[dict[str, Any]], ask: Callable[[Sequence[dict[str, Any]]], Reply]) -> dict[int, dict[str, Any]]:
    """Answers by index. One that ended its process has `crashed` or `hung`, one not tried after hangs `skipped`."""
    answers: dict[int, dict[str, Any]] = {}
    left = list(items)
    while left:
        reply = ask(left)
        _read(reply, {item["index"] for item in left}, answers)
        flying = next((item for item in left if item["index"] not in answers), None)
        if flying is not None and any(line.get("start") == flying["index"] for line in reply.lines):
            answers[flying["index"]] = _blame(reply, flying["patience"])
        rest = [item for item in left if item["index"] not in answers]
        if len(rest) == len(left):
            raise SandboxError(f"a child process did not start: {reply.trouble or 'it said nothing'}")
        hangs = Counter(item["kernel"] for item in items if "hung" in answers.get(item["index"], {}))
        for item in rest:
            if hangs[item["kernel"]] >= HANGS:
                answers[item["index"]] = {"skipped": f"{HANGS} cases of {item['kernel']} took too long before"}
        left = [item for item in rest if item["index"] not in answers]
    return answers


def keeping(out: Path, ask: Callable[[Sequence[dict[str, Any]], Path], Reply]) -> Callable[[Sequence[dict[str, Any]]], Reply]:
    """`ask` with a folder of its own for each child, from which the outputs of what it answered are moved to `out`: what else a
    child leaves there is nothing to the next one."""

    def one(some: Sequence[dict[str, Any]]) -> Reply:
        with scratch(f"{out.name}-", out.parent) as own:
            reply = ask(some, own)
            _keep(own, {str(line.get("index")) for line in reply.lines} & {str(item["index"]) for item in some}, out)
            return reply

    out.mkdir(parents=True, exist_ok=True)
    return one


def _keep(own: Path, answered: set[str], out: Path) -> None:
    """Move what is named INDEX or INDEX-…, whatever it is: nothing of it is opened here."""
    for entry in list(own.iterdir()):
        if entry.name.partition("-")[0] in answered:
            entry.rename(out / entry.name)


def _read(reply: Reply, known: set[int], answers: dict[int, dict[str, Any]]) -> None:
    for line in reply.lines:
        index = line.get("index")
        if isinstance(index, int) and index in known:
            answers.setdefault(index, line)


def _blame(reply: Reply, patience: float) -> dict[str, Any]:
    if reply.finished.code in ALARMS or reply.finished.ended is Ended.TIMED_OUT:
        return {"hung": f"took longer than {patience:.0f} s"}
    return {"crashed": reply.trouble or "its process ended without an answer"}

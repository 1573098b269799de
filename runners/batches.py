"""Many items through one child: a crash or hang is the item's that was in flight, the rest goes on in a fresh child."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from runners.child import Reply
from runners.sandbox import Ended, SandboxError

HANGS = 2  # after so many hangs of one kernel its remaining items are not tried
SIGALRM = -14


def through(items: Sequence[dict[str, Any]], ask: Callable[[Sequence[dict[str, Any]]], Reply]) -> dict[int, dict[str, Any]]:
    """Answers by index. One that ended its process has `crashed` or `hung`, one not tried after hangs `skipped`."""
    answers: dict[int, dict[str, Any]] = {}
    left = list(items)
    while left:
        reply = ask(left)
        _read(reply, {item["index"] for item in left}, answers)
        flying = next((item for item in left if item["index"] not in answers), None)
        if flying is not None and any(line.get("start") == flying["index"] for line in reply.lines):
            answers[flying["index"]] = _blame(reply)
        rest = [item for item in left if item["index"] not in answers]
        if len(rest) == len(left):
            raise SandboxError(f"a child process did not start: {reply.trouble or 'it said nothing'}")
        hangs = Counter(item["kernel"] for item in items if "hung" in answers.get(item["index"], {}))
        for item in rest:
            if hangs[item["kernel"]] >= HANGS:
                answers[item["index"]] = {"skipped": f"{HANGS} cases of {item['kernel']} took too long before"}
        left = [item for item in rest if item["index"] not in answers]
    return answers


def _read(reply: Reply, known: set[int], answers: dict[int, dict[str, Any]]) -> None:
    for line in reply.lines:
        index = line.get("index")
        if isinstance(index, int) and index in known:
            answers.setdefault(index, line)


def _blame(reply: Reply) -> dict[str, Any]:
    if reply.finished.code == SIGALRM or reply.finished.ended is Ended.TIMED_OUT:
        return {"hung": f"took longer than {reply.finished.seconds:.0f} s"}
    return {"crashed": reply.trouble or "its process ended without an answer"}

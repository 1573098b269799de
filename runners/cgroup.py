"""An optional control group for one sandbox: bounds memory and processes where the machine lets us make one."""

from __future__ import annotations

import contextlib
import os
import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = frozenset({"memory", "pids"})
VERSION2 = (("memory.max", "memory"), ("pids.max", "processes"))
JOIN = 'for g in $KG_GROUPS; do echo $$ > "$g/cgroup.procs" || exit 125; done; unset KG_GROUPS; exec "$@"'


@dataclass(frozen=True)
class Cgroup:
    """Folders the sandbox's first process enters before it starts bubblewrap; empty where no group can be made."""

    folders: tuple[Path, ...] = ()

    @classmethod
    def create(cls, memory_bytes: int, processes: int) -> Cgroup:
        name = f"kernelgate-{uuid.uuid4().hex[:12]}"
        made = []
        for parent, limits in _parents():
            folder = parent / name
            try:
                folder.mkdir()
                made.append(folder)
                for file, kind in limits:
                    (folder / file).write_text(str(processes if kind == "processes" else memory_bytes))
            except OSError:
                continue  # this controller is not ours to use: rlimits and the output watch still hold
        return cls(tuple(made))

    @property
    def bounds_memory(self) -> bool:
        """Whether the kernel sees to it that all processes together keep within their memory."""
        return any((folder / name).exists() for folder in self.folders for name in ("memory.max", "memory.limit_in_bytes"))

    def has_killed(self) -> bool:
        """Whether the kernel killed a process of the group for memory."""
        told = "".join(_text(folder / name) for folder in self.folders for name in ("memory.events", "memory.oom_control"))
        return re.search(r"^oom_kill [1-9]", told, re.MULTILINE) is not None

    def wrap(self, command: Sequence[str]) -> list[str]:
        """`command`, entering the group first."""
        if not self.folders:
            return list(command)
        groups = " ".join(map(str, self.folders))
        return ["/usr/bin/env", f"KG_GROUPS={groups}", "/bin/sh", "-c", JOIN, "sh", *command]

    def __enter__(self) -> Cgroup:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for folder in self.folders:
            _remove(folder)


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _remove(folder: Path) -> None:
    for _ in range(20):  # the kernel takes a moment to let the last process go
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.005)


def kind() -> str:
    """The version of control groups that bounds sandboxes here, empty where none does."""
    return "" if not _parents() else "version 2" if _parents()[0][1] == VERSION2 else "version 1"


@cache
def _parents() -> tuple[tuple[Path, tuple[tuple[str, str], ...]], ...]:
    """Where a child group may be made, with the files that bound it: version 2 first, else the two of version 1."""
    if (ROOT / "cgroup.controllers").exists():
        own = _own(Path("/proc/self/cgroup").read_text())
        return next((((parent, VERSION2),) for parent in (ROOT, *own) if _delegated(parent)), ())
    version1 = ((ROOT / "memory", (("memory.limit_in_bytes", "memory"),)), (ROOT / "pids", (("pids.max", "processes"),)))
    return tuple((parent, limits) for parent, limits in version1 if os.access(parent, os.W_OK)) if os.geteuid() == 0 else ()


def _own(lines: str) -> list[Path]:
    """The group that a unit with Delegate= has for itself: the one above, where the agent sits in a group of its own."""
    found = [line.removeprefix("0::/") for line in lines.splitlines() if line.startswith("0::/")]
    return [ROOT / path.removesuffix("/agent") for path in found if path]


def _delegated(folder: Path) -> bool:
    """Whether groups below `folder` are ours to make and may be bounded; processes in `folder` itself would forbid it."""
    control = folder / "cgroup.subtree_control"
    try:
        if not set(control.read_text().split()) >= CONTROLLERS:
            control.write_text(" ".join(f"+{name}" for name in sorted(CONTROLLERS)))
        return os.access(folder, os.W_OK)
    except OSError:
        return False

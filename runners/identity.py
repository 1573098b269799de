"""Who sandboxed processes are: an agent that is root drops them to a user of nobody's, any other keeps its own in a namespace."""

from __future__ import annotations

import logging
import os
import secrets
import stat
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runners import bubblewrap

SETPRIV = "/usr/bin/setpriv"
FIRST, RANGE = 2_000_000_000, 1 << 20  # above what systems give to people, services and containers
NOBODY = 65534
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Identity:
    """`uid` is None where the agent's own user stays."""

    uid: int | None = None

    def words(self, devices: Sequence[Path]) -> list[str]:
        """The prefix, inside, that becomes this user; it takes along only the groups that open the card's device nodes."""
        if self.uid is None:
            return []
        groups = sorted(set(_groups(devices)))
        chosen = f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"
        return [SETPRIV, f"--reuid={self.uid}", f"--regid={self.uid}", chosen, "--inh-caps=-all", "--"]

    def take(self, folders: Iterable[Path]) -> None:
        """Let this user write below `folders`; coreutils walk what an earlier one left there, however deep it is."""
        for folder in folders if self.uid is not None else ():
            os.chown(folder, self.uid, self.uid)
            folder.chmod(folder.stat().st_mode | stat.S_IXGRP | stat.S_IXOTH)  # bubblewrap, by then without rights of its own, goes there
            if any(folder.iterdir()):
                owner = f"{self.uid}:{self.uid}"
                subprocess.run(["/usr/bin/chown", "-hR", owner, "--", str(folder)], check=False, capture_output=True, env={})


def draw(shown: Iterable[Path]) -> Identity:
    """A user for one sandbox; another one each time, so that two can't reach each other nor spend each other's processes.

    Where something that is `shown` inside is closed to all but the agent, its own user in a namespace has to do, and that is said.
    """
    if not drops():
        return Identity()
    if closed := closed_to_others(shown):
        _say(closed)
        return Identity()
    return Identity(FIRST + secrets.randbelow(RANGE) if _has_all_users() else NOBODY)


def closed_to_others(places: Iterable[Path]) -> Path | None:
    """The first of `places` that another user could not read."""
    return next((place for place in places if not _is_open(place)), None)


def mend(closed: Path) -> str:
    """How others may read it."""
    return f"chmod -R go+rX {closed}"


@cache
def _say(closed: Path) -> None:
    log.warning("sandboxed processes stay this user, in a user namespace: %s is closed to all others; %s", closed, mend(closed))


@cache
def drops() -> bool:
    """Whether this agent can start a sandbox without a user namespace and leave root for good inside."""
    if os.geteuid() != 0 or not Path(SETPRIV).exists():
        return False
    me = Identity(NOBODY)
    trial = [*bubblewrap.isolation(dropping=True), *bubblewrap.mounts({}, {}, ()), "--", *me.words(()), "/usr/bin/true"]
    return subprocess.run(trial, cwd="/", env={}, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def _has_all_users() -> bool:
    """In a container root may have been given 65,536 users only."""
    lines = (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
    return any(int(first) <= FIRST and int(first) + int(count) >= FIRST + RANGE for first, _, count in lines)


def _is_open(place: Path) -> bool:
    mode = place.stat().st_mode
    return bool(mode & stat.S_IROTH) and (not stat.S_ISDIR(mode) or bool(mode & stat.S_IXOTH))


def _groups(devices: Sequence[Path]) -> Iterator[int]:
    for device in devices:
        found = device.stat()
        if stat.S_ISCHR(found.st_mode) and not found.st_mode & stat.S_IWOTH and found.st_mode & stat.S_IWGRP:
            yield found.st_gid

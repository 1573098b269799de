"""A node's bare repositories, one for each address, of a bounded size together: those not used for longest go first."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runners.scratch import remove

MOST_BYTES = 20 << 30
LEFT_BEHIND = ("*.lock", "objects/pack/tmp_*")  # by a git that was killed; a lock would stop every later one


@dataclass(frozen=True)
class GitCache:
    """Used by one process, which does one job at a time."""

    folder: Path
    most_bytes: int = MOST_BYTES

    def place(self, url: str) -> Path:
        """The repository of `url`, there or to be made, once there is room and nothing is left of a git that was killed."""
        chosen = self.folder / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.git"
        self.folder.mkdir(parents=True, exist_ok=True)
        if chosen.exists():
            os.utime(chosen)
        self._make_room()
        for stale in (path for pattern in LEFT_BEHIND for path in chosen.glob(pattern)):
            stale.unlink()
        return chosen

    def drop(self, place: Path) -> None:
        """Forget a repository that may be damaged."""
        remove(place)

    def _make_room(self) -> None:
        known = sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        left = self.most_bytes
        for place in known:
            left -= sum(_sizes(place))
            if left < 0:
                remove(place)


def _sizes(folder: Path) -> Iterator[int]:
    """Of what the files take on the disk, which for many small ones is more than they hold."""
    for path in folder.rglob("*"):
        yield path.lstat().st_blocks * 512

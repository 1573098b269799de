"""How long a bad device is left alone: 10 s, then twice as long each time, an hour at most."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

FIRST, LONGEST = 10.0, 3600.0


@dataclass
class Quarantine:
    clock: Callable[[], float] = time.monotonic
    reason: str = ""
    _pause: float = 0.0
    _until: float = 0.0

    def begin(self, reason: str) -> None:
        """Rest from now on, longer than the last time."""
        self._pause = min(max(2 * self._pause, FIRST), LONGEST)
        self._until, self.reason = self.clock() + self._pause, reason

    def left(self) -> float:
        """Seconds still to rest."""
        return max(self._until - self.clock(), 0.0)

    def end(self) -> None:
        """All is well: the next rest is a short one again."""
        self._pause, self._until, self.reason = 0.0, 0.0, ""

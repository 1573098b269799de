"""GitHub's limits: calls of one caller in an hour, and what it writes in a minute."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bot.forge.errors import ApiError
from bot.forge.faults import SECONDARY, spent

HOUR, MINUTE = 3600.0, 60.0
WRITES = frozenset({"POST", "PATCH", "PUT", "DELETE"})


@dataclass
class Window:
    """What one caller used of a span of time."""

    end: float
    used: int = 0


class Meter:
    """Counts each caller's calls; `calls` an hour and `writes` a minute are GitHub's own figures."""

    def __init__(self, calls: int = 5000, writes: int = 80) -> None:
        self.calls, self.writes = calls, writes
        self._hours: dict[str, Window] = {}
        self._minutes: dict[str, Window] = {}

    def count(self, caller: str, verb: str) -> None:
        """Count one call; ApiError where it is beyond a limit."""
        hour, minute = self.hour(caller), _window(self._minutes, caller, MINUTE)
        if hour.used >= self.calls:
            raise spent(self.calls, hour.end)
        if verb in WRITES and minute.used >= self.writes:
            raise ApiError(403, SECONDARY, headers={"Retry-After": str(int(minute.end - time.time()) + 1)})
        hour.used += 1
        minute.used += verb in WRITES

    def hour(self, caller: str) -> Window:
        """The caller's hour."""
        return _window(self._hours, caller, HOUR)

    def headers(self, caller: str) -> dict[str, str]:
        """What GitHub says of the caller's hour on every answer."""
        return {f"X-RateLimit-{name.title()}": str(value) for name, value in self.told(caller).items()} | {"X-RateLimit-Resource": "core"}

    def told(self, caller: str) -> dict[str, int]:
        """The caller's hour in the words of the API."""
        hour = self.hour(caller)
        return {"limit": self.calls, "used": hour.used, "remaining": max(0, self.calls - hour.used), "reset": int(hour.end)}


def _window(windows: dict[str, Window], caller: str, span: float) -> Window:
    found = windows.get(caller)
    if found is None or found.end <= time.time():
        found = windows[caller] = Window(time.time() + span)
    return found

"""The host as a watcher sees it: how much of a core this process had, what others took, and the clock where it can be read."""

from __future__ import annotations

import time

import psutil

from runners.telemetry import Telemetry


class HostWatcher:
    """Of the process it lives in, which runs the emulator in one thread."""

    def begin(self) -> None:
        self._wall, self._own, self._busy = time.perf_counter(), time.process_time(), _busy()

    def look(self) -> None: ...

    def end(self) -> Telemetry:
        wall, own = max(time.perf_counter() - self._wall, 1e-6), time.process_time() - self._own
        cores = psutil.cpu_count() or 1
        others = max(_busy() - self._busy - own, 0.0) / (wall * cores)
        clock = psutil.cpu_freq()
        seen: Telemetry = {"own": min(own / wall, 1.0), "others": min(others, 1.0), "load1": psutil.getloadavg()[0]}
        return seen | ({"cpu_mhz": clock.current} if clock and clock.current else {})


def _busy() -> float:
    """Seconds all cores have worked, since the machine started."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)

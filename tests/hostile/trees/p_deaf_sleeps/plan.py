"""Ignores every signal it can, and sleeps."""

import signal
import time
from pathlib import Path


def tunables(case, device):
    return {"block": [64]}


def builds(case, device, tunables):
    Path("/proc/self/comm").write_text("@MARK@")
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1e9)

"""Ties a process to the one that starts it: whoever is killed outright leaves nothing running that holds a port or a card."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)  # loaded before any fork, where nothing may be


def ends_with_me(number: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """A `preexec_fn`: the kernel sends the new process `number` when the thread that started it is gone, however it went."""
    parent = os.getpid()

    def tie() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # gone before the tie held
            os.kill(os.getpid(), number)

    return tie

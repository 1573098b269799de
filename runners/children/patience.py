"""A process that ends itself when one step takes too long, so that a hang has a name: the step in flight."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Die of SIGALRM unless the block ends in time; native code that loops can't catch what has no handler."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

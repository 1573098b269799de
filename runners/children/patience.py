"""Item after item in a process that ends itself when one takes too long, so that a hang has a name: the item in flight."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from runners.children.channel import Channel
from runners.device import LaunchError

STALLED = 3  # a busy machine gives a process a third of a processor; who works is judged by the work, who sleeps by the clock


@contextmanager
def at_most(seconds: float, worked: float = 0.0) -> Iterator[None]:
    """Die of SIGALRM unless the block ends in time, or of SIGVTALRM after so many seconds of processor time in it (0: any).

    Native code that loops can't catch what has no handler. ITIMER_PROF is the emulator's.
    """
    for timer, number, limit in (signal.ITIMER_REAL, signal.SIGALRM, seconds), (signal.ITIMER_VIRTUAL, signal.SIGVTALRM, worked):
        signal.signal(number, signal.SIG_DFL)
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def answer_each(channel: Channel, answer: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
    """Every item of the request answered, one after the other, each within its patience: seconds of work, not of waiting for a
    processor.

    After an error the device may be in any state: the process ends, and a fresh one takes the rest.
    """
    for item in channel.request["items"]:
        channel.say(start=item["index"])
        with at_most(STALLED * item["patience"], item["patience"]):
            try:
                found = answer(item)
            except LaunchError as error:
                return channel.say(index=item["index"], **{error.told_as: str(error)})
            except MemoryError as error:  # of NumPy's: what a device holds is held out here as well
                return channel.say(index=item["index"], starved=f"the machine has no memory for the case: {error}")
        channel.say(index=item["index"], **found)
    return None

"""Item after item in a process that ends itself when one takes too long, so that a hang has a name: the item in flight."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from runners.children.channel import Channel
from runners.device import LaunchError


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Die of SIGALRM unless the block ends in time; native code that loops can't catch what has no handler."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def answer_each(channel: Channel, answer: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
    """Every item of the request answered, one after the other, each within its patience.

    After an error the device may be in any state: the process ends, and a fresh one takes the rest.
    """
    for item in channel.request["items"]:
        channel.say(start=item["index"])
        with at_most(channel.request["patience"]):
            try:
                found = answer(item)
            except LaunchError as error:
                return channel.say(index=item["index"], **{error.told_as: str(error)})
            except MemoryError as error:  # of NumPy's: what a device holds is held out here as well
                return channel.say(index=item["index"], starved=f"the machine has no memory for the case: {error}")
        channel.say(index=item["index"], **found)
    return None

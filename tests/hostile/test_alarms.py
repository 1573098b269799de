"""Code that puts off its own alarm and is deaf to every signal it can be deaf to ends at its time-out all the same."""

from __future__ import annotations

from dataclasses import replace

from runners import sandbox
from runners.accuracy import START, device_limits
from runners.sandbox import Ended, Limits

DEAF = """
import signal, time
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
signal.alarm(0)
signal.setitimer(signal.ITIMER_REAL, 0)
print("deaf", flush=True)
while True:
    time.sleep(1e6)
"""


def test_who_cancels_its_alarm_and_ignores_every_signal_is_killed_at_its_limit() -> None:
    argv, mounts = sandbox.python()
    done = sandbox.run([*argv, "-c", DEAF], read=mounts, limits=Limits(seconds=2.0))
    assert done.ended is Ended.TIMED_OUT and done.stdout == b"deaf\n"
    assert not sandbox.survivors()


def test_who_works_on_deaf_to_the_limit_of_its_processor_time_has_taken_too_long() -> None:
    argv, mounts = sandbox.python()
    spins = DEAF.replace("time.sleep(1e6)", "pass")
    done = sandbox.run([*argv, "-c", spins], read=mounts, limits=Limits(seconds=6.0, cpu_seconds=1))
    assert done.ended is Ended.TIMED_OUT


def test_a_deaf_item_has_no_more_time_than_any_other_item() -> None:
    limits = device_limits("host", [0.5] * 1000)
    argv, mounts = sandbox.python()
    done = sandbox.run([*argv, "-c", DEAF], read=mounts, limits=replace(limits, silence=limits.silence - START + 2.0))
    assert done.ended is Ended.TIMED_OUT and done.seconds < 10

"""What hangs ends; what merely waits for its turn on a busy machine does not."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from kernels.spec import Buffer, Dtype, Role
from runners.accuracy import Patience
from runners.batches import through
from runners.child import Reply
from runners.sandbox import Ended, Finished

SLEEPS, SPINS = "import time; time.sleep(0.5)", "while True: pass"


def ended(work: str, seconds: float, worked: float) -> int:
    """How a process ends that does this within its patience."""
    code = f"from runners.children.patience import at_most\nwith at_most({seconds}, {worked}):\n    exec({work!r})"
    return subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode


def test_who_waits_longer_than_it_may_work_goes_on():
    assert ended(SLEEPS, seconds=30.0, worked=0.1) == 0


def test_who_works_without_end_ends_by_its_work():
    assert ended(SPINS, seconds=30.0, worked=0.1) == -signal.SIGVTALRM


def test_who_sleeps_without_end_ends_by_the_clock():
    assert ended("import time; time.sleep(60)", seconds=0.2, worked=30.0) == -signal.SIGALRM


def test_a_large_buffer_is_given_the_time_to_be_filled():
    head = Buffer("W", Role.CONST, Dtype.F32, (256000, 2048))
    assert 100 < Patience().with_buffers(10.0, [head]) < 200 and Patience().with_buffers(10.0, []) == 10.0


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGVTALRM])
def test_a_hang_is_the_items_that_was_in_flight_and_names_its_patience(number: signal.Signals):
    reply = Reply(({"index": 0}, {"start": 1}), Finished(-number, Ended.SIGNALLED, b"", b"", 99.0))
    items = [{"index": 0, "kernel": "k", "patience": 3.0}, {"index": 1, "kernel": "k", "patience": 7.0}]
    assert through(items, lambda some: reply) == {0: {"index": 0}, 1: {"hung": "took longer than 7 s"}}

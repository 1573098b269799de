"""A job of its own on a device, as an agent does it: DEVICE BASE HEAD. Prints each phase as it begins."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from small_suite import Facts, job

from runners import worker
from runners.protocol import Mode, Outcome, Phase, Selection


class Telling(Facts):
    def phase(self, phase: Phase) -> None:
        print(phase, flush=True)


def do(device: str, base: Path, head: Path, facts: Facts) -> Outcome:
    """Accuracy of head against base, the base being the judge."""
    wanted = job(pool="card", selection=Selection(modes=(Mode.ACCURACY,)))
    return worker.execute(wanted, worker.Trees(base, head, base), device, facts, threading.Event(), races=False)


if __name__ == "__main__":
    do(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Telling())

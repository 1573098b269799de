"""A node's worker on two jobs, one after the other: the hostile head, and a harmless one. Prints what it would tell the server.

The limits of time are smaller than a node's, so that what has to run into them does so soon; nothing else differs.
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path

from runners import accuracy, planning, worker
from runners.protocol import Enumeration, Job, Measurement, Mode, Phase, Selection, dump
from runners.toolchains import host

SHA = "0" * 40


class Printer:
    def phase(self, phase: Phase) -> None: ...

    def enumerated(self, enumeration: Enumeration) -> None: ...

    def measured(self, measurement: Measurement) -> None:
        print(json.dumps({"job": job_name, "measured": json.loads(dump(measurement))}), flush=True)


def do(base: Path, head: Path) -> None:
    selection = Selection(modes=(Mode.ACCURACY,))
    job = Job(schema=1, id="j", run="r", attempt="a", repository="o/r", clone_url="", base=SHA, head=SHA, judge=SHA, pool="host",
              selection=selection, budget_seconds=300.0, floor=0.1, harm=0.1)  # fmt: skip
    outcome = worker.execute(job, worker.Trees(base, head, base), "host", Printer(), threading.Event(), races=False)
    print(json.dumps({"job": job_name, "outcome": json.loads(dump(outcome))}), flush=True)


host.LIMITS = replace(host.LIMITS, seconds=8, cpu_seconds=4)
worker.PATIENCE = replace(worker.PATIENCE, run=4.0)
accuracy.START, worker.PATIENCE = 5, accuracy.Patience(run=1.0)
planning.LIMITS = replace(planning.LIMITS, seconds=6, cpu_seconds=3)
for job_name in ("hostile", "next"):
    do(Path(sys.argv[1], "base"), Path(sys.argv[1], job_name))

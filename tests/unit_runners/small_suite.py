"""A suite of one small kernel, `scale`, whose parts tests replace one at a time, and a job over two such trees."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from runners import worker
from runners.protocol import Enumeration, Job, Measurement, Outcome, Phase, Selection

SOURCE = """#include "kg.h"
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT) scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = KG_FACTOR * x[i];
}
"""
PLAN = """
def tunables(case, device):
    return {"block": [64, 32]}


def builds(case, device, tunables):
    return {"s": {"source": "scale.cu", "defines": {"KG_FACTOR": 2}, "block": tunables["block"]}}


def launches(case, device, tunables, resources):
    n, block = case["shape"]["n"], tunables["block"]
    args = [{"buffer": "x"}, {"buffer": "y"}, {"i32": n}]
    return {"launches": [{"build": "s", "kernel": "scale", "grid": [-(-n // block), 1, 1], "block": [block, 1, 1], "args": args}]}
"""
CASES = """
import random


def _case(n, role):
    return {"id": f"scale/edge/{role}/n{n}/f32", "kernel": "scale", "model": "edge", "role": role, "shape": {"n": n}, "dtype": "f32",
            "tier": "smoke", "flops": 1.0 * n, "bytes": 8.0 * n}


def cases(tier, device):
    return [_case(n, "tail") for n in (1000, 4099)]


def draw(seed, device):
    return [_case(random.Random(seed).randint(1, 3000), "drawn")]


def buffers(case):
    n = case["shape"]["n"]
    return [{"name": "x", "role": "in", "dtype": "f32", "shape": [n]}, {"name": "y", "role": "out", "dtype": "f32", "shape": [n]}]
"""
REFERENCE = """
import numpy as np


def reference(case, inputs):
    return {"y": 2.0 * inputs["x"].astype(np.float64)}


def plain(case, inputs):
    return {"y": np.float32(2) * inputs["x"]}
"""
FILES = {"scale.cu": SOURCE, "plan.py": PLAN, "cases.py": CASES, "reference.py": REFERENCE}


def lay(root: Path, **changes: str) -> Path:
    """The suite below `root`; `changes` replace files by name with `_` for the dot, such as plan_py."""
    folder = root / "kernels" / "scale"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(changes.get(name.replace(".", "_"), text))
    return root


@dataclass
class Facts:
    """A reporter that keeps all it is told."""

    enumeration: Enumeration | None = None
    measurements: list[Measurement] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)

    def phase(self, phase: Phase) -> None:
        self.phases.append(phase)

    def enumerated(self, enumeration: Enumeration) -> None:
        self.enumeration = enumeration

    def measured(self, measurement: Measurement) -> None:
        self.measurements.append(measurement)

    @property
    def of_cases(self) -> list[Measurement]:
        return [one for one in self.measurements if not one.held_out]


def job(**changes: object) -> Job:
    """A host job; the SHAs don't matter to the worker."""
    sha = "0" * 40
    known: dict[str, object] = {
        "schema": 1, "id": "j", "run": "r", "attempt": "a", "repository": "o/r", "clone_url": "", "base": sha, "head": sha,
        "judge": sha, "pool": "host", "selection": Selection(), "budget_seconds": 300.0, "floor": 0.1, "harm": 0.1,
    }  # fmt: skip
    return Job(**{**known, **changes})  # type: ignore[arg-type]


def do(base: Path, head: Path, stop: threading.Event | None = None, tip: Path | None = None, **changes: object) -> tuple[Outcome, Facts]:
    """Run a job over two trees, the base being the judge."""
    facts = Facts()
    outcome = worker.execute(job(**changes), worker.Trees(base, head, base, tip), "host", facts, stop or threading.Event())
    return outcome, facts

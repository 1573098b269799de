"""The suite on a real card against fp64, through sandbox, toolchain, launch plan and judge: smoke, gate, and sweeps of the full tier."""

import shutil
import threading
from pathlib import Path

import pytest

from kernels.catalog import SUITE
from runners import worker
from runners.protocol import Ending, Enumeration, Job, Measurement, Mode, Phase, Selection

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(1500)]

UNNAMED = "0" * 40


class Facts:
    """A reporter that keeps what was measured."""

    def __init__(self) -> None:
        self.measurements: list[Measurement] = []

    def phase(self, phase: Phase) -> None: ...

    def enumerated(self, enumeration: Enumeration) -> None: ...

    def measured(self, measurement: Measurement) -> None:
        self.measurements.append(measurement)


def job(kernel: str, tier: str, models: tuple[str, ...]) -> Job:
    chosen = Selection(kernels=(kernel,), models=models, modes=(Mode.ACCURACY,), tier=tier)
    return Job(
        schema=1, id="1", run="1", attempt="1", repository="kernelgate/suite", clone_url="", base=UNNAMED, head=UNNAMED, judge=UNNAMED,
        pool="cuda0", selection=chosen, budget_seconds=1400.0, floor=0.01, harm=0.03,
    )  # fmt: skip


@pytest.mark.parametrize("kernel", ["fa_tile", "gemm", "la_prefill"])
@pytest.mark.parametrize(("tier", "models"), [("smoke", ()), ("gate", ()), ("full", ("edge",))])
def test_every_case_is_right(device: str, kernel: str, tier: str, models: tuple[str, ...], tmp_path: Path) -> None:
    tree, nothing, facts = tmp_path / "tree", tmp_path / "nothing", Facts()
    nothing.mkdir()
    shutil.copytree(SUITE / kernel, tree / "kernels" / kernel, ignore=shutil.ignore_patterns("__pycache__"))
    trees = worker.Trees(nothing, tree, tree)
    outcome = worker.execute(job(kernel, tier, models), trees, device, facts, threading.Event(), races=False)
    assert outcome.ending is Ending.COMPLETED, outcome.failure
    shares = [share(one) for one in facts.measurements]
    print(f"{kernel} {tier}: {len(shares)} comparisons, largest error {max(shares):.2f} of its limit")


def share(one: Measurement) -> float:
    """A right case's error as a share of its limit."""
    found = one.accuracy.head
    print(one.case.id, dict(one.tunables), found and (found.rel_l2, found.limit), [f.message for f in one.failures])
    assert found and found.rel_l2 is not None and found.ok and not one.failures, (one.case.id, one.failures)
    return found.rel_l2 / found.limit

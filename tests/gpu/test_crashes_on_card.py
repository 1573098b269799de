"""What breaks on a card gets its right words, and the next job finds the card as it was: usable within 10 s, its answers right.

In a process of its own, away from the tests that open the card themselves: a node takes no card on which somebody else is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import psutil
import pytest
from lone_job import do
from small_suite import CASES, PLAN, SOURCE, Facts, lay

from kernels.spec import Build
from runners.children.roofline import BLOCK
from runners.probing import Prober, compile_own
from runners.protocol import Ending, Failure, FailureKind, NodeInfo, Side
from runners.roofline import measure
from runners.room import room_for
from runners.toolchains import CompileRequest, for_target
from runners.vitals import Unfit

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(120)]

SOON = 10.0  # seconds in which the next job has to find a usable card
ONE_CASE = CASES.replace("(1000, 4099)", "(1000,)").replace('[_case(random.Random(seed).randint(1, 3000), "drawn")]', "[]")
STATEMENT = "if (i < n) y[i] = KG_FACTOR * x[i];"
HANGS = SOURCE.replace(STATEMENT, "for (volatile float* at = y; at[0] != 3.0f;) at[0] = 1.0f;")
FAR = SOURCE.replace(STATEMENT, "if (i < n) y[i + (int64_t(1) << 40)] = KG_FACTOR * x[i];")
HARMLESS = SOURCE.replace("KG_FACTOR * x[i]", "x[i] * (n > 0 ? 2.0f : 3.0f)")
VAST = PLAN.replace('return {"launches"', 'return {"scratch": {"all": {"bytes": 1 << 50}}, "launches"')
SMALL_LAUNCH = PLAN.replace('{"i32": n}', '{"i32": 1}').replace("-(-n // block)", "1")
ROOMY = """#include "kg.h"
#define ROOM 100000
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, 1) roomy(float* y, int n) {
    float room[ROOM], sum = 0.0f;
    for (int i = 0; i < ROOM; ++i) room[(i * 7919LL) % ROOM] = y[threadIdx.x] + i;
    for (int i = 0; i < n; ++i) sum += room[(i * 31LL + threadIdx.x) % ROOM];
    y[threadIdx.x] = sum;
}
"""
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parent, *sys.path)))}


@dataclass
class Bench:
    """The device, how it was found, and a sound base that knows one case."""

    name: str
    info: NodeInfo
    prober: Prober
    base: Path
    folder: Path

    def head(self, **changes: str) -> Path:
        return lay(self.folder / f"head-{time.monotonic_ns()}", **{"cases_py": ONE_CASE, **changes})

    def failures(self, head: Path, base: Path | None = None) -> tuple[Failure, ...]:
        """What the one comparison of a job says of its trouble."""
        facts, began = Facts(), time.monotonic()
        outcome = do(self.name, base or self.base, head, facts)
        assert outcome.ending is Ending.COMPLETED, outcome.failure
        (found,) = facts.measurements
        print(f"job of {time.monotonic() - began:.1f} s:", [(f.kind.value, f.message) for f in found.failures] or "right")
        assert found.failures or (found.accuracy.head and found.accuracy.head.ok)
        return found.failures

    def blames_head(self, head: Path, kind: FailureKind, *words: str) -> None:
        (failure,) = self.failures(head)
        assert (failure.kind, failure.side) == (kind, Side.HEAD)
        assert any(word in failure.message for word in words), failure.message

    def is_as_before(self) -> None:
        """Fit again by all that a node asks before a job, and a harmless job is right."""
        began = time.monotonic()
        while why := unfit(self.prober):
            assert time.monotonic() - began < SOON, why
            time.sleep(0.2)
        print(f"usable {time.monotonic() - began:.1f} s later, the probe included")
        assert not self.failures(self.head(scale_cu=HARMLESS))


def unfit(prober: Prober) -> str:
    try:
        prober.check(threading.Event())
    except Unfit as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def bench(device: str, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("crashes")
    prober = Prober(device, "card", folder / "state")
    info, said = prober.check(threading.Event())
    print(info.device, info.driver, f"{said.memory_bytes >> 20} MiB, {prober.idle_bytes} bytes in use when idle")
    return Bench(device, info, prober, lay(folder / "base", cases_py=ONE_CASE), folder)


def test_a_kernel_that_hangs(bench: Bench) -> None:
    bench.blames_head(bench.head(scale_cu=HANGS), FailureKind.TIMED_OUT, "took longer than", "runs without end")
    bench.is_as_before()


def test_a_kernel_that_writes_out_of_bounds(bench: Bench) -> None:
    bench.blames_head(bench.head(scale_cu=FAR), FailureKind.CRASHED, "illegal", "fault", "signal", "IllegalAddress")
    bench.is_as_before()


def test_a_plan_that_wants_more_than_the_card_has(bench: Bench) -> None:
    bench.blames_head(bench.head(plan_py=VAST), FailureKind.BUILD_FAILED, "the plan's scratch does not fit: 1125899906")
    bench.is_as_before()


def test_a_case_that_no_card_holds_is_nobodys_crash(bench: Bench) -> None:
    cases = ONE_CASE.replace("(1000,)", "(1 << 42,)")
    base = lay(bench.folder / "large", cases_py=cases, plan_py=SMALL_LAUNCH)
    failures = bench.failures(bench.head(cases_py=cases, plan_py=SMALL_LAUNCH, scale_cu=HARMLESS), base)
    assert {failure.kind for failure in failures} == {FailureKind.INFRASTRUCTURE}
    assert all("has no memory for" in failure.message for failure in failures)


def test_a_launch_that_the_card_has_no_memory_for_is_no_crash(bench: Bench) -> None:
    """Its local memory for every thread that the card can hold; only CUDA sets that aside at once."""
    if not bench.name.startswith("cuda"):
        pytest.skip("the emulator's threads have small stacks, and HIP gives local memory as it is used")
    source, out = bench.folder / "roomy" / "kernels" / "roomy", bench.folder / "built"
    source.mkdir(parents=True)
    out.mkdir()
    (source / "roomy.cu").write_text(ROOMY)
    request = CompileRequest(bench.folder / "roomy", "kernels/roomy", Build("roomy.cu", 64), bench.info.target, out)
    code = for_target(bench.info.target).compile(request).path
    words = [sys.executable, str(Path(__file__).with_name("roomy.py")), bench.name, str(code)]
    said = subprocess.run(words, env=ENV, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    print(said)
    assert said.startswith("starved: the device has no memory for") or said == "it ran"
    bench.is_as_before()


def test_a_job_that_is_killed_outright(bench: Bench) -> None:
    """While both sides' kernels hang, with no chance to put anything in order."""
    sides = bench.head(scale_cu=HANGS), bench.head(scale_cu=HANGS.replace("at[0] = 1.0f", "at[0] = 2.0f"))
    words = [sys.executable, str(Path(__file__).with_name("lone_job.py")), bench.name, *map(str, sides)]
    with subprocess.Popen(words, env=ENV, stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout and any(line.strip() == "accuracy" for line in agent.stdout)
        end = time.monotonic() + 30
        while not (running := list(devices_children(agent.pid))) and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(4)  # until the kernel itself runs
        agent.kill()
    _, left = psutil.wait_procs(running, timeout=5)
    assert running and not left
    bench.is_as_before()


def devices_children(agent: int) -> Iterator[psutil.Process]:
    """The processes below an agent that run a side's kernels."""
    for process in psutil.Process(agent).children(recursive=True):
        try:
            if "runners.children.run" in process.cmdline():
                yield process
        except psutil.NoSuchProcess:
            continue


def test_the_sandbox_costs_no_bandwidth(bench: Bench, tmp_path: Path) -> None:
    """The same loops inside and outside of it, in mirrored order."""
    code = compile_own("roofline", BLOCK, bench.info.target, tmp_path).path
    room = room_for(bench.name, threading.Event())

    def inside() -> float:
        return measure(bench.name, bench.info, room, code).copy

    def outside() -> float:
        words, request = [sys.executable, "-m", "runners.children.roofline"], json.dumps({"device": bench.name, "code": str(code)})
        return float(json.loads(subprocess.run(words, env=ENV, input=request, capture_output=True, text=True, check=True).stdout)["copy"])

    found = [run() for run in (inside, outside, outside, inside)]
    ratio = fmean((found[0], found[3])) / fmean(found[1:3])
    print(f"copy, GB/s: inside {found[0] / 1e9:.1f} and {found[3] / 1e9:.1f}, outside {found[1] / 1e9:.1f} and {found[2] / 1e9:.1f}")
    print(f"inside over outside: {ratio:.4f}")
    assert bench.name == "host" or 0.9 < ratio < 1.1

"""What telemetry makes of a session: numbers, and whether it counts; the host's watcher for real, NVML's on a stand-in library."""

import json
import math
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from noisy import session, sessions

from kernels.spec import Case, Plan, Tier
from runners.host_device import HostDevice
from runners.protocol import Accuracy, Side
from runners.rows import Row, SideWork
from runners.sampling import Action, Finding, Rules, decide
from runners.session import Budget, screen
from runners.telemetry import Sample, disagree, disturbance, summary
from runners.toolchains.host_compiler import zig_folder
from runners.watch_amd import watch


def samples(*clocks: float, **more) -> list[Sample]:
    return [Sample(sm_mhz=clock, **more) for clock in clocks]


def test_a_quiet_session_in_numbers():
    told = summary(samples(1980, 1965, 1980, celsius=61.0, watts=512.0, vram_mib=900.0))
    assert (told["sm_mhz"], told["sm_mhz_min"], told["sm_mhz_max"], told["watts_max"]) == (1980, 1965, 1980, 512)
    assert disturbance(told) == "" and disturbance({}) == "" and summary([]) == {}


@pytest.mark.parametrize(
    ("telemetry", "says"),
    [
        (summary([*samples(1980), *samples(1980, reasons=frozenset({"hardware slowdown"}))]), "throttled in the middle: hardware slowdown"),
        (summary(samples(1980, 1980, 1400)), "the clock fell to 1400 of 1980 MHz"),
        ({"ecc": 2.0}, "2 uncorrected memory errors"),
        ({"xid": "31"}, "Xid 31"),
        ({"foreign": "pid 7"}, "other processes on the card: pid 7"),
        ({"own": 0.2}, "foreign load: the process had 20 % of a core"),
        ({"apart": 0.5}, "event time and host time disagree in 50 % of quads"),
    ],
)
def test_what_disturbs_a_session(telemetry, says):
    assert says in disturbance(telemetry)


def test_a_power_cap_that_holds_throughout_is_recorded_and_disturbs_nothing():
    told = summary(samples(1700, 1710, reasons=frozenset({"software power cap"})))
    assert told["capped"] == "software power cap" and disturbance(told) == ""


@examples()
@given(st.dictionaries(st.sampled_from(["sm_mhz", "sm_mhz_min", "ecc", "own", "apart", "xid", "throttle"]), st.floats() | st.text()))
def test_no_telemetry_breaks_the_judgement(telemetry):
    assert isinstance(disturbance(telemetry), str)


@pytest.mark.parametrize(("events", "host", "apart"), [(5000, 5100, False), (5000, 5400, True), (100, 115, False), (100, 130, True)])
def test_work_outside_the_events_is_seen(events, host, apart):
    assert disagree(events, host) is apart


def test_the_host_is_watched_for_real():
    watcher = HostDevice().watcher()
    watcher.begin()
    sum(math.sqrt(number) for number in range(200_000))
    told = watcher.end()
    assert 0 < told["own"] <= 1 and 0 <= told["others"] <= 1 and told["load1"] >= 0


def test_a_process_that_waits_has_little_of_a_core():
    watcher = HostDevice().watcher()
    watcher.begin()
    threading.Event().wait(0.2)
    assert "foreign load" in disturbance(watcher.end())


def test_a_disturbed_session_is_repeated_three_times_at_most():
    spoilt = [replace(session(seed=number), disturbed="throttled") for number in range(4)]
    assert decide(spoilt[:3]).action is Action.SESSION
    assert (decide(spoilt).action, decide(spoilt).finding) == (Action.DONE, Finding.UNDECIDED)
    assert decide([*spoilt[:3], *sessions()]).finding is Finding.SAME


class Spoilt:
    """A timer whose sessions are all disturbed."""

    def take(self, rows, stage, first, rules, verify):
        for row in rows:
            row.sessions.append(replace(session(seed=len(row.sessions)), stage=stage, disturbed="throttled in the middle"))


def sound_row() -> Row:
    good = Accuracy(0.0, 0.0, 0.0, 1.0, 0, 0, 0, 1e-6, True)
    plan = Plan(schema=1, tunables={}, builds={}, launches=())
    case = Case("k/edge/r/n1/f32", "k", "edge", "r", {"n": 1}, "f32", Tier.SMOKE)
    return Row(0, "k", case, (), sides={side: SideWork(code={}, plan=plan, accuracy=good) for side in Side})


def test_a_row_that_is_always_disturbed_is_the_machines_trouble():
    row = sound_row()
    screen(Spoilt(), [row], [], Rules(), Budget(1e9, 0.0))
    assert len(row.sessions) == 4
    assert [failure.message for failure in row.trouble] == ["4 of 4 sessions were disturbed, the last: throttled in the middle"]


NVML = r"""
static unsigned clocks, waits, throttles;
static unsigned long long errors;
extern "C" {
int nvmlInitWithFlags(unsigned) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** card) { *card = (void*)1; return bus[0] == '0' ? 0 : 6; }
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* mhz) { *mhz = kind == 2 ? 2600 : ++clocks == 2 ? 1300 : 1980; return 0; }
int nvmlDeviceGetTemperature(void*, int, unsigned* c) { *c = 61; return 0; }
int nvmlDeviceGetPowerUsage(void*, unsigned* mw) { *mw = 512000; return 0; }
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* m) { m[2] = 900ull << 20; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* r) { *r = 3 | (++throttles == 2 ? 8 : 0) | 4; return 0; }
int nvmlDeviceGetTotalEccErrors(void*, int, int, unsigned long long* n) { *n = 5 + errors++; return 0; }
int nvmlDeviceGetApplicationsClock(void*, int, unsigned*) { return 3; }
int nvmlEventSetCreate(void** set) { *set = (void*)2; return 0; }
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return 0; }
int nvmlEventSetWait_v2(void*, unsigned long long* event, unsigned) { event[2] = 31; return ++waits == 2 ? 0 : 10; }
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* n, unsigned* some) {
    if (!some) { *n = 1; return 7; }
    some[0] = 4242; *n = 1;
    return 0;
}
}
"""
LOOK = """
import json
from runners import watch_nvidia
watcher = watch_nvidia.watch("0000:01:00.0")
watcher.begin()
watcher.look()
nobody = watch_nvidia.watch("ffff:01:00.0")
nobody.begin()
print(json.dumps([watcher.end(), watch_nvidia.processes_on("0000:01:00.0"), nobody.end()]))
"""


def test_nvml_is_asked_for_what_it_knows(tmp_path: Path):
    """A library of NVML's name with NVML's signatures, for NVIDIA's own Python binding."""
    (tmp_path / "nvml.cpp").write_text(NVML)
    zig = zig_folder()
    driver = [found] if (found := shutil.which("g++") or shutil.which("clang++")) else [str(zig and zig / "zig"), "c++"]
    made = [*driver, "-shared", "-fPIC", "-o", str(tmp_path / "libnvidia-ml.so.1"), str(tmp_path / "nvml.cpp")]
    subprocess.run(made, check=True, capture_output=True)
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", LOOK], env=env, check=True, capture_output=True, text=True)
    seen, processes, nobody = json.loads(done.stdout)
    assert (seen["sm_mhz"], seen["sm_mhz_min"], seen["memory_mhz"], seen["celsius"]) == (1980, 1300, 2600, 61)
    assert (seen["watts"], seen["vram_mib"], seen["ecc"], seen["xid"], seen["locked"]) == (512, 900, 1, "31", "yes")
    assert (seen["throttle"], seen["capped"]) == ("hardware slowdown", "software power cap")
    assert processes == [4242] and "app_mhz" not in seen
    assert "nvidia-ml-py" in nobody["unwatched"]


def test_without_amdsmi_nothing_is_seen_and_said_so():
    watcher = watch("0000:01:00.0")
    watcher.begin()
    watcher.look()
    assert "amdsmi" in str(watcher.end()["unwatched"])

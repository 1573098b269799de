"""Work that a side does where its events don't see it: a driver that hides some, under the real timing code."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from small_suite import SOURCE

from kernels.spec import Build, plain
from runners.children.timed import time_case
from runners.device import Batch, Times
from runners.host_device import HostDevice
from runners.protocol import Side, Stage
from runners.telemetry import disturbance
from runners.toolchains import CompileRequest
from runners.toolchains.host import HostToolchain

N = 4096


class Elsewhere(HostDevice):
    """Of each batch a share runs on a stream of its own: its events don't hold it, and it has ended when the whole device is idle."""

    hidden = 0.0

    def time(self, batches: Sequence[Batch]) -> Times:
        found = super().time(batches)
        return Times([(1 - self.hidden) * one for one in found.each], found.host)


@pytest.fixture(scope="module")
def item(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a timing child is asked for one case, with one code object on both sides."""
    checkout = tmp_path_factory.mktemp("checkout")
    (checkout / "scale").mkdir()
    (checkout / "scale" / "scale.cu").write_text(SOURCE)
    build = Build("scale.cu", 64, {"KG_FACTOR": 2})
    code = HostToolchain().compile(CompileRequest(checkout, "scale", build, "host", checkout / "out")).path
    args = [{"buffer": "x"}, {"buffer": "y"}, {"i32": N}]
    launch = {"build": "s", "kernel": "scale", "grid": [N // 64, 1, 1], "block": [64, 1, 1], "args": args}
    side = {"plan": {"schema": 1, "tunables": {}, "builds": {"s": plain(build)}, "launches": [launch]}, "modules": {"s": str(code)}}
    buffers = [{"name": name, "role": role, "dtype": "f32", "shape": [N]} for name, role in (("x", "in"), ("y", "out"))]
    rules = {"floor": 0.1, "harm": 0.1}
    facts = {"index": 1, "cold": False, "loaded_first": Side.BASE, "seed": 1, "order_seed": 2, "stage": Stage.SCREEN, "verify": False}
    return {**facts, "buffers": buffers, "rules": rules, "base": side, "head": side}


@pytest.mark.parametrize("hidden", [0.2, 0.5, 0.95])
def test_work_that_the_events_do_not_hold_spoils_the_session(item: dict[str, object], hidden: float, tmp_path: Path) -> None:
    device = Elsewhere(seed=1)
    device.hidden = hidden
    telemetry = time_case(device, item, tmp_path)["telemetry"]
    assert telemetry["apart"] == 1.0
    assert "event time and host time disagree" in disturbance({"apart": telemetry["apart"]})


def test_honest_work_does_not(item: dict[str, object], tmp_path: Path) -> None:
    assert not disturbance({"apart": time_case(HostDevice(seed=1), item, tmp_path)["telemetry"]["apart"]})

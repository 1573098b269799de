"""The roofline is measured on the device itself, once; a head that is far too fast is judged again."""

import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from small_suite import SOURCE, Facts, job, lay

from runners import roofline as measuring
from runners import worker
from runners.accuracy import Judge
from runners.child import Reply
from runners.children.roofline import BLOCK
from runners.probing import compile_own, probe
from runners.protocol import Accuracy, FailureKind, NodeInfo, Roofline, Session, Side, Stage
from runners.roofline import measure, roofline
from runners.room import room_for
from runners.rows import Row
from runners.sandbox import Ended, Finished
from runners.toolchains import CodeObject
from runners.vitals import Unfit

ROOM = room_for("host", threading.Event())
OTHER = SOURCE.replace("int i =", "volatile int unlike = 1; int i =")  # compiles to other code
NODE = NodeInfo("n", "a card", "host", "emulator", "1", "g++", "0")
LINE = Roofline(1e15, 0.0, 1e15, 1e15, 1e15)  # nothing is beyond it


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept between jobs, apart from this machine's own; the emulator's objects, which cost a compiler's run, are not."""
    monkeypatch.setattr(measuring.cache, "folder", lambda: tmp_path / "kept")


def answers(monkeypatch: pytest.MonkeyPatch, *lines: dict[str, object]) -> list[str]:
    """A child that gives these answers in turn; the list grows by one name for each it was asked for."""
    asked: list[str] = []

    def ask(module: str, *_: object, **__: object) -> Reply:
        asked.append(module)
        return Reply((lines[len(asked) - 1],), Finished(0, Ended.EXITED, b"", b"", 0.0))

    monkeypatch.setattr(measuring, "ask", ask)
    return asked


GOOD = {"f32": 1e10, "f16": 0.0, "read": 1e9, "copy": 2e9, "cached": 3e9, "telemetry": {"own": 1.0}}
BUSY = GOOD | {"telemetry": {"own": 0.1}}


def test_the_hosts_roofline_is_measured_and_kept_with_driver_and_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info, _ = probe("host", threading.Event())
    monkeypatch.setattr(measuring, "disturbance", lambda _: "")  # this machine may be as busy as it likes
    found = roofline("host", info, ROOM, tmp_path)
    assert found is not None and found.driver == info.driver and re.fullmatch(r"\d{4}-\d\d-\d\d", found.measured)
    assert min(found.f32, found.read, found.copy, found.cached) > 1e6 and found.f16 == 0
    asked = answers(monkeypatch, GOOD, GOOD)
    assert roofline("host", info, ROOM, tmp_path) == found and not asked
    assert roofline("host", replace(info, driver="other"), ROOM, tmp_path) != found and asked


def test_a_disturbed_measurement_counts_neither_now_nor_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = CodeObject(tmp_path / "x", "", 0.0, "", (), {}, {})
    monkeypatch.setattr(measuring, "compile_own", lambda *_: code)
    asked = answers(monkeypatch, BUSY, BUSY, BUSY, GOOD, {"crashed": "gone"}, {"f32": -1})
    assert roofline("host", NODE, ROOM, tmp_path) is None and len(asked) == 2
    found = roofline("host", NODE, ROOM, tmp_path)
    assert found is not None and (found.f32, found.read, found.copy, found.cached) == (1e10, 1e9, 2e9, 3e9) and len(asked) == 4
    with pytest.raises(Unfit, match="malformed"):
        measure("host", NODE, ROOM, code.path)


@pytest.mark.parametrize("target", ["sm_61", "sm_90", "gfx906", "gfx1030", "gfx1151"])
def test_the_loops_compile_for_every_card_without_a_spill(target: str, tmp_path: Path) -> None:
    kernels = {kernel.name: kernel for kernel in compile_own("roofline", BLOCK, target, tmp_path).kernels}
    assert set(kernels) == {"fma32", "fma16", "sweep", "copy"}
    assert not any(kernel.spill_bytes or kernel.local_bytes for kernel in kernels.values())


def test_a_head_that_is_far_too_fast_is_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two cases: each 20 times as fast as base's, one of them wrong on the third inputs."""
    compare, quads = Judge.compare, tuple((100.0, 5.0, 5.0 + number / 1000, 100.0) for number in range(10))

    def timed(_: object, rows: list[Row], *__: object) -> None:
        for row in rows:
            row.sessions += [Session(Stage.SCREEN, quads, (0,) * 10)] * 2

    def compared(self: Judge, row: Row, folder: str, out: Path, seed: int, limit: float) -> Accuracy:
        found = compare(self, row, folder, out, seed, limit)
        return replace(found, ok=False, reason="unlike") if (out.name, row.case.shape["n"]) == ("again-1", 4099) else found

    monkeypatch.setattr(Judge, "compare", compared)
    monkeypatch.setattr(worker, "measure", timed)
    monkeypatch.setattr(worker, "roofline", lambda *_: LINE)
    base, head, facts = lay(tmp_path / "base", scale_cu=OTHER), lay(tmp_path / "head"), Facts()
    trees = worker.Trees(base, head, base)
    outcome = worker.execute(job(), trees, "host", facts, threading.Event(), races=False)
    assert outcome.roofline == LINE
    right, wrong = sorted(facts.of_cases, key=lambda one: one.case.shape["n"])
    assert right.counts["judged_again"] == worker.AGAIN and not right.failures
    (failure,) = wrong.failures
    assert (failure.kind, failure.side) == (FailureKind.INCORRECT, Side.HEAD) and "right on the first inputs" in failure.message
    assert "judged_again" not in wrong.counts

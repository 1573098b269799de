"""Which cards a machine has, how an idle one looks, and when one is left alone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import devices
from kernels.spec import plain
from runners import machine, node_process, probing, sandbox, vitals
from runners.child import Reply
from runners.children.vitals import amd
from runners.host_device import HOST
from runners.machine import Card
from runners.node_client import Refused
from runners.quarantine import Quarantine
from runners.sandbox import Ended, Finished, SandboxError
from runners.vitals import SLACK, Unfit, Vitals, complaint

MI50 = "cpu_cores_count 0\nsimd_count 240\ngfx_target_version 90006\ndrm_render_minor 128\n"
RX6800 = "simd_count 120\ngfx_target_version 100300\ndrm_render_minor 129\n"
STRIX = "gfx_target_version 110501\ndrm_render_minor 128\n"
CPU = "cpu_cores_count 16\ngfx_target_version 0\ndrm_render_minor 0\n"


def lay(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_amd_cards_are_numbered_as_the_kernel_lists_them(tmp_path: Path) -> None:
    kfd = lay(tmp_path, {"0/properties": CPU, "2/properties": RX6800, "2/gpu_id": "7\n", "1/properties": MI50, "10/properties": STRIX})
    found = machine.cards(tmp_path / "none", kfd, tmp_path / "none")
    assert [(card.device, card.target, card.minor) for card in found] == [
        ("hip:0", "gfx906", 128), ("hip:1", "gfx1030", 129), ("hip:2", "gfx1151", 128),
    ]  # fmt: skip
    assert found[1].gpu_id == "7" and {card.target for card in found} <= set(devices.by_target())


def test_nvidia_cards_are_their_device_nodes(tmp_path: Path) -> None:
    facts = "Model: \t\t Tesla P40\nGPU UUID:\t GPU-1\nDevice Minor: \t 1\n"
    lay(tmp_path, {"dev/nvidia1": "", "dev/nvidiactl": "", "dev/nvidia-uvm": "", "proc/0000:3b:00.0/information": facts})
    (card,) = machine.cards(tmp_path / "proc", tmp_path / "none", tmp_path / "dev")
    assert (card.device, card.kind, card.bus) == ("cuda:1", "Tesla P40", "0000:3b:00.0")


def test_unlike_cards_are_not_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cards", lambda: (Card("hip:0", "gfx906"), Card("hip:1", "gfx1030")))
    with pytest.raises(Refused, match=r"hip:1 \(gfx1030\).*KERNELGATE_DEVICE"):
        node_process.found()
    monkeypatch.setattr(machine, "cards", lambda: ())
    assert node_process.found() == ["host"]


def test_an_amd_card_says_who_is_on_it(tmp_path: Path) -> None:
    lay(tmp_path, {"drm/renderD128/device/mem_info_vram_used": "17000000\n", "proc/42/vram_7": "0\n", "proc/43/vram_7": "4096\n"})
    lay(tmp_path, {"proc/44/vram_8": "4096\n"})
    assert amd(Card("hip:0", "gfx906", minor=128, gpu_id="7"), tmp_path / "drm", tmp_path / "proc") == Vitals(17000000, ("process 43",))


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (Vitals(), ""),
        (Vitals(100 + SLACK), ""),
        (Vitals(101 + SLACK), "64 MiB of the card's memory are in use, 0 MiB when idle"),
        (Vitals(100, ("12", "13")), "other processes are on the card: 12, 13"),
        (Vitals(100, slowed=("software power cap",)), ""),
        (Vitals(100, slowed=("hardware power brake",)), "the card slows itself: hardware power brake"),
    ],
)
def test_a_card_is_left_alone_unless_it_is_idle(found: Vitals, says: str) -> None:
    assert complaint(found, 100) == says


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import time; time.sleep(60)", "within 0 s: its driver hangs"),
        ("print('no JSON')", "can't be asked"),
        ('print(\'{"used_bytes": "x"}\')', "can't be asked"),
        ("raise SystemExit(1)", "can't be asked"),
    ],
)
def test_a_driver_that_hangs_or_babbles_makes_a_card_unfit(code: str, says: str) -> None:
    with pytest.raises(Unfit, match=says):
        vitals.look("cuda:0", 0.4 if "sleep" in code else 30, [sys.executable, "-c", code])


def test_a_rest_doubles_up_to_an_hour_and_begins_anew_when_all_was_well() -> None:
    now = [0.0]
    resting, pauses = Quarantine(lambda: now[0]), []
    for _ in range(11):
        resting.begin("a reason")
        pauses.append(resting.left())
        now[0] += resting.left()
    assert pauses == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600] and not resting.left()
    resting.end()
    resting.begin("again")
    assert resting.left() == 10


@contextmanager
def lingering() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["/usr/bin/sleep", "60"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_process_that_outlives_its_end_keeps_the_card_until_it_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "DEATH", 0.2)
    with lingering() as hung, tempfile.TemporaryFile() as status, subprocess.Popen(["/usr/bin/sleep", "60"]) as process:
        status.write(f'{{ "child-pid": {hung.pid} }}'.encode())
        with pytest.raises(SandboxError, match="outlived SIGKILL"):
            sandbox._end(process, status)
        prober = probing.Prober("host", "n", tmp_path)
        with pytest.raises(Unfit, match=f"hang in the kernel: {hung.pid}"):
            prober.check(threading.Event())
    assert sandbox.survivors() == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"device": plain(replace(HOST, target="sm_61"))}, "the card says it is sm_61, and was host"),
        ({"pageable": True}, "uvm_disable_hmm=1"),
        ({"known": "0" * 64}, "wrong answer"),
    ],
)
def test_a_card_that_is_not_what_it_was_is_unfit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], says: str
) -> None:
    good = {"device": plain(HOST), "backend": "emulator", "driver": "none", "known": probing.expected()}
    answers = [good, good, good | changed]
    monkeypatch.setattr(probing, "compile_known", lambda target, place: place)
    monkeypatch.setattr(probing, "ask", lambda *_, **__: Reply((answers.pop(0),), Finished(0, Ended.EXITED, b"", b"", 0.1)))
    prober = probing.Prober("host", "n", tmp_path)
    assert prober.check(threading.Event())[1].device == HOST
    with pytest.raises(Unfit, match=says):
        prober.check(threading.Event())


@pytest.mark.parametrize("target", ["gfx906", "sm_61"])
def test_the_known_question_compiles_for_cards_too(tmp_path: Path, target: str) -> None:
    assert probing.compile_known(target, tmp_path / "known").stat().st_size > 100

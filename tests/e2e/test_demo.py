"""The demo as a user runs it: real processes, six answers, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bot.core import report
from bot.core.enums import RunVerdict

DEMO = [sys.executable, "-c", "from bot.cli.main import main; main()", "demo"]
EXPECTED = ["pass", "pass", "broken", "regressed", "pass", "pass"]


def left_behind(state: Path) -> list[str]:
    """Command lines of processes that still speak of the demo's state folder."""
    return [line for process in psutil.process_iter() if str(state) in (line := command_line(process))]


def command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.mark.timeout(900)
def test_every_sample_gets_its_verdict(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    env = {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "120"}
    done = subprocess.run([*DEMO, "--once", "--json", str(file)], env=env, capture_output=True, text=True, timeout=880, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    result = json.loads(file.read_text())
    assert [pull["verdict"] for pull in result["prs"]] == [pull["expected"] for pull in result["prs"]] == EXPECTED
    runs = [report.load(json.dumps(pull["run"])) for pull in result["prs"]]
    assert all(run.gate and run.repo == "kernelgate/sample" for run in runs)
    assert [one.inside for node in runs[0].nodes for one in node.controls] == [True, True]
    assert runs[2].verdict is RunVerdict.BROKEN and "fa_tile.cu:" in result["prs"][2]["comment"]
    assert all(f"/pull/{pull['number']}#issuecomment-" in pull["comment_url"] for pull in result["prs"])
    assert left_behind(tmp_path) == [] and not list(tmp_path.glob("kernelgate-demo-*"))


@pytest.mark.timeout(240)
def test_a_demo_told_to_end_leaves_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen(DEMO, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "http://127.0.0.1:" in process.stdout.readline()
    assert left_behind(tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    end = time.monotonic() + 10
    while left_behind(tmp_path) and time.monotonic() < end:
        time.sleep(0.1)
    assert left_behind(tmp_path) == [] and not list(tmp_path.glob("kernelgate-demo-*"))

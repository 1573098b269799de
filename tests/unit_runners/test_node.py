"""A node's life over HTTP: from claim to done, and what neither a proxy, a stop nor a malformed answer may do to it."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from control_side import PAGE, Answer, Call, ControlSide, control_side
from small_suite import SOURCE, job, lay

from kernels.spec import plain
from runners import node_client, probing
from runners.child import Reply
from runners.host_device import HOST
from runners.node import Node
from runners.node_client import NodeClient
from runners.node_settings import NodeSettings
from runners.protocol import Ending, Failure, FailureKind, Job, Mode, Outcome, Phase, Selection, dump
from runners.quarantine import Quarantine
from runners.sandbox import Ended, Finished

ACCURACY = Selection(modes=(Mode.ACCURACY,))
CHANGED = SOURCE.replace("KG_FACTOR * x[i]", "x[i] * (n > 0 ? 2.0f : 3.0f)")
ENDLESS = SOURCE.replace("if (i < n)", "while (n > 0) __syncthreads();\n    if (i < n)")


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Job]:
    """Jobs whose head has the given source, of a repository on disk."""
    origin = lay(tmp_path_factory.mktemp("origin"))
    git(origin, "init", "-q", "-b", "main")

    def commit(source: str) -> str:
        (origin / "kernels/scale/scale.cu").write_text(source)
        git(origin, "add", "-A")
        git(origin, "commit", "-qm", "a step", "--allow-empty")
        return git(origin, "rev-parse", "HEAD")

    base = commit(SOURCE)
    return lambda source: job(clone_url=f"file://{origin}", base=base, judge=base, head=commit(source), selection=ACCURACY)


def node(side: ControlSide, state: Path) -> Node:
    settings = NodeSettings(url=side.url, node_key="the-key", pool="host", device="host", state=state, node_name="n")
    return Node(settings, NodeClient(side.url, "the-key"))


def sandboxed() -> list[psutil.Process]:
    return [process for process in psutil.Process().children(recursive=True) if "bwrap" in process.name()]


def test_a_job_is_worked_and_told_whatever_happens_on_the_way(jobs: Callable[[str], Job], tmp_path: Path) -> None:
    trouble = [Answer(200, PAGE), Answer(200), Answer(200, b'{"cancel": ', 20), Answer(302), Answer(404, PAGE)]
    with control_side(jobs=[jobs(CHANGED)]) as side:
        side.odd |= {"beat": trouble, "result": [Answer(502, PAGE), Answer(502, PAGE), Answer(200, PAGE)], "done": [Answer(503)]}
        node(side, tmp_path).work()
    kinds = [call.kind for call in side.calls if call.kind != "beat"]
    assert kinds[:2] == ["claim", "cases"] and kinds[-3:] == ["done", "done", "claim"]
    assert len({call.path for call in side.of("result")[:4]}) == 1
    assert {call.said["case"]["id"] for call in side.of("result")} >= {case["id"] for case in side.of("cases")[0].said["cases"]}
    assert all(call.path == f"attempts/a/cases/{call.said['case']['id']}" for call in side.of("result"))
    assert side.of("done")[-1].said["outcome"]["ending"] == "completed" and not side.odd["beat"]
    assert side.of("claim")[0].said.items() >= {"pool": "host", "devices": ["host"], "protocol": 1}.items()
    assert {call.key for call in side.calls} == {"Bearer the-key"}


@pytest.mark.parametrize("how", [Answer(200, b'{"cancel": true}'), Answer(409)])
def test_a_job_that_is_no_longer_wanted_is_killed(jobs: Callable[[str], Job], tmp_path: Path, how: Answer) -> None:
    told: list[float] = []

    def unwanted(call: Call) -> Answer | None:
        """From the first beat on that finds the endless kernel running; a 409 then answers everything of the attempt."""
        if call.kind == "beat" and call.said["phase"] == Phase.ACCURACY and sandboxed():
            told.append(time.monotonic())
        return how if told and (call.kind == "beat" or (how.status == 409 and call.kind != "claim")) else None

    with control_side(jobs=[jobs(ENDLESS)], when=unwanted) as side:
        node(side, tmp_path).work()
        assert time.monotonic() - told[0] < 5  # the kernel alone would take 10 s for each case
        assert not sandboxed() and not side.of("result")
        assert [call.said["outcome"]["ending"] for call in side.of("done")] == ["cancelled"]


def test_a_node_goes_on_looking_for_work_past_malformed_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Node, "_execute", lambda *_: Outcome(Ending.COMPLETED))
    newer = dump(job()).replace(b'"schema":1', b'"schema":2')
    read = [Answer(200, body) for body in (PAGE, b"", b"[1]", b'{"schema": 1}', newer)]
    odd = [*read, Answer(200, b'{"schema": 1', 9), Answer(426, b'{"error": "upgrade this node"}'), Answer(302), Answer(500)]
    with control_side(jobs=[job()], odd=defaultdict(list, claim=odd)) as side:
        looking = node(side, tmp_path)
        thread = threading.Thread(target=looking.poll, args=[0.01])
        thread.start()
        side.wait_for("done")
        looking.drain()
        thread.join(30)
        assert not thread.is_alive() and not side.odd["claim"]
    says = ("claim: 426", "upgrade this node", "is of protocol 2, and this node reads 1", "can't be read", "answered 302", "answered 500")
    assert [words for words in says if words not in caplog.text] == []


def test_a_draining_node_ends_its_job_and_takes_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def long(*_: object) -> Outcome:
        begun.set()
        may_end.wait(60)
        return Outcome(Ending.COMPLETED)

    monkeypatch.setattr(Node, "_execute", long)
    with control_side(jobs=[job(), job()]) as side:
        busy = node(side, tmp_path)
        working, draining = threading.Thread(target=busy.work), threading.Thread(target=busy.drain)
        working.start()
        assert begun.wait(60)
        draining.start()
        draining.join(0.3)
        assert draining.is_alive() and not side.of("done")
        may_end.set()
        draining.join(60)
        assert len(side.of("done")) == 1 and len(side.jobs) == 1 and len(side.of("claim")) == 1


def test_a_node_told_to_drain_while_it_probes_its_card_takes_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Node, "_fit", lambda self: not self.draining.set())
    with control_side(jobs=[job()]) as side:
        node(side, tmp_path).work()
        assert not side.calls


@pytest.mark.parametrize(
    "said",
    [{}, {"device": {}, "backend": "b", "driver": "d"}, {"device": plain(HOST)}, {"device": plain(HOST), "backend": [], "driver": 1}],
)
def test_a_device_that_answers_oddly_is_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, said: dict[str, object]
) -> None:
    monkeypatch.setattr(probing, "ask", lambda *_, **__: Reply((said,), Finished(0, Ended.EXITED, b"", b"", 0.1)))
    with control_side(jobs=[job()]) as side:
        bad = node(side, tmp_path)
        bad.work()
        bad.work()
        assert [call.kind for call in side.calls] == ["rest", "rest"] and "no work for 10 s" in caplog.text
        first, again = (call.said for call in side.calls)
        assert "can't be opened" in first["reason"] and first["devices"] == ["host"] and 9 < first["seconds"] <= 10
        assert again["reason"] == first["reason"] and again["seconds"] < first["seconds"]


def failed(file: str = "") -> Outcome:
    return Outcome(Ending.FAILED, failure=Failure(FailureKind.INFRASTRUCTURE, "no sandbox", file=file))


def test_two_jobs_in_a_row_that_fail_by_the_machine_make_it_rest_longer_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = [failed(), failed("kernels/a/cases.py"), failed(), failed(), failed(), Outcome(Ending.COMPLETED)]
    monkeypatch.setattr(Node, "_execute", lambda *_: ends.pop(0))
    now = [0.0]
    with control_side(jobs=[job() for _ in ends]) as side:
        tried = node(side, tmp_path)
        tried.quarantine = Quarantine(lambda: now[0])
        tried.work()
        assert len(ends) == 2 and [call.said["seconds"] for call in side.of("rest")] == [10]
        tried.work()
        now[0] = 11.0
        tried.work()
        assert len(ends) == 1 and [call.said["seconds"] for call in side.of("rest")] == [10, 10, 20]
        now[0] = 32.0
        tried.work()
        assert not ends and not tried.quarantine.left() and "two jobs in a row failed here" in side.of("rest")[0].said["reason"]


def test_a_wrong_answer_to_a_known_question_keeps_a_card_from_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with control_side(jobs=[job()]) as side:
        node(side, tmp_path).work()
        assert side.of("claim")[0].said["card"]["target"] == "host" and side.of("claim")[0].said["toolchains"]
        monkeypatch.setattr(probing, "expected", lambda: "another")
        node(side, tmp_path).work()
        assert "wrong answer" in side.of("rest")[0].said["reason"]


def test_a_node_cut_off_for_longer_than_its_lease_drops_the_job_and_works_on(
    jobs: Callable[[str], Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes back with what it had found: the server, which gave the job to another, refuses it, and that is all."""
    monkeypatch.setattr(node_client, "LEASE", 0.0)
    cut: list[float] = []

    def partition(call: Call) -> Answer | None:
        if call.kind == "beat" and call.said["phase"] == Phase.ACCURACY and sandboxed():
            cut.append(time.monotonic())
        if call.kind in ("result", "done") and cut:
            return Answer(409)
        return Answer(503) if cut and call.kind == "beat" else None

    with control_side(jobs=[jobs(ENDLESS)], when=partition) as side:
        node(side, tmp_path).work()
        assert not sandboxed() and not side.of("result")
        assert [call.kind for call in side.calls if call.kind in ("done", "claim")] == ["claim", "done", "claim"]
        assert side.of("done")[0].said["outcome"]["ending"] == "cancelled"


def test_a_runner_of_several_devices_killed_outright_leaves_no_node_behind(tmp_path: Path) -> None:
    """Its nodes are stand-ins that would stay for a minute."""
    stub = tmp_path / "python"
    stub.write_text("#!/bin/sh\nexec sleep 60\n")
    stub.chmod(0o755)
    settings = f"NodeSettings(url='https://localhost', broker='', device='host,host', state={str(tmp_path)!r})"
    said = f"import sys; from runners.node_process import NodeSettings, run; sys.executable = {str(stub)!r}; run({settings})"
    with subprocess.Popen([sys.executable, "-c", said]) as runner:
        end = time.monotonic() + 60
        while len(nodes := psutil.Process(runner.pid).children()) < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        runner.kill()
    assert not psutil.wait_procs(nodes, timeout=30)[1]


@pytest.mark.parametrize("minutes", [-10, 10, 24 * 60])
def test_a_clock_that_is_wrong_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: int) -> None:
    monkeypatch.setattr(Node, "_execute", lambda *_: Outcome(Ending.COMPLETED))
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + 60 * minutes)
    with control_side(jobs=[job(), job()]) as side:
        node(side, tmp_path).work()
        assert len(side.of("done")) == 2 and not side.of("rest")
        told = str([call.said for call in side.calls if call.kind != "beat"])
    assert not [word for word in re.findall(r"\d{10}(?:\.\d+)?", told) if abs(float(word) - right()) < 3600]  # no time of the node's own

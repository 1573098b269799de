"""What a process inside the sandbox can't do, and how each limit ends it."""

import os
import socket
import threading
import time
from pathlib import Path

import psutil
import pytest

from runners import sandbox
from runners.sandbox import Ended, Limits


def shell(script: str, **more: object) -> sandbox.Finished:
    return sandbox.run(["/usr/bin/sh", "-c", script], **more)


def python(code: str, **more: object) -> sandbox.Finished:
    prefix, mounts = sandbox.python()
    return sandbox.run([*prefix, "-c", code], read=mounts, **more)


def test_nothing_of_the_environment_goes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGATE_CANARY", "canary-7f3a")
    done = shell("tr '\\0' '\\n' </proc/self/environ; cat /proc/1/environ; cat /proc/*/cmdline")
    assert b"PATH=" in done.stdout and b"canary" not in done.stdout + done.stderr


@pytest.mark.parametrize("folder", ["/etc", "/home", "/root", str(Path(__file__).parent)])
def test_no_folder_of_the_machine_is_there(folder: str) -> None:
    assert shell(f"ls -A {folder}").stdout == b""


def test_there_is_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = python(f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)")
    assert done.code == 1 and b"ConnectionRefusedError" in done.stderr


def test_the_root_is_read_only_and_what_is_written_comes_out(tmp_path: Path) -> None:
    done = shell("echo no >/usr/x; echo yes >/out/x", write={"/out": tmp_path})
    assert (tmp_path / "x").read_text() == "yes\n" and not Path("/usr/x").exists() and b"x" in done.stderr


def test_time_output_and_memory_are_bounded() -> None:
    assert shell("sleep 60", limits=Limits(seconds=0.5)).ended is Ended.TIMED_OUT
    assert shell("yes", limits=Limits(output_bytes=1 << 16)).ended is Ended.OUTPUT_LIMIT
    assert not python("bytearray(2 << 30)", limits=Limits(memory_bytes=1 << 30)).ok


def test_a_daemon_that_forks_twice_dies_with_the_rest(tmp_path: Path) -> None:
    mark = f"{os.getpid()}.{time.time_ns() % 10**9:09d}"
    shell(f"(setsid sh -c 'exec sleep {mark}' &) ; sleep 0.2")
    time.sleep(0.5)
    assert not [p for p in psutil.process_iter() if p.name() == "sleep" and mark in " ".join(p.cmdline())]


def test_a_stop_ends_it_within_two_seconds() -> None:
    stop, began = threading.Event(), time.monotonic()
    threading.Timer(0.3, stop.set).start()
    assert shell("sleep 60", stop=stop).ended is Ended.STOPPED
    assert time.monotonic() - began < 2.3

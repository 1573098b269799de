"""What a process inside the sandbox can't do, and how each limit ends it."""

import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import psutil
import pytest

from runners import bubblewrap, identity, sandbox, seccomp
from runners.cgroup import Cgroup
from runners.sandbox import Ended, Limits, SandboxError
from runners.scratch import scratch


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
    assert done.code == 1 and (b"ConnectionRefusedError" in done.stderr or b"PermissionError" in done.stderr)


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


def test_an_agent_that_is_root_is_another_user_inside_and_each_time_another() -> None:
    if not identity.drops():
        pytest.skip("this agent is no root, or can't become another user")
    seen = {shell("id -u; id -G; grep CapEff /proc/self/status").stdout for _ in range(2)}
    assert len(seen) == 2
    for said in seen:
        user, groups, rights = said.decode().splitlines()
        assert groups == user and int(user) >= identity.NOBODY and int(rights.split()[1], 16) == 0


def test_what_the_dropped_user_writes_comes_out_of_a_folder_that_is_closed_to_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "earlier").mkdir()
    assert shell("echo yes >/out/x && echo yes >/out/earlier/x", write={"/out": tmp_path}, cwd="/out").ok
    assert (tmp_path / "earlier/x").read_text() == "yes\n"


def test_a_folder_closed_to_all_but_the_agent_can_still_be_shown(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "x").write_text("seen")
    assert shell("cat /in/x", read={"/in": tmp_path}).stdout == b"seen"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_has_the_same_sandbox() -> None:
    """A process of user 65534 that starts a sandbox: with a user namespace, no right in it, and no further one."""
    me = [identity.SETPRIV, "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*me, bubblewrap.path(), "--version"], capture_output=True, check=False).returncode:
        pytest.skip("bubblewrap lies in a folder that is closed to other users")
    words = [*bubblewrap.isolation(), *bubblewrap.mounts({}, {}, ())]
    script = "id -u; grep CapEff /proc/self/status; unshare -U true || echo no; touch /dev/x /x || echo no"
    done = subprocess.run([*me, *words, "--", "/usr/bin/sh", "-c", script], capture_output=True, text=True, check=False, cwd="/")
    assert done.stdout.split() == ["65534", "CapEff:", "0000000000000000", "no", "no"], done.stderr


def test_system_calls_that_no_kernel_needs_are_refused() -> None:
    if not seccomp.program():
        pytest.skip("no libseccomp on this machine")
    done = shell("grep Seccomp: /proc/self/status; unshare -U true || echo no; unshare -m true || echo no")
    assert done.stdout.split() == [b"Seccomp:", b"2", b"no", b"no"]


def test_without_a_sandbox_nothing_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There is no switch that runs a repository's code without one."""
    monkeypatch.setattr(bubblewrap, "path", lambda: "/usr/bin/false")
    monkeypatch.setattr(identity, "drops", lambda: False)
    with pytest.raises(SandboxError, match="user namespaces"):
        shell("touch /out/x", write={"/out": tmp_path})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("grouped", [True, False])
def test_all_processes_together_keep_within_their_memory(monkeypatch: pytest.MonkeyPatch, grouped: bool) -> None:
    if not grouped:
        monkeypatch.setattr(Cgroup, "create", lambda *_: Cgroup())
    hungry = "import os, time\nfor _ in range(4):\n  if os.fork() == 0:\n    kept = b'x' * (60 << 20); time.sleep(60)\ntime.sleep(60)"
    assert python(hungry, limits=Limits(seconds=30, memory_bytes=160 << 20)).ended is Ended.MEMORY_LIMIT


def test_empty_files_and_folders_without_end_are_capped_and_removed() -> None:
    deep = "import os\nos.chdir('/out')\nfor _ in range(3000):\n  os.mkdir('d'); os.chdir('d')\nimport time; time.sleep(60)"
    many = "import os, time\nfor i in range(2000): os.close(os.open(f'/out/{i}', os.O_CREAT))\ntime.sleep(60)"
    for code, limit in ((deep, 512 << 20), (many, 4 << 20)):
        with scratch("kernelgate-test-") as out:
            assert python(code, write={"/out": out}, limits=Limits(seconds=60, file_bytes=limit)).ended is Ended.OUTPUT_LIMIT
        assert not out.exists()


def test_what_a_process_was_told_can_not_be_written_to() -> None:
    done = shell("cat; echo x >&0 || echo no; echo x >/proc/self/fd/0 || echo no; echo x >/dev/x || echo no", stdin=b"told ")
    assert done.stdout == b"told no\nno\nno\n"


def test_the_command_line_inside_says_nothing_of_the_machine(tmp_path: Path) -> None:
    assert str(tmp_path).encode() not in shell("cat /proc/*/cmdline", read={"/in": tmp_path}).stdout


def test_a_sandbox_that_somebody_else_kills_is_the_machines_trouble() -> None:
    def kill() -> None:
        while not (found := [one for one in psutil.Process().children() if one.name() == "bwrap"]):
            time.sleep(0.05)
        found[0].kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(SandboxError, match="killed by signal 9 from outside"):
        shell("sleep 60")
    killer.join()

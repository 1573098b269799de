"""No setting of the kernel can be written from inside, also where the agent is root and the sandboxed process has to stay its user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runners import sandbox
from runners.cgroup import Cgroup
from runners.sandbox import Ended, Limits

LOOK = """
import os
for folder, names, files in os.walk("/proc", onerror=lambda _: None):
    names[:] = [name for name in names if not name.isdigit() and "self" not in name]
    for path in (os.path.join(folder, name) for name in files):
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            print(path)
        except OSError:
            pass
"""


def test_what_of_proc_is_no_process_s_can_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)  # closed to all but the agent
    argv, mounts = sandbox.python()
    for shown in ({}, {"/closed": tmp_path}):
        done = sandbox.run([*argv, "-c", LOOK], read={**mounts, **shown})
        assert done.ok and done.stdout == b""


def test_forks_without_end_are_ended_where_no_rlimit_and_no_group_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cgroup, "create", lambda *_: Cgroup())
    tmp_path.chmod(0o700)
    argv, mounts = sandbox.python()
    forks = "import os, time\nwhile True:\n  try:\n    if os.fork() == 0: time.sleep(60)\n  except OSError: time.sleep(60)"
    limits = Limits(seconds=20, memory_bytes=None, processes=40)
    done = sandbox.run([*argv, "-c", forks], read={**mounts, "/closed": tmp_path}, limits=limits)
    assert done.ended is (Ended.MEMORY_LIMIT if os.geteuid() == 0 else Ended.TIMED_OUT)

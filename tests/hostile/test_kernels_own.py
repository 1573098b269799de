"""No setting of the kernel can be written from inside, also where the agent is root and the sandboxed process has to stay its user."""

from __future__ import annotations

from pathlib import Path

from runners import sandbox

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

"""Temporary folders that sandboxed processes write to: removed whole, however deep or closed what they left there is."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def readable() -> Iterator[None]:
    """What this process makes meanwhile can be read by sandboxed processes, which are other users, whatever the umask was."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def scratch(prefix: str, below: Path | None = None) -> Iterator[Path]:
    """A fresh folder, in the machine's place for such or `below` a folder; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=below))
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """By coreutils, which walk trees of any depth; Python's own removal recurses, and one made for it would end the agent."""
    subprocess.run(["/bin/sh", "-c", 'chmod -R u+rwX -- "$0"; rm -rf -- "$0"', str(folder)], check=False, capture_output=True, env={})

"""Files a sandboxed process left in its output folder, read as if it had put traps there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class BadOutput(RuntimeError):
    """A file is missing, no regular file, or of another size than it must have."""


def read(root: Path, name: str, size: int) -> NDArray[np.uint8]:
    """Exactly `size` bytes of `root`/`name`; neither a link nor a pipe on the way is followed."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        *folders, last = name.split("/")
        for part in folders:
            folder = _swap(folder, os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder))
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        raise BadOutput(f"the output {name} can't be read: {error.strerror}") from error
    finally:
        os.close(folder)
    with os.fdopen(file, "rb") as stream:
        facts = os.fstat(stream.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size != size:
            raise BadOutput(f"the output {name} is not a file of {size} bytes")
        return np.frombuffer(stream.read(size), np.uint8)


def _swap(old: int, new: int) -> int:
    os.close(old)
    return new

"""What a commit's tree holds, read as git lists it and no further than the caps: a small tree object can stand for any number of files."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from runners import git
from runners.git import CheckoutError

CHUNK = 1 << 16
NAME_BYTES, PATH_BYTES, DEEPEST = 255, 1000, 64  # what any file system takes below any folder of ours


@dataclass(frozen=True)
class Caps:
    packed_bytes: int = 500 << 20
    checkout_bytes: int = 2 << 30
    file_bytes: int = 50 << 20
    files: int = 200_000
    seconds: float = 120.0


@dataclass(frozen=True)
class Entry:
    mode: str
    sha: str
    size: int
    path: str


def entries(repository: Path, sha: str, caps: Caps) -> list[Entry]:
    """Every file of the commit; CheckoutError for the first that breaks a cap or whose name no folder of ours can hold."""
    found: list[Entry] = []
    left = caps.checkout_bytes
    for entry in _listed(repository, sha, caps.seconds):
        left -= entry.size
        if len(found) == caps.files:
            raise CheckoutError(f"the tree has more than the {caps.files} files that are allowed")
        if entry.size > caps.file_bytes:
            raise CheckoutError(f"{entry.path} has {entry.size} bytes; {caps.file_bytes} are allowed")
        if left < 0:
            raise CheckoutError(f"the files of the tree are larger than the {caps.checkout_bytes} bytes that are allowed")
        found.append(entry)
    return found


def _listed(repository: Path, sha: str, seconds: float) -> Iterator[Entry]:
    """Entry by entry, by a git that is killed when the reader turns away or the time is over: trees of trees without files never end."""
    command = git.command(repository, ["ls-tree", "-r", "-z", "-l", "--full-tree", sha])
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=git.ENVIRONMENT, cwd="/", stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    assert process.stdout is not None and process.stderr is not None
    late = threading.Event()
    clock = threading.Timer(seconds, lambda: (late.set(), process.kill()))
    clock.start()
    try:
        yield from filter(None, map(_entry, _records(process.stdout)))
        said = process.stderr.read(2000).decode(errors="replace").strip()
        if process.wait() and not late.is_set():
            raise CheckoutError(f"the tree can't be listed: {said or f'git ls-tree ended with {process.returncode}'}")
    finally:
        clock.cancel()
        process.kill()
        process.communicate()
    if late.is_set():
        raise CheckoutError(f"the tree can't be listed within {seconds:g} s")


def _records(pipe: IO[bytes]) -> Iterator[bytes]:
    """What NULs end, of a bounded length each."""
    rest = b""
    while data := pipe.read(CHUNK):
        *whole, rest = (rest + data).split(b"\0")
        if len(rest) > CHUNK:
            raise CheckoutError(f"a file name of the tree has more than {PATH_BYTES} bytes")
        yield from whole


def _entry(record: bytes) -> Entry | None:
    """None for what is no file: a commit here is a submodule, and left out."""
    head, _, path = record.partition(b"\t")
    mode, kind, blob, size = head.decode().split()
    return Entry(mode, blob, int(size), _safe(path)) if kind == "blob" else None


def _safe(raw: bytes) -> str:
    """The name, if writing it stays in the checkout and works everywhere."""
    try:
        path = raw.decode()
    except UnicodeDecodeError as error:
        raise CheckoutError(f"a file name is not UTF-8: {raw[:200]!r}") from error
    parts = raw.split(b"/")
    if any(part.lower() in (b"", b".", b"..", b".git") for part in parts) or "\\" in path:
        raise CheckoutError(f"a file name leads out of the checkout: {path[:200]!r}")
    if len(raw) > PATH_BYTES or max(map(len, parts)) > NAME_BYTES:
        raise CheckoutError(f"a file name is longer than {PATH_BYTES} bytes, or a part of it than {NAME_BYTES}: {path[:80]!r}…")
    if len(parts) > DEEPEST:
        raise CheckoutError(f"a file lies more than {DEEPEST} folders deep: {path[:80]!r}…")
    return path

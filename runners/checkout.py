"""A repository's files by full SHA, from git that can be talked into running nothing.

Objects are fetched into a bare cache and written out by us, one blob at a time: no index, no attributes, no filters,
no hooks, no submodules; links become plain files that hold their target.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from runners import git
from runners.entries import Caps as Caps
from runners.entries import Entry, entries
from runners.git import CheckoutError as CheckoutError  # re-exported
from runners.protocol import Job
from runners.trees import Trees

SHA = re.compile(r"[0-9a-f]{40}")


def fetch(cache: Path, url: str, shas: Sequence[str], token: str = "", caps: Caps = Caps(), stop: threading.Event | None = None) -> None:
    """Bring the commits `shas` into the bare repository `cache`, made if missing; the token travels by descriptor only."""
    for sha in shas:
        full_sha(sha)
    if not (cache / "HEAD").exists():
        git.output(None, ["init", "--quiet", "--bare", "--template=", str(cache)])
    missing = [sha for sha in dict.fromkeys(shas) if not _has(cache, sha)]
    if missing:
        _transfer(cache, url, missing, token, caps, stop)
    for sha in shas:
        if resolve(cache, sha) != sha:
            raise CheckoutError(f"{sha} is not the commit that was asked for")


def resolve(repository: Path, name: str) -> str:
    """The full SHA of a commit named by branch, tag or SHA."""
    if name.startswith("-"):
        raise CheckoutError(f"{name!r} names no commit")
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    found = git.output(repository, words, check=False).decode().strip()
    if not SHA.fullmatch(found):
        raise CheckoutError(f"{name!r} names no commit of this repository")
    return found


def merge_base(repository: Path, one: str, other: str) -> str:
    """The newest common ancestor."""
    found = git.output(repository, ["merge-base", full_sha(one), full_sha(other)], check=False).decode().strip()
    if not SHA.fullmatch(found):
        raise CheckoutError(f"{one[:12]} and {other[:12]} have no common ancestor")
    return found


def git_directory(folder: Path) -> Path:
    """The .git of the repository that `folder` lies in."""
    found = git.output(None, ["-C", str(folder), "rev-parse", "--absolute-git-dir"], check=False).decode().strip()
    if not found:
        raise CheckoutError(f"{folder} is in no git repository")
    return Path(found)


def file_at(repository: Path, sha: str, name: str, most: int = 64 << 10) -> str | None:
    """A small text file of a commit; None where it has none of that name. Longer ones are cut just above `most` bytes."""
    found = git.output(repository, ["ls-tree", "-z", "-l", "--full-tree", full_sha(sha), "--", name]).split(b"\0")[0]
    if not found.startswith((b"100644 blob ", b"100755 blob ")):
        return None
    blob = found.split()[2].decode()
    return git.output(repository, ["cat-file", "blob", blob])[: most + 1].decode(errors="replace")


def export(repository: Path, sha: str, into: Path, caps: Caps = Caps(), stop: threading.Event | None = None) -> None:
    """Write the files of commit `sha` below the new folder `into`; a set `stop` ends it with a CheckoutError."""
    listed = entries(repository, full_sha(sha), caps)
    into.mkdir(parents=True)
    command = git.command(repository, ["cat-file", "--batch"])
    with subprocess.Popen(command, env=git.ENVIRONMENT, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for entry in listed:
            if stop is not None and stop.is_set():
                raise CheckoutError("stopped")
            process.stdin.write(f"{entry.sha}\n".encode())
            process.stdin.flush()
            _write(into / entry.path, _blob(process.stdout, entry), entry.mode)
        process.stdin.close()


def commits(job: Job) -> tuple[str, ...]:
    """The commits a job needs, each once."""
    return tuple(dict.fromkeys(filter(None, (job.base, job.head, job.judge, job.tip))))


def trees(job: Job, repository: Path, into: Path, stop: threading.Event | None = None) -> Trees:
    """Write out the commits of a job, each into a folder of its own below `into`."""
    places = {sha: into / sha for sha in commits(job)}
    for sha, place in places.items():
        try:
            export(repository, sha, place, stop=stop)
        except CheckoutError as error:
            raise CheckoutError(f"commit {sha[:12]} can't be checked out: {error}") from error
    tip = places[job.tip] if job.tip not in ("", job.judge) else None
    return Trees(places[job.base], places[job.head], places[job.judge], tip)


def _blob(pipe: IO[bytes], entry: Entry) -> bytes:
    header = pipe.readline().split()
    if len(header) != 3 or int(header[2]) != entry.size:
        raise CheckoutError(f"{entry.path} is missing from the repository")
    data = pipe.read(entry.size + 1)[:-1]
    if len(data) != entry.size:
        raise CheckoutError(f"{entry.path} could not be read to its end")
    return data


def _write(path: Path, data: bytes, mode: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        raise CheckoutError(f"one name stands for a file and for a folder: {path.name!r}") from error
    if mode == "100755":
        path.chmod(0o755)


def _transfer(cache: Path, url: str, shas: Sequence[str], token: str, caps: Caps, stop: threading.Event | None) -> None:
    if url.startswith("-"):
        raise CheckoutError(f"{url!r} is no address")
    with tempfile.TemporaryFile() as secret, tempfile.TemporaryFile() as log:
        secret.write(_header(token))
        secret.flush()
        words = ["-c", f"include.path=/dev/fd/{secret.fileno()}", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1"]
        command = git.command(cache, [*words, "--no-recurse-submodules", "--end-of-options", url, *shas])
        process = subprocess.Popen(command, env=git.ENVIRONMENT, cwd="/", stdin=subprocess.DEVNULL, stderr=log, pass_fds=[secret.fileno()])
        trouble = _wait(process, cache, caps, stop)
        log.seek(0)
        said = log.read(4000).decode(errors="replace").strip()
    if trouble or process.returncode:
        raise CheckoutError(trouble or f"git fetch failed: {said}")


def _header(token: str) -> bytes:
    if not token:
        return b""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", token):
        raise CheckoutError("the fetch token has characters no token has")
    basic = b64encode(f"x-access-token:{token}".encode()).decode()
    return f'[http]\n\textraHeader = "Authorization: Basic {basic}"\n'.encode()


def _wait(process: subprocess.Popen[bytes], cache: Path, caps: Caps, stop: threading.Event | None) -> str:
    """Empty when git ended by itself within the caps, else what was wrong."""
    end, trouble, before, running = time.monotonic() + caps.seconds, "", _packed(cache), True
    while running and not trouble:
        running = process.poll() is None  # before the look at what came: the last look sees all of it
        if stop is not None and stop.is_set():
            trouble = "stopped"
        elif time.monotonic() > end:
            trouble = f"the fetch took longer than {caps.seconds:.0f} s"
        elif _packed(cache) - before > caps.packed_bytes:
            trouble = f"the fetch brought more than {caps.packed_bytes} bytes"
        if running and not trouble:
            time.sleep(0.05)
    process.kill()
    process.wait()
    return trouble


def _packed(cache: Path) -> int:
    """Bytes of the packs, whole ones and such as just come in."""
    found = 0
    for file in cache.glob("objects/pack/*"):
        with contextlib.suppress(FileNotFoundError):  # git renames them meanwhile
            found += file.stat().st_size
    return found


def _has(cache: Path, sha: str) -> bool:
    command = git.command(cache, ["cat-file", "-e", f"{sha}^{{commit}}"])
    return subprocess.run(command, env=git.ENVIRONMENT, cwd="/", capture_output=True, check=False).returncode == 0


def full_sha(sha: str) -> str:
    """`sha`, if it is one of 40 hex digits."""
    if not SHA.fullmatch(sha):
        raise CheckoutError(f"{sha!r} is no full SHA")
    return sha

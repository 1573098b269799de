"""What the forge asks of git: commits, trees, differences and refs of a bare repository."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ISOLATED = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
ZERO = "0" * 40
FORMAT = "%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"


class GitError(RuntimeError):
    """Git refused, or the object is not there."""


@dataclass(frozen=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: tuple[str, str, str]  # name, e-mail, date
    committer: tuple[str, str, str]
    message: str


@dataclass(frozen=True)
class FileChange:
    name: str
    status: str
    blob: str
    additions: int
    deletions: int
    patch: str
    previous: str = ""


def git(repository: Path, *args: str, stdin: bytes | None = None, env: dict[str, str] | None = None) -> bytes:
    """Output of one git command in a repository; GitError with git's own words if it fails."""
    environ = {**os.environ, **ISOLATED, **(env or {})}
    done = subprocess.run(["git", "-C", str(repository), *args], input=stdin, capture_output=True, env=environ, check=False)
    if done.returncode:
        raise GitError(f"git {args[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def text(repository: Path, *args: str) -> str:
    return git(repository, *args).decode(errors="replace").strip()


def resolve(repository: Path, ref: str) -> str:
    """Full SHA of a commit named by branch, tag, ref or SHA."""
    if ref.startswith("-"):
        raise GitError(f"not a ref: {ref}")
    for name in (f"refs/heads/{ref}", f"refs/tags/{ref}", f"refs/{ref}", ref):
        try:
            return text(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except GitError:
            continue
    raise GitError(f"no commit {ref}")


def refs(repository: Path) -> dict[str, str]:
    """Every branch with its tip."""
    lines = text(repository, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").splitlines()
    return dict(line.rsplit(" ", 1) for line in lines)


def commit(repository: Path, sha: str) -> Commit:
    return commits(repository, "-1", sha)[0]


def commits(repository: Path, *selection: str) -> list[Commit]:
    """Commits of a `git log` selection, newest first."""
    raw = git(repository, "log", "-z", f"--format={FORMAT}%x01", *selection).decode(errors="replace")
    return [_commit(entry.strip("\0\n")) for entry in raw.split("\x01") if entry.strip("\0\n")]


def _commit(entry: str) -> Commit:
    sha, tree, parents, an, ae, ad, cn, ce, cd, message = entry.split("\0", 9)
    return Commit(sha, tree, tuple(parents.split()), (an, ae, ad), (cn, ce, cd), message.rstrip("\n"))


def merge_base(repository: Path, one: str, other: str) -> str:
    return text(repository, "merge-base", one, other)


def count(repository: Path, span: str) -> int:
    return int(text(repository, "rev-list", "--count", span))


def changes(repository: Path, old: str, new: str) -> list[FileChange]:
    """Changed files between two commits with their patches."""
    raw = text(repository, "diff", "--raw", "--no-abbrev", "-M", old, new).splitlines()
    return [_change(repository, old, new, line) for line in raw]


def _change(repository: Path, old: str, new: str, line: str) -> FileChange:
    head, *names = line.split("\t")
    blob, letter = head.split()[3], head.split()[4][0]
    status = {"A": "added", "D": "removed", "M": "modified", "R": "renamed"}.get(letter, "changed")
    patch = text(repository, "diff", "-M", old, new, "--", *names)
    hunks = patch[patch.find("\n@@") + 1 :] if "\n@@" in patch else ""
    plus = sum(row.startswith("+") for row in hunks.splitlines())
    minus = sum(row.startswith("-") for row in hunks.splitlines())
    return FileChange(names[-1], status, blob, plus, minus, hunks, names[0] if len(names) > 1 else "")


def entry(repository: Path, sha: str, path: str) -> tuple[str, str, int] | None:
    """Kind (blob, tree), object and size of a path at a commit; None if it is not there."""
    if not path:
        return "tree", text(repository, "rev-parse", f"{sha}^{{tree}}"), 0
    found = entries(repository, sha, path.rstrip("/"))
    return (found[0][0], found[0][1], found[0][2]) if found else None


def entries(repository: Path, sha: str, *paths: str) -> list[tuple[str, str, int, str]]:
    """(kind, object, size, path) of the paths, or of the whole top folder of a commit or tree."""
    raw = git(repository, "ls-tree", "-l", "-z", sha, *(("--", *paths) if paths else ())).decode()
    rows = [row.split("\t", 1) for row in raw.split("\0") if row]
    return [(kind, blob, int(size) if size.isdigit() else 0, name) for (_, kind, blob, size), name in ((h.split(), n) for h, n in rows)]


def blob(repository: Path, sha: str) -> bytes:
    return git(repository, "cat-file", "blob", sha)

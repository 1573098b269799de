"""Git LFS pointers: what stands in a tree for a file that git itself does not hold. Nodes fetch no such file, and say so."""

from __future__ import annotations

from pathlib import Path

MARK = b"version https://git-lfs.github.com/spec/v1\n"
LARGEST = 1024  # bytes; a pointer is never longer
PROBLEM = "is a Git LFS pointer, not the file itself, and nodes fetch nothing from LFS: commit the file to git (git lfs untrack it first)"


def is_pointer(file: Path) -> bool:
    """Whether a regular file is a pointer."""
    if file.is_symlink() or not file.is_file() or file.stat().st_size > LARGEST:
        return False
    with file.open("rb") as opened:
        return opened.read(len(MARK)) == MARK


def told(folder: Path, shown: str) -> str:
    """A sentence on the first pointer below a kernel folder that repositories call `shown`, empty where there is none."""
    found = sorted(path.relative_to(folder) for path in folder.rglob("*") if is_pointer(path))
    return f"{shown}/{found[0]} {PROBLEM}" if found else ""


def explained(problem: str, folder: Path, shown: str) -> str:
    """`problem` of a repository's Python, which reads what is in its folder, after what most likely is its cause."""
    return "; ".join(filter(None, (told(folder, shown), problem)))

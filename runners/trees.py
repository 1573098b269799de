"""The checkouts of a job, and when a kernel is the same on two sides without compiling anything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from kernels.catalog import kernel_names
from runners.lfs import PROBLEM, is_pointer
from runners.toolchains import CompileError
from runners.toolchains.includes import Scope, closure, fault


@dataclass(frozen=True)
class Trees:
    """Checkouts of a job's base and head, of the merge-base, whose cases and references judge both, and of the base branch's tip."""

    base: Path
    head: Path
    judge: Path
    tip: Path | None = None  # where it is another commit than the merge-base


def inside(checkout: Path, name: str) -> Path:
    """`checkout`/`name`, refused where the name leads out of the checkout."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name!r} leads out of the checkout")
    return checkout / path


def kernels_of(checkout: Path, suite: str) -> tuple[str, ...]:
    """Kernels of a checkout: folders of the suite that hold a plan.py."""
    return kernel_names(inside(checkout, suite))


def same_kernel(one: Path, other: Path, folder: str) -> bool:
    """Whether `folder` and all its device code includes are equal in two checkouts; a doubt is a no."""
    if folder_digest(one / folder) != folder_digest(other / folder):
        return False
    sources = [path.name for path in (one / folder).iterdir() if path.is_file() and path.suffix != ".py"]
    try:
        return all(source_digest(one, folder, name) == source_digest(other, folder, name) for name in sources)
    except CompileError:
        return False


def source_digest(checkout: Path, folder: str, source: str) -> str:
    """Names and content of every file of the checkout that compiling `source` reads; CompileError where it may not be read."""
    files = closure(Scope(checkout, folder), source)
    for file in files:
        if is_pointer(checkout / file):
            raise fault(file, 1, PROBLEM)
    return _digest(checkout, files)


@dataclass(frozen=True)
class SourceDigests:
    """`source_digest` for many builds of few sources: each source is read once, since a job's checkouts don't change."""

    _known: dict[tuple[Path, str, str], str] = field(default_factory=dict)

    def of(self, checkout: Path, folder: str, source: str) -> str:
        place = (checkout, folder, source)
        if place not in self._known:
            self._known[place] = source_digest(*place)
        return self._known[place]


def folder_digest(folder: Path) -> str:
    """Names and content of all files below a folder."""
    return _digest(folder, sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))


def changed(one: Path, other: Path, names: Iterable[str]) -> list[str]:
    """Those of `names` whose content differs between two folders, a missing file being different from any."""
    return [name for name in names if _content(one / name) != _content(other / name)]


def _digest(root: Path, names: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0{_content(root / name)}\n".encode())
    return digest.hexdigest()


def _content(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None

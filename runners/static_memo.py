"""The static gate's whole answer for one target, recalled where nothing that it was made from has changed.

What a sandboxed plan.py or cases.py can read is in the key: the kernels' folders, the harness, this Python. Which sources
were compiled only the plans say, so an answer names them, and is recalled only while each still reads the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from runners import cache
from runners.protocol import Job, Side, StaticEntry
from runners.toolchains import CompileError, for_target
from runners.trees import Trees, folder_digest, inside, kernels_of, source_digest

KIND = "static"


@dataclass(frozen=True)
class Source:
    """A source that was compiled: its kernel folder and name on one side, and the digest of all that it includes."""

    side: Side
    folder: str
    name: str
    digest: str

    @classmethod
    def of(cls, trees: Trees, side: Side, folder: str, name: str) -> Source:
        """Raises CompileError where the source may not be read."""
        return cls(side, folder, name, source_digest(trees.base if side is Side.BASE else trees.head, folder, name))


@dataclass(frozen=True)
class Answer:
    """All entries of one target and the sources they come from."""

    entries: tuple[StaticEntry, ...]
    sources: tuple[Source, ...] = ()


ANSWER = TypeAdapter(Answer)


@dataclass(frozen=True)
class Memo:
    """Answers about these trees' kernels; only answers without a failure are kept, since a failure may be the machine's."""

    trees: Trees
    key: str

    @classmethod
    def of(cls, job: Job, trees: Trees, folders: tuple[str, ...]) -> Memo:
        sides = [_kernels(tree, job.suite) for tree in (trees.base, trees.head, trees.judge)]
        chosen = job.selection
        parts = (_harness(), sys.version, job.suite, folders, chosen.base_flags, chosen.head_flags, sides)
        return cls(trees, hashlib.sha256(repr(parts).encode()).hexdigest())

    def recall(self, target: str) -> tuple[StaticEntry, ...] | None:
        """What was kept for `target`; None where there is nothing, or it no longer holds."""
        with contextlib.suppress(ValidationError, CompileError):
            answer = ANSWER.validate_json(cache.read(KIND, self._name(target)) or b"")
            if all(Source.of(self.trees, kept.side, kept.folder, kept.name) == kept for kept in answer.sources):
                return answer.entries
        return None

    def keep(self, target: str, answer: Answer) -> None:
        if all(entry.ok for entry in answer.entries):
            with contextlib.suppress(OSError):  # a cache that can't be written costs time only
                cache.write(KIND, self._name(target), ANSWER.dump_json(answer))

    def _name(self, target: str) -> str:
        return hashlib.sha256(f"{self.key} {target} {for_target(target).version()}".encode()).hexdigest() + ".json"


def _kernels(checkout: Path, suite: str) -> list[tuple[str, str]]:
    return [(name, folder_digest(inside(checkout, suite) / name)) for name in kernels_of(checkout, suite)]


@once
def _harness() -> str:
    """Digest of the code and data that make an answer: this package and the kernels' own, compiled files left out."""
    root = Path(__file__).parents[1]
    files = sorted(path for name in ("runners", "kernels") for path in (root / name).rglob("*") if path.is_file() and path.suffix != ".pyc")
    return hashlib.sha256(b"\0".join(f"{file.relative_to(root)}".encode() + file.read_bytes() for file in files)).hexdigest()

"""What a mutant is: a small wrong version of a kernel of the suite, and what the judge must say of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

SUITE = Path(__file__).resolve().parents[2] / "kernels"
INCLUDES = re.compile(r"(#include .*\n)+")
# The mistakes that kernels of these kinds were seen with, and what device code can do to deceive a judge.
CLASSES = frozenset(
    {
        "32-bit offset",
        "C read at beta 0",
        "K tail",
        "NaN for a masked row",
        "NaN swallowed",
        "alpha and beta",
        "barrier not reached by all",
        "batch beyond the grid",
        "batch stride",
        "caching by pointer",
        "call count",
        "device global across launches",
        "exp of a sum",
        "expected output read",
        "fp16 overflow",
        "grid over the limit",
        "initial state",
        "inputs changed",
        "lane that is not active",
        "lower precision inside",
        "mask off by one",
        "mask row stride",
        "misaligned 16-byte load",
        "nondeterminism",
        "off-by-one bound",
        "option ignored",
        "output NaN",
        "partial results lost",
        "plan fault",
        "pointer array",
        "pointer not advanced over skipped tiles",
        "quantised format",
        "sequence boundaries",
        "shape detection",
        "shared memory over the limit",
        "shared memory too small",
        "sinks ignored",
        "split-K combine",
        "split-KV combine",
        "stale output",
        "stale state between packed sequences",
        "stale state between tiles",
        "tail chunk skipped",
        "timing phase detected",
        "too few blocks",
        "unwritten tail",
        "window off by one",
        "writes outside",
        "wrong head mapping",
        "wrong stride",
        "wrong update",
    }
)
BARRIER = re.compile(r"__syncthreads\(\)")


class Says(StrEnum):
    """The classes of the report; each is the pattern of the words it uses."""

    ERROR = r"relative L2 error \S+ is above the limit"
    NAN = r"elements NaN"
    INFINITE = r"elements infinite"
    UNWRITTEN = r"elements unwritten"
    OUTSIDE = r"wrote \d+ bytes outside (buffer|scratch)"
    PADDING = r"changed \d+ bytes of the padding of"
    INPUT = r"changed \d+ bytes of the (in|const|structure) buffer"
    DIFFER = r"two runs on equal input differ in"
    RACE = r"\.(cu|h):[1-9]\d*: thread \d+ (reads|writes|reaches|takes)"
    STUCK = r"\.(cu|h):[1-9]\d*"  # a launch that can't end, and where its threads wait
    CRASHED = r"signal \d+"
    REFUSED = r"plan\.py: (launches|builds|two runs)"
    TOO_MUCH = r"bytes of shared memory, where a block has"
    WHEN_TIMED = r"right when checked, wrong when timed: "
    SOONER_OR_LATER = rf"{WHEN_TIMED}|{DIFFER}|{UNWRITTEN}"  # how many launches and blocks come before is up to machine and chance


class How(StrEnum):
    """Which part of the judge sees it."""

    ACCURACY = "accuracy"
    RACES = "races"
    HELD_OUT = "held-out shapes"
    TIMED = "the second check, after the timing"


@dataclass(frozen=True)
class Mutant:
    """`old` occurs exactly once in `file` of the kernel's folder and becomes `new`; each of `cases` then fails as `says` has it.

    `kind` is the class of mistakes it stands for, one of CLASSES, `story` tells the mistake and where somebody made it.
    `tunables` are those of the command's `set=`, where the default takes another path; `globals` stands after the file's
    includes.
    """

    name: str
    kind: str
    story: str
    kernel: str
    file: str
    old: str
    new: str
    cases: tuple[str, ...]
    says: Says
    how: How = How.ACCURACY
    tunables: str = ""
    globals: str = ""

    @property
    def folder(self) -> str:
        return f"{self.kernel}__{self.name}"

    def text(self) -> str:
        """The mutated file; ValueError where the kernel has moved on and left the mutant behind."""
        text = (SUITE / self.kernel / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.folder}: {self.file} has {text.count(self.old)} times what must be there once:\n{self.old}")
        return INCLUDES.sub(lambda includes: includes[0] + self.globals, text.replace(self.old, self.new), count=1)

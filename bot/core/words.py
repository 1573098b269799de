"""The words of a command line: how a line falls into words, and which values each key takes."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

MOST_VALUES = 32
SHOWN = 80
LONGEST_LINE = 8192
REASON = 500

FULL_SHA = re.compile(r"[0-9a-f]{40}")
CASE = re.compile(r"[A-Za-z0-9._+:/-]{1,200}(?:@[A-Za-z0-9._+-]{1,64})?")
_NAME = re.compile(r"[A-Za-z0-9._+:/-]{1,64}")
_SET = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}:[A-Za-z0-9._+/-]{1,64}(?:,[A-Za-z0-9._+/-]{1,64}){0,31}")
_FLAG = re.compile(r"-ffast-math|-ffp-contract=(?:fast|off|on)|-O[123]|-DKG_[A-Z0-9_]{1,60}=[A-Za-z0-9._+-]{1,64}")

FLAGS = ("-ffast-math", "-ffp-contract=fast", "-ffp-contract=off", "-ffp-contract=on", "-O1", "-O2", "-O3", "-DKG_NAME=VALUE")
LEGAL = {"mode": ("accuracy", "performance"), "head-flags": FLAGS, "base-flags": FLAGS, "budget": ("10m",)}
KEYS = {
    "models": _NAME,
    "kernels": _NAME,
    "nodes": _NAME,
    "mode": re.compile("accuracy|performance"),
    "base": re.compile(r"(?![./-])(?!.*(?:\.\.|//))[A-Za-z0-9._+/-]{1,200}"),
    "budget": re.compile(r"[1-9][0-9]{0,4}[smh]"),
    "set": _SET,
    "head-flags": _FLAG,
    "base-flags": _FLAG,
}
WHOLE = frozenset({"base", "budget", "set"})
SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Word:
    """A word as read (NFKC), as written, and the column (from 1) where it starts in its line."""

    text: str
    raw: str
    column: int

    def part(self, value: str) -> Word:
        """The place of `value` inside this word, or the word itself where normalising moved it."""
        at = self.raw.find(value) if value else -1
        return Word(value, value, self.column + at) if at >= 0 else self


def split(line: str) -> list[Word]:
    """The words of a line, cut at white space; a line without any gives one empty word."""
    found = [Word(unicodedata.normalize("NFKC", m.group()), m.group(), m.start() + 1) for m in re.finditer(r"\S+", line)]
    return found or [Word("", "", 1)]


def seconds(budget: str) -> int:
    """Seconds of a budget such as 90s, 10m or 1h."""
    return int(budget[:-1]) * SECONDS[budget[-1]]

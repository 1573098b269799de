"""Errors made for a person, each with what is wrong, where, and the nearest legal word; any other exception is a bug."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import process
from rapidfuzz.distance import OSA


class PersonError(Exception):
    """Something a person wrote or asked for can't be done; templates phrase `problem` and `suggestion`."""

    def __init__(self, problem: str, suggestion: str = "", line: int = 0) -> None:
        place = f"line {line}: " if line else ""
        hint = f" (did you mean {suggestion}?)" if suggestion else ""
        super().__init__(f"{place}{problem}{hint}")
        self.problem = problem
        self.suggestion = suggestion
        self.line = line


class ConfigError(PersonError):
    """The repository's .kernelgate.toml can't be used; `line` counts from 1, 0 where no line is to blame."""

    def __init__(self, line: int, problem: str, suggestion: str = "") -> None:
        super().__init__(problem, suggestion, line)


class PlanError(PersonError):
    """A well-formed command asks for what this repository or these nodes don't have."""


class Refused(Exception):
    """A delivery that is not taken, with the HTTP status to answer."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def nearest(word: str, legal: Iterable[str]) -> str:
    """The legal word closest by optimal string alignment (a swap is one edit), of equals one that only goes on; "" where none is near."""
    written, allowed = word.lower(), max(1, len(word) // 3)
    choices = sorted(legal, key=lambda one: (not one.startswith(written), one))
    found = process.extractOne(written, choices, scorer=OSA.distance, score_cutoff=allowed)
    return str(found[0]) if found else ""

"""Who has a word in a change of the judge: the base's CODEOWNERS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from codeowners import CodeOwners

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")  # GitHub takes the first that is there


@dataclass(frozen=True)
class Owners:
    """The owners of each path that has any; `problem` says why the file could not be read."""

    of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problem: str = ""


def owners_of(text: str, paths: Sequence[str]) -> Owners:
    """The owners of `paths`; the last line that fits a path counts, and one without owners takes them away."""
    try:
        rules = CodeOwners(text)
    except ValueError as error:
        return Owners(problem=str(error))
    found = {path: tuple(name for _, name in rules.of(path)) for path in paths}
    return Owners({path: names for path, names in found.items() if names})

"""What the failing or slower cases of a kernel have in common that no other has: one property of their shapes, or two together.

Only what holds of all of them and of none of the others is said, so it is true of this run whatever its cause is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.core.report import CaseReport
from bot.core.verdict import CaseVerdict as V

WRONG = frozenset({V.CRASHED, V.TIMED_OUT, V.INCORRECT})
RIGHT = frozenset({V.CORRECT, V.SAME, V.FASTER, V.SLOWER, V.INCONCLUSIVE})
SLOWER = frozenset({V.SLOWER})
NOT_SLOWER = frozenset({V.SAME, V.FASTER})
LEAST = 2  # cases on either side: one alone has everything in common with itself
MULTIPLES = (4, 8, 16, 32, 64, 128)  # widths of loads and tiles

Value = int | float | str | bool


class Relation(StrEnum):
    IS = "is"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    MULTIPLE = "a multiple of"
    NO_MULTIPLE = "no multiple of"


@dataclass(frozen=True)
class Trait:
    """`key` of a case's shape, or its dtype, model, role or a tunable, in relation to `value`."""

    key: str
    relation: Relation
    value: Value

    def holds(self, having: dict[str, Value]) -> bool:
        value = having.get(self.key)
        if self.relation is Relation.IS or not isinstance(value, int | float) or isinstance(self.value, str):
            return self.relation is Relation.IS and value == self.value
        return _compares(self.relation, value, self.value)


@dataclass(frozen=True)
class Common:
    """`these` of a kernel's cases on a pool have all `traits`; none of the `others` has."""

    kernel: str
    pool: str
    these: int
    others: int
    traits: tuple[Trait, ...]


def in_common(cases: Sequence[CaseReport], these: frozenset[V], others: frozenset[V]) -> tuple[Common, ...]:
    """For each kernel and pool whose cases with `these` verdicts can be told from those with the `others`."""
    found = (_of_one(*group, [c for c in cases if (c.kernel, c.pool) == group], these, others) for group in _groups(cases))
    return tuple(common for common in found if common)


def _groups(cases: Sequence[CaseReport]) -> list[tuple[str, str]]:
    return sorted({(case.kernel, case.pool) for case in cases})


def _of_one(kernel: str, pool: str, cases: Sequence[CaseReport], these: frozenset[V], others: frozenset[V]) -> Common | None:
    marked = [_having(case) for case in cases if case.verdict in these]
    rest = [_having(case) for case in cases if case.verdict in others]
    if min(len(marked), len(rest)) < LEAST:
        return None
    shared = [(trait, [trait.holds(one) for one in rest]) for trait in _shared(marked)]
    for size in (1, 2):
        for some in itertools.combinations(shared, size):
            if not any(all(column) for column in zip(*(held for _, held in some), strict=True)):
                return Common(kernel, pool, len(marked), len(rest), tuple(trait for trait, _ in some))
    return None


def _having(case: CaseReport) -> dict[str, Value]:
    scalars = {key: value for key, value in case.shape.items() if isinstance(value, Value)}
    return {"dtype": case.dtype, "model": case.model, "role": case.role, **case.tunables, **scalars}


def _shared(marked: Sequence[dict[str, Value]]) -> Iterator[Trait]:
    """All traits that every marked case has, the plainest first."""
    keys = [key for key in marked[0] if all(key in one for one in marked)]
    of = {key: [one[key] for one in marked] for key in keys}
    yield from (Trait(key, Relation.IS, found[0]) for key, found in of.items() if len(set(found)) == 1)
    numbers = {key: [v for v in found if _is_number(v)] for key, found in of.items() if all(map(_is_number, found)) and len(set(found)) > 1}
    for key, found in numbers.items():
        yield Trait(key, Relation.AT_LEAST, min(found))
        yield Trait(key, Relation.AT_MOST, max(found))
    for key, width, relation in itertools.product(numbers, MULTIPLES, (Relation.NO_MULTIPLE, Relation.MULTIPLE)):
        trait = Trait(key, relation, width)
        if all(map(trait.holds, marked)):
            yield trait


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compares(relation: Relation, number: int | float, wanted: int | float) -> bool:
    match relation:
        case Relation.AT_LEAST:
            return number >= wanted
        case Relation.AT_MOST:
            return number <= wanted
        case _:
            return (number % wanted == 0) is (relation is Relation.MULTIPLE)

"""Samples as other programs write them (contracts §4): quads or pairs, checked and turned into log ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bot.core.enums import CaseVerdict
from bot.core.remarks import remarks_on
from bot.core.stats import VERDICTS
from runners.location import LONGEST, SHORTEST, real
from runners.sampling import ALPHA, FEWEST, Estimate, Finding, Rules, Values, estimate_values, find, log_ratios


class SamplesError(ValueError):
    """The file does not hold samples; the message names the place."""


@dataclass(frozen=True)
class Judged:
    """One file's verdict; `estimate` is None where there is nothing to estimate from."""

    verdict: CaseVerdict
    reason: str
    estimate: Estimate | None
    sessions: int
    quads: int


def judge_samples(data: Mapping[str, Any], rules: Rules = Rules()) -> Judged:
    """All sessions as one stage with one look, without confirmation; SamplesError where the data are no samples."""
    times, orders = _read(data)
    sessions = [log_ratios(one, order) for one, order in zip(times, orders, strict=True)]
    values = [session for session in sessions if len(session) >= FEWEST]
    estimate = estimate_values(values, rules)
    finding = find(estimate, ALPHA, rules) if estimate else Finding.UNDECIDED
    counted = len(sessions), sum(map(len, sessions))
    if _constant(times):
        return Judged(CaseVerdict.INCONCLUSIVE, "every sample is the same: the clock is too coarse", None, *counted)
    if not any(map(len, sessions)):
        return Judged(CaseVerdict.INCONCLUSIVE, "no quad: base and head never alternate", None, *counted)
    if estimate is None:
        return Judged(CaseVerdict.INCONCLUSIVE, f"fewer than two sessions of {FEWEST} quads", None, *counted)
    verdict = VERDICTS[finding]
    why = ["undecided"] if verdict is CaseVerdict.INCONCLUSIVE else []
    return Judged(verdict, "; ".join([*why, *(remark.text for remark in remarks_on(times, orders))]), estimate, *counted)


def _constant(times: Sequence[Values]) -> bool:
    """Whether all times are one and the same number."""
    known = [one for one in times if one.size]
    return bool(known) and min(float(one.min()) for one in known) == max(float(one.max()) for one in known)


def _read(data: Mapping[str, Any]) -> tuple[list[Values], list[NDArray[np.int64]]]:
    """Times of each session's quads in launch order, and their orders."""
    if "quads" in data:
        times = _sessions(data["quads"], "quads", 4)
        orders = _orders(data, times)
    elif "pairs" in data:
        paired = _sessions(data["pairs"], "pairs", 2)
        times, orders = _quads_of(paired, _firsts(data, paired))
    else:
        found = ", ".join(sorted(map(str, data))[:5]) or "nothing"
        raise SamplesError(f"neither 'quads' nor 'pairs'; found {found}")
    return times, orders


def _sessions(value: Any, name: str, width: int) -> list[Values]:
    if not _is_list(value) or len(value) == 0:
        raise SamplesError(f"{name}: not a list of sessions, or an empty one")
    return [_times(session, f"{name}.{index}", width) for index, session in enumerate(value)]


def _times(session: Any, where: str, width: int) -> Values:
    array = _array(session, where)
    if array.ndim != 2 or array.shape[1] != width or array.dtype.kind not in "iuf":
        raise SamplesError(f"{where}: expected rows of {width} numbers")
    times = array.astype(np.float64)
    if not np.all(np.isfinite(times)):
        raise SamplesError(f"{where}: a time that is not a finite number")
    if not np.all(times > 0):
        raise SamplesError(f"{where}: a time that is not above zero")
    if not real(times):
        raise SamplesError(f"{where}: a time outside {SHORTEST:g} to {LONGEST:g} µs")
    return times


def _is_list(value: Any) -> TypeGuard[Sequence[Any] | NDArray[Any]]:
    """An array without dimensions has no length."""
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _array(value: Any, where: str) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise SamplesError(f"{where}: rows of unequal length") from error


def _orders(data: Mapping[str, Any], times: Sequence[Values]) -> list[NDArray[np.int64]]:
    given = data.get("order")
    if not _is_list(given) or len(given) != len(times):
        raise SamplesError("order: one list a session is needed")
    return [_order(order, f"order.{index}", len(one)) for index, (order, one) in enumerate(zip(given, times, strict=True))]


def _order(value: Any, where: str, length: int) -> NDArray[np.int64]:
    array = _array(value, where)
    if array.shape != (length,) or array.dtype.kind not in "iu" or not np.all((array == 0) | (array == 1)):
        raise SamplesError(f"{where}: expected 0 (A B B A) or 1 (B A A B) for each quad")
    return array.astype(np.int64)


def _firsts(data: Mapping[str, Any], pairs: Sequence[Values]) -> list[bool]:
    """For each pair whether the base was launched first."""
    given = data.get("first")
    if not _is_list(given):
        raise SamplesError("first: a list of 'base' and 'head' is needed")
    names = [str(name) for name in given]
    if set(names) - {"base", "head"} or any(len(one) != len(names) for one in pairs):
        raise SamplesError("first: needs 'base' or 'head' for each pair of every session")
    return [name == "base" for name in names]


def _quads_of(pairs: Sequence[Values], base_first: Sequence[bool]) -> tuple[list[Values], list[NDArray[np.int64]]]:
    """Neighbouring pairs of opposite order, joined as A B B A or B A A B; the rest is left out."""
    starts, at = [], 0
    while at + 1 < len(base_first):
        mirrored = base_first[at] != base_first[at + 1]
        if mirrored:
            starts.append(at)
        at += 2 if mirrored else 1
    index = np.asarray(starts, dtype=np.int64)
    order = np.asarray([0 if base_first[start] else 1 for start in starts], dtype=np.int64)
    return [_joined(one, index, order) for one in pairs], [order] * len(pairs)


def _joined(pairs: Values, index: NDArray[np.int64], order: NDArray[np.int64]) -> Values:
    first, second = pairs[index], pairs[index + 1]
    straight = np.stack([first[:, 0], first[:, 1], second[:, 1], second[:, 0]], axis=1)
    turned = straight[:, [1, 0, 3, 2]]
    return np.where((order == 0)[:, None], straight, turned)

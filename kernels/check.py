"""The judge's arithmetic: the error of an output against its fp64 reference, and the limit it is held to.

An element that is NaN, infinite or unwritten without the reference saying so is counted and fails; nothing is
ever skipped to make a figure come out. The primary figure is relative L2, and passing means `value <= limit`.

A reference too dear to compute whole is a masked array: what is masked has no figures, but must be written and finite.
Or it is a pair (vectors [columns, PROBES], products [..., rows, PROBES]) with vectors of random signs: the output is held to
them row by row, as R. Freivalds checks a product ("Probabilistic machines can use less running time", IFIP 1977). Signs keep
expected squares, so relative L2 of the products estimates that of the output, and the limit is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.spec import Buffer, Dtype, Role
from kernels.storage import POISON, Array, Bytes, draw_all, raw_view, view, views

SEEDS = 32
MARGIN = 4.0  # a limit is this many times the worst error of the plain implementation
BASE_MARGIN = 3.0  # head may be this many times as wrong as base ...
BASE_SHARE = 0.1  # ... or use this share of the limit, whichever is more

UNJUDGED = 0x7FF8_6B67_0000_0001  # the NaN that stands, bit for bit, for a masked element of a reference

PROBES = 8  # vectors of a projected reference
Projected = tuple[Array, Array]

_ROUNDOFF = {Dtype.F16: 2.0**-11, Dtype.BF16: 2.0**-8}

Reference = Callable[[Mapping[str, Any], Mapping[str, Array]], Mapping[str, Array]]


@dataclass(frozen=True)
class Errors:
    """One output (or the worst of several) against its reference; figures are NaN or infinite where that is the truth."""

    rel_l2: float
    nmse: float
    max_abs: float
    cosine: float
    nan: int
    inf: int
    unwritten: int
    outside: int
    elements: int

    @property
    def clean(self) -> bool:
        """No element is NaN, infinite or unwritten without the reference saying so."""
        return self.nan == self.inf == self.unwritten == 0


def measure(buffer: Buffer, storage: Bytes, reference: Array | Projected, limit: float = math.inf) -> Errors:
    """The error of the output in `storage`; `limit` sets the tolerance of the count `outside`."""
    raw, out = raw_view(buffer, storage), np.asarray(view(buffer, storage), np.float64)
    unwritten = _unwritten(buffer.dtype, raw)
    compared = project(out, *reference, limit, unwritten) if isinstance(reference, tuple) else compare(out, reference, limit, unwritten)
    return replace(compared, unwritten=int(np.count_nonzero(unwritten)))


def project(out: Array, vectors: Array, products: Array, limit: float = math.inf, ignore: NDArray[np.bool_] | None = None) -> Errors:
    """Figures of `out` times `vectors` against `products`; every element of `out` must be finite, as with `compare`."""
    got = np.asarray(out, np.float64)
    finite, counted = np.isfinite(got), np.ones(got.shape, bool) if ignore is None else ~ignore
    errors = compare(np.where(finite, got, 0.0) @ vectors, products, limit)
    nan, inf = int(np.count_nonzero(np.isnan(got) & counted)), int(np.count_nonzero(np.isinf(got)))
    return replace(errors, nan=errors.nan + nan, inf=errors.inf + inf, elements=int(got.size))


def compare(out: Array, reference: Array, limit: float = math.inf, ignore: NDArray[np.bool_] | None = None) -> Errors:
    """Figures of `out` against `reference`; elements of `ignore` aren't counted as NaN (they are counted as unwritten)."""
    got, want = np.asarray(out, np.float64), marked(reference)
    if got.shape != want.shape:
        raise ValueError(f"output has the shape {got.shape}, its reference {want.shape}")
    counted = np.ones(got.shape, bool) if ignore is None else ~ignore
    judged = want.view(np.uint64) != UNJUDGED
    if judged.all():
        return _compare(got, want, limit, counted)
    if not judged.any():
        raise ValueError("the reference masks every element")
    errors = _compare(got[judged], want[judged], limit, counted[judged])
    rest, seen = got[~judged], counted[~judged]
    nan, inf = int((np.isnan(rest) & seen).sum()), int(np.isinf(rest).sum())
    return replace(errors, nan=errors.nan + nan, inf=errors.inf + inf, elements=int(want.size))


def marked(reference: Array) -> NDArray[np.float64]:
    """A reference as float64, contiguous, with UNJUDGED where it is masked."""
    values = np.ascontiguousarray(np.ma.getdata(reference), np.float64)
    if not np.ma.isMaskedArray(reference):
        return values
    bits = np.where(np.ma.getmaskarray(reference), np.uint64(UNJUDGED), values.view(np.uint64))
    return bits.view(np.float64)


def _compare(got: NDArray[np.float64], want: NDArray[np.float64], limit: float, counted: NDArray[np.bool_]) -> Errors:
    nan = (np.isnan(got) != np.isnan(want)) & counted
    inf = (np.isinf(got) | np.isinf(want)) & (got != want) & ~np.isnan(got) & ~np.isnan(want)
    agreed = ~np.isfinite(want) & ~nan & ~inf & counted
    return _figures(np.where(agreed, 0.0, got), np.where(agreed, 0.0, want), limit, int(nan.sum()), int(inf.sum()))


def worst(errors: Iterable[Errors]) -> Errors:
    """All outputs of a case as one: the worst figure, counts added. A NaN figure is the worst of all."""
    found = list(errors)
    if not found:
        raise ValueError("no output was compared")
    merged: dict[str, Any] = {name: sum(getattr(e, name) for e in found) for name in ("nan", "inf", "unwritten", "outside", "elements")}
    merged |= {name: float(np.max([getattr(e, name) for e in found])) for name in ("rel_l2", "nmse", "max_abs")}
    return Errors(**merged, cosine=float(np.min([e.cosine for e in found])))


def complaint(errors: Errors, limit: float) -> str:
    """Why an output fails, empty if it passes."""
    counts = [(errors.unwritten, "unwritten"), (errors.nan, "NaN"), (errors.inf, "infinite")]
    bad = [f"{count} of {errors.elements} elements {what}" for count, what in counts if count]
    if not bad and not errors.rel_l2 <= limit:
        bad = [f"relative L2 error {errors.rel_l2:.2e} is above the limit {limit:.2e}"]
    return ", ".join(bad)


def limit_of(figures: Sequence[float], dtype: Dtype) -> float:
    """The limit from the plain implementation's errors; never 0, even where plain is exact."""
    if not all(math.isfinite(figure) for figure in figures):
        raise ValueError("the plain implementation's error is not finite, so it gives no limit")
    return max(MARGIN * max(figures, default=0.0), _ROUNDOFF.get(dtype, 2.0**-24))


def head_limit(limit: float, base_error: float | None) -> float:
    """Head's own limit: also at most 3 times base's error, but never less than a tenth of the limit."""
    if base_error is None or not math.isfinite(base_error):
        return limit
    return min(limit, max(BASE_MARGIN * base_error, BASE_SHARE * limit))


def calibrate(case: Mapping[str, Any], buffers: Sequence[Buffer], plain: Reference, reference: Reference, seeds: int = SEEDS) -> float:
    """The case's limit: 4 times the worst relative L2 of `plain` over `seeds` seeds and all outputs."""
    outputs = [buffer for buffer in buffers if buffer.role in (Role.OUT, Role.INOUT)]
    figures = []
    for seed in range(seeds):
        storage = draw_all(buffers, seed)
        got, want = plain(case, views(buffers, storage)), reference(case, views(buffers, storage))
        figures.append(worst(compare(got[buffer.name], want[buffer.name]) for buffer in outputs).rel_l2)
    return limit_of(figures, max((buffer.dtype for buffer in outputs), key=lambda dtype: _ROUNDOFF.get(dtype, 0.0)))


def _unwritten(dtype: Dtype, raw: Array) -> NDArray[np.bool_]:
    """Elements that still hold the poison, bit for bit."""
    width = dtype.bytes
    pattern = int.from_bytes(POISON.to_bytes(2, "little") * (width // 2), "little")
    bits = np.ascontiguousarray(raw).view(f"<u{width}")
    return np.asarray(bits == pattern)


def _figures(got: NDArray[np.float64], want: NDArray[np.float64], limit: float, nan: int, inf: int) -> Errors:
    """The figures over all elements, once those where both agree on not being finite are out."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        off = np.abs(got - want)
        square, norm = float(np.sum(off * off)), float(np.sum(want * want))
        scale = math.sqrt(norm / want.size) if want.size else 0.0
        outside = int(np.count_nonzero(~(off <= 10 * limit * (scale + np.abs(want))))) if math.isfinite(limit) else 0
        nmse = square / norm if norm > 0 else (0.0 if square == 0 else math.inf if square > 0 else math.nan)
        product = float(np.sqrt(np.sum(got * got)) * math.sqrt(norm))
        cosine = float(nmse == 0) if product == 0 else float(np.sum(got * want)) / product
        most = float(np.max(off)) if off.size else 0.0
    return Errors(_root(nmse), nmse, most, cosine, nan, inf, 0, outside, int(want.size))


def _root(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan

"""Edges of gemm, each with its role and dtype: sizes around the tiles', arguments at their limits, batches of every kind."""

from __future__ import annotations

from collections.abc import Iterator

TILE_M, TILE_N, TILE_K = 64, 32, 16
AROUND = (0, 1, 3, 4, 5, 15, 16, 17, 31, 32, 33, 61, 63, 64, 65, 127, 128, 129)
SCALES = (0, 1, -1, 2.5)
OPS = ("nt", "nn", "tn", "tt")
HALF = ("f16", "f16-f32")
MORE_THAN_A_GRID = 65537

# Sizes a little off multiples of tiles, each M with each N of them, K and beta in turn
OFF_M = (8, 56, 120, 136, 256, 264, 512, 520, 1024, 1032, 4096, 8192, 16384)
OFF_K = (8, 16, 32, 64, 128, 256, 288, 384, 504, 512, 520)
OFF_BETA = (0, 1, 2)
MOST_OUTPUTS = 1 << 22

Edge = tuple[str, str, dict]


def edges() -> list[Edge]:
    """(role, dtype, shape), each once."""
    found = {repr(edge): edge for part in (_tails, _strides, _ops, _scales, _batches, _halves, _blocks, _off) for edge in part()}
    return list(found.values())


def _tails() -> Iterator[Edge]:
    """One axis at a time around the tile's size, then all three together."""
    yield from (("tail", "f32", {"m": size, "n": TILE_N, "k": TILE_K}) for size in AROUND)
    yield from (("tail", "f32", {"m": TILE_M, "n": size, "k": TILE_K}) for size in AROUND if size != TILE_N)
    yield from (("tail", "f32", {"m": TILE_M, "n": TILE_N, "k": size}) for size in (*AROUND, 1021) if size != TILE_K)
    yield from (("tail", "f32", {"m": m, "n": n, "k": k}) for m in (1, 65, 97) for n in (1, 33, 97) for k in (1, 17, 97))


def _strides() -> Iterator[Edge]:
    """Rows and bases off the alignment of a load of four, NaN between the rows."""
    for pad, offset in ((p, o) for p in (0, 1, 4) for o in (0, 1, 4) if p or o):
        yield "tail", "f32", {"m": 65, "n": 33, "k": 64, "pad": pad, "offset": offset}
        yield "few", "f32", {"m": 7, "n": 70, "k": 264, "pad": pad, "offset": offset}
        yield "tail", "f16", {"m": 65, "n": 33, "k": 64, "pad": pad, "offset": offset}


def _ops() -> Iterator[Edge]:
    """Each order of both factors, in sizes that are and are not multiples of four, short and tall."""
    for ops in OPS:
        for m, n, k in ((64, 32, 64), (65, 33, 67), (3, 40, 100)):
            yield "ops", "f32", {"m": m, "n": n, "k": k, "ops": ops}
            yield "ops", "f16", {"m": m, "n": n, "k": k, "ops": ops, "pad": 1}


def _scales() -> Iterator[Edge]:
    """alpha and beta; with beta 0 the C of before is NaN, with K 0 or alpha 0 neither A nor W may be read."""
    for alpha, beta in ((a, b) for a in SCALES for b in SCALES):
        scaled = {"alpha": alpha, "beta": beta}
        yield "scale", "f32", {"m": 66, "n": 34, "k": 68} | scaled
        yield "scale", "f16", {"m": 9, "n": 40, "k": 300} | scaled
    yield from (("scale", "f32", {"m": 33, "n": 17, "k": 0, "beta": beta}) for beta in SCALES)
    yield from (("scale", "f32", {"m": 5, "n": 17, "k": 0, "beta": beta}) for beta in SCALES)
    yield "scale", "f32", {"m": 32, "n": 32, "k": 8192, "alpha": 2.5, "beta": -1}


def _batches() -> Iterator[Edge]:
    """Batches at a stride, of one matrix (stride 0), beyond the grid; lists of addresses that name a matrix more than once."""
    small = {"m": 17, "n": 9, "k": 20}
    for batch in (0, 1, 33):
        yield "batch", "f32", small | {"batch": batch}
        yield "batch", "f32", {"m": 2, "n": 40, "k": 260, "batch": batch, "gap": 8}
        yield "list", "f32", small | {"batch": batch, "distinct": 3, "beta": 1}
    for ops in OPS:
        yield "batch", "f16", {"m": 36, "n": 20, "k": 64, "ops": ops, "batch": 3, "broadcast": "W", "gap": 1}
    yield "batch", "f32", small | {"batch": 4, "broadcast": "A"}
    yield "batch", "f32", small | {"batch": 4, "broadcast": "AW"}
    yield "batch", "f32", {"m": 2, "n": 33, "k": 4, "batch": MORE_THAN_A_GRID}
    yield "batch", "f32", {"m": 17, "n": 4, "k": 4, "batch": MORE_THAN_A_GRID}
    # One KV head's keys, then values, with the queries of eight heads: products of attention with a GQA ratio of 8.
    yield "batch", "f16-f32", {"m": 75, "n": 113, "k": 64, "batch": 8, "broadcast": "W"}
    yield "batch", "f16-f32", {"m": 75, "n": 64, "k": 113, "ops": "nn", "batch": 8, "broadcast": "W"}


def _halves() -> Iterator[Edge]:
    """fp16 into both outputs; a row of A so large that some of C's elements overflow an fp16 and some do not."""
    for dtype in HALF:
        yield from (("tail", dtype, {"m": m, "n": n, "k": k}) for m in (1, 16, 65) for n in (33, 64) for k in (17, 64, 260))
        yield "overflow", dtype, {"m": 40, "n": 64, "k": 256, "outlier": 8192.0}
        yield "overflow", dtype, {"m": 5, "n": 64, "k": 256, "outlier": 8192.0}


def _blocks() -> Iterator[Edge]:
    """Q4_0: one block and more, rows of blocks with padding, every height of the few-rows path and beyond it."""
    for m in (1, 2, 4, 5, 16, 17, 33, 65):
        yield from (("tail", "q4_0", {"m": m, "n": n, "k": k}) for n in (65, 96) for k in (32, 96, 288))
    yield "tail", "q4_0", {"m": 40, "n": 65, "k": 64, "pad": 1, "offset": 1}
    yield "tail", "q4_0", {"m": 3, "n": 65, "k": 64, "pad": 1, "offset": 1}
    yield "batch", "q4_0", {"m": 20, "n": 40, "k": 64, "batch": 3, "gap": 1, "alpha": 2.5, "beta": 1}


def _off() -> Iterator[Edge]:
    pairs = [(m, n) for m in OFF_M for n in OFF_M if m * n <= MOST_OUTPUTS]
    for turn, (m, n) in enumerate(pairs):
        yield "sweep", "f32", {"m": m, "n": n, "k": OFF_K[turn % len(OFF_K)], "beta": OFF_BETA[turn % len(OFF_BETA)]}

"""How fa_tile is built and launched: columns per block, the tuning row, and over how many blocks the KV rows are split."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

from .layout import BUFFERED, Layout
from .occupancy import declared, resident_blocks
from .tables import Row, table

Json = dict[str, Any]

LOG2_E = 1.4426950408889634
NONE, BUFFER, CAUSAL, WINDOW = range(4)  # KG_MASK
PACKED_HEADS = (16, 8, 4, 2, 1)
SPLITS = (1, 2, 4, 8, 16)
AUTO = 0
LEAST_TILES = 2  # of a split: with fewer, combining costs more than it gains
MOST_SPLITS = 64
COMBINE_THREADS = 64


def tunables(case: Json, device: Json) -> Json:
    """kv_splits: 0 lets the plan fill the card."""
    return {"kv_splits": [AUTO, *SPLITS]}


def builds(case: Json, device: Json, tunables: Json) -> Json:
    lay = Layout.of(case)
    columns, row = tuning(lay, device)
    threads, _, rows, stage = row
    defines = {
        "KG_D": lay.d, "KG_DV": lay.dv, "KG_COLS": columns, "KG_HEADS": packed(lay, device), "KG_ROWS": rows, "KG_STAGE": stage,
        "KG_KV": int(lay.kv == "f16"), "KG_HALF": int(half(lay, device)), "KG_ALIGNED": int(aligned(lay, device)),
        "KG_MASK": _mask(lay), "KG_SOFTCAP": int(lay.softcap > 0), "KG_ALIBI": int(lay.alibi > 0), "KG_SINKS": int(lay.sinks),
    }  # fmt: skip
    build = {"source": "fa_tile.cu", "defines": defines, "options": [], "block": threads,
             "blocks_per_unit": declared(device, row[1], shared_bytes(lay, device, columns, row))}  # fmt: skip
    return {"fa_tile": build, "combine": {"source": "combine.cu", "block": COMBINE_THREADS}}


def launches(case: Json, device: Json, tunables: Json, resources: Json) -> Json:
    lay = Layout.of(case)
    columns, (threads, _, rows, _) = tuning(lay, device)
    heads, tokens = packed(lay, device), columns // packed(lay, device)
    query_tiles = ceil(lay.n_q / tokens)
    blocks = query_tiles * lay.sequences * lay.heads // heads
    tiles = most_tiles(lay, tokens, rows)
    resident = resident_blocks(device, threads, resources["fa_tile"]["fa_tile"])
    per_split = ceil(tiles / wanted_splits(int(tunables["kv_splits"]), tiles, blocks, resident))
    splits = ceil(tiles / per_split)
    main = {"build": "fa_tile", "kernel": "fa_tile", "grid": [blocks, splits, 1], "block": [threads, 1, 1],
            "dynamic_shared": 0, "phase": "run", "args": _arguments(lay, splits, per_split, query_tiles)}  # fmt: skip
    tables = {"steps": {"dtype": "i64", "values": _steps(lay)[1]}}
    if splits == 1:
        return {"scratch": {}, "tables": tables, "launches": [main]}
    queries = _queries(lay)
    arguments = [{"scratch": "parts"}, {"scratch": "stats"}, {"buffer": "o"}, {"i32": lay.dv}, {"i32": splits}]
    combine = {"build": "combine", "kernel": "fa_combine", "grid": [queries, 1, 1], "block": [COMBINE_THREADS, 1, 1],
               "dynamic_shared": 0, "phase": "run", "args": arguments}  # fmt: skip
    floats = {"parts": splits * queries * lay.dv, "stats": splits * queries * 2}
    scratch = {name: {"bytes": 4 * count, "align": 256, "init": "none"} for name, count in floats.items()}
    return {"scratch": scratch, "tables": tables, "launches": [main, combine]}


def _arguments(lay: Layout, splits: int, per_split: int, query_tiles: int) -> list[Json]:
    counts = [lay.n_q, lay.n_kv, lay.kv_heads, lay.ratio, lay.window, lay.slopes, query_tiles, per_split]
    scale, cap = LOG2_E / sqrt(lay.d), 0.0
    if lay.softcap:
        scale, cap = 1 / (sqrt(lay.d) * lay.softcap), LOG2_E * lay.softcap
    return [
        *_tensors(lay, splits), {"table": "steps"}, *({"i64": value} for value in _steps(lay)[0]), {"i64": _queries(lay)},
        *({"i32": value} for value in counts), {"f32": scale}, {"f32": cap}, {"f32": lay.alibi / lay.slopes},
    ]  # fmt: skip


def _queries(lay: Layout) -> int:
    """Rows of O, each with a softmax of its own."""
    return lay.sequences * lay.heads * lay.n_q


def _steps(lay: Layout) -> tuple[list[int], list[int]]:
    """Elements from KV row to KV row of K, V and mask; and the kernel's table of all other steps."""
    (qs, qh, qt, _), (ks, kh, kr, _), (vs, vh, vr, _) = (
        lay.strides(s) for s in (lay.query, lay.keys, lay.keys if lay.v_in_k else lay.values)
    )
    mask_row, mask_sequence = (lay.n_kv, lay.n_q * lay.n_kv) if lay.mask in BUFFERED else (0, 0)
    return [kr, vr, mask_row], [qt, qh, qs, kh, ks, vh, vs, mask_sequence]


def _tensors(lay: Layout, splits: int) -> list[Json]:
    width = 2 if lay.kv == "f16" else 4
    places = {"q": 4 * lay.start("q"), "k": width * lay.start("k"), "v": width * lay.start("v")}
    found: list[Json] = [{"buffer": name, "byte_offset": at} for name, at in places.items()]
    if lay.v_in_k:
        found[2] = found[1]
    unused: Json = {"i64": 0}
    found += [{"buffer": "mask"} if lay.mask in BUFFERED else unused, {"buffer": "sinks"} if lay.sinks else unused, {"buffer": "o"}]
    return [*found, *([{"scratch": "parts"}, {"scratch": "stats"}] if splits > 1 else [unused, unused])]


def _mask(lay: Layout) -> int:
    if lay.mask == "causal":
        return WINDOW if lay.window else CAUSAL
    return BUFFER if lay.mask in BUFFERED else NONE


def packed(lay: Layout, device: Json) -> int:
    """Query heads of a block: as many as share a KV head, in a power of two that divides them and that the columns hold."""
    most = max(table(device["target"], half(lay, device))[lay.d])
    return next(heads for heads in PACKED_HEADS if lay.ratio % heads == 0 and heads <= most)


def half(lay: Layout, device: Json) -> bool:
    """Whether the tiles are fp16: only where that is both exact for K and V, and fast. The emulator does as most cards do."""
    return lay.kv == "f16" and (bool(device["fast_fp16"]) or device["target"] == "host")


def tuning(lay: Layout, device: Json) -> tuple[int, Row]:
    """The fewest columns of the table that hold all queries of a KV head group, or the most there are."""
    rows = table(device["target"], half(lay, device))[lay.d]
    heads = packed(lay, device)
    wanted = lay.n_q * heads
    columns = min((c for c in rows if c >= max(wanted, heads)), default=max(rows))
    return columns, rows[columns]


def aligned(lay: Layout, device: Json) -> bool:
    """Whether every K and V row starts on a copy unit."""
    width = 2 if lay.kv == "f16" else 4
    places = [lay.start("k"), *lay.strides(lay.keys)[:3]]
    places += [] if lay.v_in_k else [lay.start("v"), *lay.strides(lay.values)[:3]]
    return all(place * width % device["copy_bytes"] == 0 for place in places)


def most_tiles(lay: Layout, tokens: int, rows: int) -> int:
    """KV tiles that the block sees that sees most; under a window no block sees many."""
    if not lay.window:
        return max(1, ceil(lay.n_kv / rows))
    seen = ((lay.seen(start)[0], lay.seen(min(start + tokens, lay.n_q) - 1)[1]) for start in range(0, lay.n_q, tokens))
    return max(1, *(ceil(last / rows) - first // rows for first, last in seen))


def shared_bytes(lay: Layout, device: Json, columns: int, row: Row) -> int:
    """Static shared memory of a block (formula: fa_tile.cu)."""
    width = 2 if half(lay, device) else 4
    threads, _, rows, stage = row
    vector, warps = 16 // width, threads // 32
    parts = max(1, warps // columns)
    tile_rows = rows
    while tile_rows > parts * vector and tile_rows * lay.dv > rows * pitch(stage, vector):
        tile_rows //= 2
    merged = warps * (lay.dv + 2) * 4 // width if parts > 1 else 0
    elements = columns * lay.d + max(rows * pitch(stage, vector), tile_rows * lay.dv, merged) + columns * rows
    return ceil(width * elements / 16) * 16


def pitch(stage: int, vector: int) -> int:
    """Elements between staged K rows: an odd number of vectors."""
    return (stage // vector | 1) * vector


def wanted_splits(asked: int, tiles: int, blocks: int, resident: int) -> int:
    """The cheapest number of KV splits of `tiles` tiles for `blocks` blocks, `resident` of which the card holds at once.

    Cost, in tiles: waves of blocks, times the tiles of a split, one for its queries, and one for parts and combining.
    """
    if asked != AUTO:
        return min(asked, tiles)
    most = max(1, min(tiles // LEAST_TILES, MOST_SPLITS))
    return min(range(1, most + 1), key=lambda splits: ceil(blocks * splits / resident) * (ceil(tiles / splits) + 1 + (splits > 1)))

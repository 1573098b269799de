"""How la_prefill and la_decode are built and launched: dk-split, columns per block, chunk length.

To tune: `dk_split` trades registers per lane (dk / split of the state) against lanes per column; THREADS and CHUNKS
set how much of a head one block takes. No number here depends on anything but case and device.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

from .layout import Layout

Json = dict[str, Any]

CHUNKS = (16, 8, 4)
THREADS = 128
SPLITS = (1, 2, 4, 8)
# Rows of the state a lane can keep on a GPU without a spill; decode unrolls all its loads, which need registers too.
MOST_ROWS = {"la_prefill": 128, "la_decode": 64}
TENSOR = {"f32": 0, "f16": 1, "bf16": 2}
WIDTH = {"f32": 4, "f16": 2, "bf16": 2}


def tunables(case: Json, device: Json) -> Json:
    legal = _legal(case, device)
    default = 4 if device["target"] != "host" and 4 in legal else legal[0]
    return {"dk_split": [default, *(split for split in legal if split != default)]}


def builds(case: Json, device: Json, tunables: Json) -> Json:
    lay, kernel = Layout.of(case), case["kernel"]
    split = _split(case, device, tunables)
    columns = _columns(lay, split)
    defines = {"KG_DK": lay.dk, "KG_DV": lay.dv, "KG_SPLIT": split, "KG_COLUMNS": columns, "KG_TENSOR": TENSOR[case["dtype"]]}
    if kernel == "la_prefill":
        defines["KG_CHUNK"] = _chunk(lay.dk, split, columns, device)
    # Registers are what a lane's share of the state costs: room for two blocks only where the share is small.
    half = device["shared_per_unit"] // 2 - device["shared_reserved_per_block"] - device["shared_granule"]
    build = {"source": f"{kernel}.cu", "defines": defines, "options": [], "block": columns * split,
             "blocks_per_unit": 2 if split >= 4 and shared_bytes(kernel, defines) <= half else 1}  # fmt: skip
    return {kernel: build}


def shared_bytes(kernel: str, defines: Json) -> int:
    """Static shared memory of a block: decode's k and q; a chunk's K and Q with padded rows, T, P, U, O and decays."""
    if kernel == "la_decode":
        return 8 * defines["KG_DK"]
    return _chunk_bytes(defines["KG_CHUNK"], defines["KG_DK"], defines["KG_SPLIT"], defines["KG_COLUMNS"])


def launches(case: Json, device: Json, tunables: Json, resources: Json) -> Json:
    lay, kernel = Layout.of(case), case["kernel"]
    build = builds(case, device, tunables)[kernel]
    grid = [lay.sequences, lay.v_heads, ceil(lay.dv / build["defines"]["KG_COLUMNS"])]
    launch = {"build": kernel, "kernel": kernel, "grid": grid, "block": [build["block"], 1, 1], "dynamic_shared": 0,
              "phase": "run", "args": _arguments(case, lay)}  # fmt: skip
    return {"scratch": {}, "tables": {}, "launches": [launch]}


def _arguments(case: Json, lay: Layout) -> list[Json]:
    width = WIDTH[case["dtype"]]
    tensors: list[Json] = [{"buffer": name, "byte_offset": lay.offset(name) * width} for name in ("q", "k", "v")]
    state: Json = {"buffer": "s0"} if lay.initial else {"i64": 0}
    starts: list[Json] = [{"buffer": "starts"}] if case["kernel"] == "la_prefill" else []
    strides: list[Json] = [{"i64": lay.k_stride}, {"i64": lay.k_stride}, {"i64": lay.v_stride}]
    heads: list[Json] = [{"i32": lay.k_heads}, {"i32": lay.v_heads}, {"i32": int(lay.tiled)}]
    return [*tensors, {"buffer": "g"}, {"buffer": "beta"}, state, {"buffer": "o"}, {"buffer": "s1"}, *starts,
            *strides, *heads, {"f32": 1 / sqrt(lay.dk)}]  # fmt: skip


def _chunk(dk: int, split: int, columns: int, device: Json) -> int:
    """Tokens per chunk: the most whose tiles fit one block's static shared memory."""
    return next((chunk for chunk in CHUNKS if _chunk_bytes(chunk, dk, split, columns) <= device["shared_per_block"]), CHUNKS[-1])


def _chunk_bytes(chunk: int, dk: int, split: int, columns: int) -> int:
    """Rows of K and Q padded by a piece, or to an odd length; rows of U and O an odd number of a warp's columns long."""
    pitch, warp = dk + 4 if dk % (4 * split) == 0 else dk | 1, 32 // split
    used = 8 * chunk * (pitch + chunk + (columns // warp | 1) * warp) + 16 * chunk
    return -(-used // 16) * 16


def _legal(case: Json, device: Json) -> list[int]:
    """Splits that divide dk evenly and leave a lane no more rows than it can keep (the emulator keeps any number)."""
    dk = Layout.of(case).dk
    even = [split for split in SPLITS if dk % split == 0]
    if device["target"] == "host":
        return even
    return [split for split in even if dk // split <= MOST_ROWS[case["kernel"]]] or even[-1:]


def _split(case: Json, device: Json, tunables: Json) -> int:
    """The asked dk-split, or the smallest legal one where the shape can't satisfy it."""
    legal = _legal(case, device)
    split = int(tunables.get("dk_split", legal[0]))
    return split if split in legal else legal[0]


def _columns(lay: Layout, split: int) -> int:
    """Columns per block: THREADS lanes of them, no more than the head has, whole warps."""
    warp = 32 // split
    return min(THREADS // split, ceil(lay.dv / warp) * warp)

"""How la_prefill and la_decode are built and launched: columns per block, chunk length, and decode's dk-split.

To tune: THREADS and CHUNKS set how much of a head one block takes; `dk_split` trades decode's registers per lane
against lanes per column. No number here depends on anything but case and device.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

from .layout import Layout

Json = dict[str, Any]

CHUNKS = (32, 16, 8, 4)
THREADS = 128
SPLITS = (1, 2, 4, 8)
MOST_ROWS = 64
TENSOR = {"f32": 0, "f16": 1, "bf16": 2}
WIDTH = {"f32": 4, "f16": 2, "bf16": 2}


def tunables(case: Json, device: Json) -> Json:
    if case["kernel"] == "la_prefill":
        return {}
    legal = _legal(case, device)
    default = 4 if device["target"] != "host" and 4 in legal else legal[0]
    return {"dk_split": [default, *(split for split in legal if split != default)]}


def builds(case: Json, device: Json, tunables: Json) -> Json:
    lay = Layout.of(case)
    split = 1 if case["kernel"] == "la_prefill" else _split(case, device, tunables)
    columns = _columns(lay, split)
    defines = {"KG_DK": lay.dk, "KG_DV": lay.dv, "KG_COLUMNS": columns, "KG_TENSOR": TENSOR[case["dtype"]]}
    defines |= {"KG_CHUNK": _chunk(lay.dk, device)} if case["kernel"] == "la_prefill" else {"KG_SPLIT": split}
    # Registers are what a lane's share of the state costs: room for two blocks only where the share is small.
    build = {"source": f"{case['kernel']}.cu", "defines": defines, "options": [], "block": columns * split,
             "blocks_per_unit": 2 if split >= 4 else 1}  # fmt: skip
    return {case["kernel"]: build}


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


def _chunk(dk: int, device: Json) -> int:
    """Tokens per chunk: the most whose K, Q and products fit one block's static shared memory."""
    fitting = (chunk for chunk in CHUNKS if 8 * chunk * (dk + chunk + 1) <= device["shared_per_block"])
    return next(fitting, CHUNKS[-1])


def _legal(case: Json, device: Json) -> list[int]:
    """Splits that divide dk evenly. Decode unrolls all its loads, so on a GPU a lane keeps at most MOST_ROWS rows there."""
    dk = Layout.of(case).dk
    roomy = device["target"] == "host" or case["kernel"] == "la_prefill"
    return [split for split in SPLITS if dk % split == 0 and (roomy or dk // split <= MOST_ROWS)] or [1]


def _split(case: Json, device: Json, tunables: Json) -> int:
    """The asked dk-split, or the smallest legal one (1 but for decode) where the shape can't satisfy it."""
    legal = _legal(case, device)
    split = int(tunables.get("dk_split", legal[0]))
    return split if split in legal else legal[0]


def _columns(lay: Layout, split: int) -> int:
    """Columns per block: THREADS lanes of them, no more than the head has, whole warps."""
    warp = 32 // split
    return min(THREADS // split, ceil(lay.dv / warp) * warp)

"""Launch plan of gemm: which kernel and which tile for which shape on which card, and into how many splits K goes.

Up to 16 rows with both operands contiguous along K take few.cu, all else gemm.cu. Where the blocks would leave the card
idle, K is split and sum.cu adds the splits up. To tune: tables.py.
"""

from __future__ import annotations

from .layout import NAMES, QUANT, Layout
from .tables import (
    BLOCKS_PER_UNIT,
    FEW_COLUMNS,
    FEW_ROWS,
    FEW_THREADS,
    LEAST_DEPTH,
    MOST_FEW,
    QUANT_ROWS,
    QUANT_TILE,
    SMALLEST,
    SPLITS,
    TILES,
    Tile,
    rows,
)

PAD = 4  # units after each row of a tile in shared memory
CHUNK = 256  # columns of A that few.cu holds at once
KINDS = {"f32": 0, "f16": 1, "q4_0": 2}
OTHER_REGISTERS = {4: 56, 1: 88}  # of a thread by load width, besides sums, operands and loads in flight: addresses, bounds
SUM_THREADS = 256
MOST_PARTS = 1 << 28  # bytes of splits that a sweep may ask for
HOST_BLOCKS = 8  # the emulator's grid is no wider, so that a smoke case walks its tiles in strides, as others do beyond MOST_THREADS
MOST_THREADS = (1 << 31) - 1  # of a grid: HIP counts threads in 32 bits, CUDA blocks in 31


def tunables(case: dict, device: dict) -> dict:
    """Default first, then every other legal value; each combination fits every card. splits: 0 lets the plan fill the card."""
    lay = Layout.of(case)
    legal = {"splits": (0, *(s for s in SPLITS if s == 1 or s * part_bytes(lay) <= MOST_PARTS))}
    if few(lay):
        return {"columns": list(FEW_COLUMNS)} | {"splits": list(legal["splits"])}
    chosen, others = row(case, device), [name for name, tile in TILES.items() if tile.bk % (QUANT if quant(lay) else 1) == 0]
    dot2 = device["dot2"] or device["target"] == "host"
    pairs = ([1, 0] if dot2 else [0, 1]) if can_pair(lay) else [0]
    return {"tile": [chosen, *(name for name in others if name != chosen)], "splits": list(legal["splits"]), "pairs": pairs}


def builds(case: dict, device: dict, tunables: dict) -> dict:
    """The product's code object, and that of the sum where K is split."""
    lay = Layout.of(case)
    kinds = {f"KG_{name}": KINDS[kind] for name, kind in zip(NAMES, lay.kinds, strict=True)}
    made = {"few": _few_build(lay, device, tunables)} if few(lay) else {"tile": _tile_build(lay, device, tunables)}
    if splits(lay, device, tunables) > 1:
        made["sum"] = {"source": "sum.cu", "block": SUM_THREADS}
    for build in made.values():
        build["defines"] = kinds | build.get("defines", {})
        build["options"] = ["fp-contract=fast"]
    return {"builds": made}


def launches(case: dict, device: dict, tunables: dict, resources: dict) -> dict:
    """The product, then the sum of the splits. With no batch or an empty C nothing is done, by one block."""
    lay, name = Layout.of(case), "few" if few(Layout.of(case)) else "tile"
    count = splits(lay, device, tunables)
    build = builds(case, device, tunables)["builds"][name]
    wide = grid_width(blocks(lay, tunables) * lay.batch, build["block"], device)
    shared = shared_bytes(TILES[tunables["tile"]], bool(tunables["pairs"])) if name == "tile" else 0
    product = {"build": name, "kernel": "gemm_few" if name == "few" else "gemm", "grid": [wide, count, 1],
               "block": [build["block"], 1, 1], "dynamic_shared": shared, "args": _arguments(lay, tunables, count)}  # fmt: skip
    tables = {f"{name}_list": _table(lay, name) for name in NAMES} if lay.distinct else {}
    if count == 1:
        return {"launches": [product], "tables": tables}
    parts = {"parts": {"bytes": count * part_bytes(lay), "align": 256, "init": "none"}}
    return {"launches": [product, _sum(lay, device, count)], "tables": tables, "scratch": parts}


def few(lay: Layout) -> bool:
    """Whether the few-rows path takes the case."""
    return lay.ops == "nt" and 0 < lay.m <= MOST_FEW and lay.n > 0


def quant(lay: Layout) -> bool:
    return lay.kinds[1] == "q4_0"


def can_pair(lay: Layout) -> bool:
    """Whether halves lie two by two along K in both operands, at addresses that allow it."""
    return lay.kinds[:2] == ("f16", "f16") and lay.ops == "nt" and vector(lay) == 4


def vector(lay: Layout) -> int:
    """Elements per load: 4 if every row of A and W starts on four elements and ends on them. Q4_0 blocks are loaded by quarters."""
    matrices = [m for m in lay.matrices[:2] if m.dtype != "q4_0"]
    return 4 if all(size % 4 == 0 for m in matrices for size in (m.columns, m.row, m.batch, m.offset)) else 1


def row(case: dict, device: dict) -> str:
    """The tile of a case on a card: by the outputs there are for each unit; no taller or wider than C needs."""
    lay = Layout.of(case)
    outputs = lay.m * lay.n * lay.batch
    name = next(name for most, name in rows(device["target"]) if outputs <= most * device["units"])
    if device["target"] != "host" and (lay.m <= 32 or lay.n <= 32):
        return SMALLEST
    if quant(lay) and name != SMALLEST:
        return QUANT_ROWS.get(device["target"], QUANT_TILE)
    return name


def grid_width(items: int, block: int, device: dict) -> int:
    """Blocks for so many tiles: at least the one that finds nothing to do, at most what a grid holds."""
    return max(1, min(items, HOST_BLOCKS if device["target"] == "host" else MOST_THREADS // block))


def blocks(lay: Layout, tunables: dict) -> int:
    """Tiles (or groups of columns) of one batch."""
    if few(lay):
        return -(-lay.n // (FEW_THREADS // 32 * tunables["columns"]))
    tile = TILES[tunables["tile"]]
    return -(-lay.m // tile.bm) * -(-lay.n // tile.bn)


def splits(lay: Layout, device: dict, tunables: dict) -> int:
    """Splits of K that have something to do: as many as asked for, or as fill the card without getting too short."""
    asked, step = tunables["splits"], _step(lay, tunables)
    if lay.empty or depth_of(lay) == 0:
        return 1
    if not asked:
        missing = device["units"] * BLOCKS_PER_UNIT["few" if few(lay) else "tile"] / (blocks(lay, tunables) * lay.batch)
        fitting = [s for s in SPLITS if s * LEAST_DEPTH <= lay.k and s * part_bytes(lay) <= MOST_PARTS]
        asked = next((s for s in fitting if s >= missing), max(fitting, default=1))
    return -(-lay.k // (_up(-(-lay.k // asked), step)))


def depth_of(lay: Layout) -> int:
    """K as the kernels see it: with alpha 0 neither A nor W is read."""
    return lay.k if lay.alpha else 0


def part_bytes(lay: Layout) -> int:
    """Sums of one split."""
    return 4 * lay.batch * lay.m * lay.n


def shared_bytes(tile: Tile, pairs: bool) -> int:
    """Both pieces of one step along K, padded (formula: gemm.cu)."""
    return 4 * (tile.bk // 2 if pairs else tile.bk) * (tile.bm + PAD + tile.bn + PAD)


def _tile_build(lay: Layout, device: dict, tunables: dict) -> dict:
    tile, pairs, wide = TILES[tunables["tile"]], tunables["pairs"], vector(lay)
    defines = {
        "KG_BM": tile.bm, "KG_BN": tile.bn, "KG_BK": tile.bk, "KG_TM": tile.tm, "KG_TN": tile.tn, "KG_LM": tile.lanes_m,
        "KG_TA": int(lay.ops[0] == "t"), "KG_TW": int(lay.ops[1] == "n"), "KG_PAIRS": pairs, "KG_VECTOR": wide,
    }  # fmt: skip
    registers = tile.tm * tile.tn + tile.tm + tile.tn + in_flight(tile, pairs, wide) + OTHER_REGISTERS[wide]
    fit = _fitting(device, tile.threads, registers, shared_bytes(tile, bool(pairs)))
    return {"source": "gemm.cu", "block": tile.threads, "blocks_per_unit": fit, "defines": defines}


def in_flight(tile: Tile, pairs: int, wide: int) -> int:
    """Registers of a thread that hold the next step; a load of its own for each element needs an address too."""
    elements = -(-(tile.bm + tile.bn) * tile.bk // tile.threads)
    return elements // 2 if pairs else elements * (2 if wide == 1 else 1)


def _few_build(lay: Layout, device: dict, tunables: dict) -> dict:
    height, columns, wide = next(r for r in FEW_ROWS if r >= lay.m), tunables["columns"], vector(lay)
    defines = {"KG_ROWS": height, "KG_COLUMNS": columns, "KG_VECTOR": wide}
    registers = height * columns + 8 * columns + 8 + OTHER_REGISTERS[wide]
    fit = _fitting(device, FEW_THREADS, registers, 4 * height * CHUNK)
    return {"source": "few.cu", "block": FEW_THREADS, "blocks_per_unit": fit, "defines": defines}


def _fitting(device: dict, threads: int, registers: int, shared: int) -> int:
    """Blocks that fit one unit at once by shared memory, registers and waves: the launch bound we promise."""
    waves = -(-threads // device["wave"])
    waves_per_simd = min(device["waves_per_simd"], device["regs_per_simd"] // _up(registers, device["reg_granule"]))
    footprint = _up(shared + device["shared_reserved_per_block"], device["shared_granule"])
    fit = min(device["shared_per_unit"] // footprint, device["simds_per_unit"] * waves_per_simd // waves, device["blocks_per_unit"])
    return max(1, fit)


def _step(lay: Layout, tunables: dict) -> int:
    return CHUNK if few(lay) else TILES[tunables["tile"]].bk


def _arguments(lay: Layout, tunables: dict, count: int) -> list:
    a, w, c = lay.matrices
    k = depth_of(lay)
    depth = max(1, _up(-(-k // count), _step(lay, tunables)))
    wide = [a.row, w.row, c.row, a.batch, w.batch, c.batch]
    return [
        *(_operand(lay, name) for name in NAMES), {"scratch": "parts"} if count > 1 else {"i64": 0},
        *({"i32": value} for value in (lay.m, lay.n, k)), *({"i64": value} for value in wide),
        *({"i32": value} for value in (lay.batch, int(lay.distinct > 0), depth)), {"f32": lay.alpha}, {"f32": lay.beta},
    ]  # fmt: skip


def _sum(lay: Layout, device: dict, count: int) -> dict:
    c = lay.matrices[2]
    elements = lay.batch * lay.m * lay.n
    arguments = [
        {"scratch": "parts"}, _operand(lay, "C"), {"i32": lay.m}, {"i32": lay.n}, {"i64": c.row}, {"i64": c.batch},
        *({"i32": value} for value in (lay.batch, int(lay.distinct > 0), count)), {"f32": lay.alpha}, {"f32": lay.beta},
    ]  # fmt: skip
    wide = grid_width(-(-elements // SUM_THREADS), SUM_THREADS, device)
    return {"build": "sum", "kernel": "gemm_sum", "grid": [wide, 1, 1], "block": [SUM_THREADS, 1, 1], "args": arguments}


def _operand(lay: Layout, name: str) -> dict:
    matrix = lay.matrices[NAMES.index(name)]
    return {"table": f"{name}_list"} if lay.distinct else {"buffer": name, "byte_offset": matrix.offset * matrix.bytes}


def _table(lay: Layout, name: str) -> dict:
    """Addresses of the matrices of each batch."""
    matrix = lay.matrices[NAMES.index(name)]
    offsets = [(matrix.offset + pick * matrix.batch) * matrix.bytes for pick in lay.picks(name)]
    return {"dtype": "ptr", "of": name, "byte_offsets": offsets}


def _up(value: int, step: int) -> int:
    return -(-value // step) * step

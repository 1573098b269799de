"""Tuning tables of gemm: tiles by how much of C there is for each unit of the card, and the shape of the few-rows path.

A tile is named BMxBNxBK-TMxTN: the block's rows, columns and step along K, then a lane's rows and columns (gemm.cu).
To tune: change a row, or sweep `set=tile:…`, `set=columns:…`, `set=splits:…`; the tests compile each row for its card and refuse
spills. No card has run these rows yet: untuned.
"""

from __future__ import annotations

from dataclasses import dataclass

MANY = 1 << 62


@dataclass(frozen=True)
class Tile:
    """A block's tile, a lane's share of it, and how many lanes of a warp lie along M."""

    bm: int
    bn: int
    bk: int
    tm: int
    tn: int
    lanes_m: int

    @property
    def name(self) -> str:
        return f"{self.bm}x{self.bn}x{self.bk}-{self.tm}x{self.tn}"

    @property
    def threads(self) -> int:
        return self.bm // self.tm * (self.bn // self.tn)


TILES = {
    tile.name: tile
    for tile in (
        Tile(32, 32, 32, 4, 4, 4),
        Tile(32, 64, 32, 4, 4, 4),
        Tile(64, 32, 32, 8, 4, 8),
        Tile(64, 64, 16, 8, 4, 8),
        Tile(64, 64, 32, 8, 4, 8),
        Tile(128, 64, 16, 8, 8, 8),
        Tile(128, 64, 32, 8, 8, 8),
        Tile(128, 128, 8, 8, 8, 8),
        Tile(128, 128, 16, 8, 8, 8),
        Tile(64, 32, 32, 1, 32, 32),
        Tile(64, 8, 32, 1, 8, 32),
    )
}

# family -> (outputs of C per unit of the card up to, tile), the first row that fits
ROWS = {
    "gfx906": ((2000, "32x32x32-4x4"), (16000, "64x64x16-8x4"), (MANY, "128x64x16-8x8")),
    "gfx10": ((4000, "32x32x32-4x4"), (24000, "64x64x16-8x4"), (MANY, "128x128x8-8x8")),
    "gfx11": ((4000, "32x32x32-4x4"), (24000, "64x64x16-8x4"), (MANY, "128x128x16-8x8")),
    "sm_6": ((2000, "32x32x32-4x4"), (16000, "64x64x16-8x4"), (MANY, "128x64x16-8x8")),
    "sm_": ((2000, "32x32x32-4x4"), (16000, "64x64x16-8x4"), (MANY, "128x64x16-8x8")),
    # The emulator runs a thread's loop as one: long strips, few threads.
    "host": ((MANY, "64x32x32-1x32"),),
}
QUANT_ROWS = {"host": "64x32x32-1x32"}  # tile of q4_0 above the smallest row; other families: 64x64x32-8x4
QUANT_TILE = "64x64x32-8x4"
SMALLEST = "32x32x32-4x4"

MOST_FEW = 16  # rows of the few-rows path
FEW_ROWS = (1, 4, 16)
FEW_COLUMNS = (4, 2, 1)  # a warp's columns
FEW_THREADS = 128

SPLITS = (1, 2, 4, 8, 16, 32)
LEAST_DEPTH = 512  # of a split: less is not worth a second launch
BLOCKS_PER_UNIT = {"few": 4, "tile": 2}  # a card is full with so many; fewer blocks are split along K


def rows(target: str) -> tuple[tuple[int, str], ...]:
    """The rows of the target's family: the longest name that its own begins with; an unknown family's are sm_'s."""
    family = max((name for name in ROWS if target.startswith(name)), key=len, default="sm_")
    return ROWS[family]

"""Where the tensors of linear attention lie: one rule for buffers, plan and reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Layout:
    """A case's numbers. Tensors are packed [tokens, heads, width]; `fused` makes q, k, v slices of wider rows (one qkv product)."""

    starts: tuple[int, ...]
    k_heads: int
    v_heads: int
    dk: int
    dv: int
    tiled: bool
    initial: bool
    fused: bool

    @classmethod
    def of(cls, case: dict[str, Any]) -> Layout:
        shape = case["shape"]
        starts = [0]
        for length in shape["lengths"]:
            starts.append(starts[-1] + length)
        tiled, initial, fused = shape["mapping"] == "tiled", bool(shape["initial"]), bool(shape["fused"])
        return cls(tuple(starts), shape["k_heads"], shape["v_heads"], shape["dk"], shape["dv"], tiled, initial, fused)

    @property
    def tokens(self) -> int:
        return self.starts[-1]

    @property
    def sequences(self) -> int:
        return len(self.starts) - 1

    @property
    def k_width(self) -> int:
        return self.k_heads * self.dk

    @property
    def v_width(self) -> int:
        return self.v_heads * self.dv

    @property
    def k_stride(self) -> int:
        """Elements from one token's q or k row to the next."""
        return 2 * self.k_width + self.v_width if self.fused else self.k_width

    @property
    def v_stride(self) -> int:
        return 2 * self.k_width + self.v_width if self.fused else self.v_width

    def offset(self, name: str) -> int:
        """Element of its storage at which q, k or v begins: its place in the fused row."""
        return {"q": 0, "k": self.k_width, "v": 2 * self.k_width}[name] if self.fused else 0

    def key_head(self, v_head: int) -> int:
        return v_head % self.k_heads if self.tiled else v_head // (self.v_heads // self.k_heads)

"""What a case asks for, and where Q, K, V, mask and O lie in memory: one rule for buffers, plan and reference."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

BUFFERED = ("buffer", "blocks")  # masks that are read; the others follow from positions


@dataclass(frozen=True)
class Layout:
    """A case's numbers.

    `order` says how Q, K, V are stored: head by head, token by token, or `fused`, side by side in one row per token.
    `pad` elements lie unused between rows of `tokens` and `heads`, `offset` before the first. With `v_in_k` V is the
    first `dv` columns of K. `window`, `softcap` and `alibi` (the largest bias, usually 8) are off at 0.
    """

    sequences: int
    heads: int
    kv_heads: int
    n_q: int
    n_kv: int
    d: int
    mask: str
    order: str
    kv: str
    pad: int = 0
    dv: int = 0
    offset: int = 0
    window: int = 0
    softcap: float = 0.0
    alibi: float = 0.0
    sinks: bool = False
    v_in_k: bool = False
    hard: str = ""

    @classmethod
    def of(cls, case: dict[str, Any]) -> Layout:
        shape, known = case["shape"], {field.name for field in fields(cls)}
        if foreign := set(shape) - known:
            raise ValueError(f"a shape of fa_tile has no {sorted(foreign)}")
        return cls(**shape | {"kv": case["dtype"], "dv": shape.get("dv", 0) or shape["d"]})

    @property
    def ratio(self) -> int:
        """Query heads that share one KV head."""
        return self.heads // self.kv_heads

    @property
    def query(self) -> list[int]:
        return [self.sequences, self.heads, self.n_q, self.d]

    @property
    def keys(self) -> list[int]:
        return [self.sequences, self.kv_heads, self.n_kv, self.d]

    @property
    def values(self) -> list[int]:
        return [self.sequences, self.kv_heads, self.n_kv, self.dv]

    @property
    def output(self) -> list[int]:
        """O is always contiguous, a token's heads side by side, as the next matrix product wants it."""
        return [self.sequences, self.n_q, self.heads, self.dv]

    def strides(self, shape: list[int]) -> list[int]:
        """Of a [sequence, head, token, d] tensor."""
        _, heads, tokens, d = shape
        row = d + self.pad
        if self.order == "fused":
            return [tokens * self.fused_row, d, self.fused_row, 1]
        if self.order == "tokens":
            return [tokens * heads * row, row, heads * row, 1]
        return [heads * tokens * row, tokens * row, row, 1]

    @property
    def fused_row(self) -> int:
        """Elements of a token in a fused Q, K, V matrix."""
        return (self.heads + self.kv_heads) * self.d + self.kv_heads * self.dv

    def start(self, name: str) -> int:
        """Where the first element of Q, K or V lies in its storage."""
        before = {"q": 0, "k": self.heads * self.d, "v": (self.heads + self.kv_heads) * self.d}
        return self.offset + (before[name] if self.order == "fused" else 0)

    def position(self, token: int) -> int:
        """The KV row that belongs to a query token: the last tokens are the ones that ask."""
        return self.n_kv - self.n_q + token

    def seen(self, token: int) -> tuple[int, int]:
        """First KV row a query may see, and one past the last, if positions decide; a mask that is read may hide more."""
        if self.mask != "causal":
            return 0, self.n_kv
        last = max(0, min(self.n_kv, self.position(token) + 1))
        return (min(last, max(0, self.position(token) + 1 - self.window)) if self.window else 0), last

    @property
    def slopes(self) -> int:
        """The largest power of two that is at most the number of heads: ALiBi's first series."""
        return 1 << (self.heads.bit_length() - 1)

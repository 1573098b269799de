"""Where the elements of A, W and C lie: what a case's shape says, worked out once for plan, cases and reference.

C[z] = alpha op(A[z]) op(W[z]) + beta C[z], row-major. `ops` has a letter for each factor, as it is stored: A is [M, K]
with n and [K, M] with t, W is [K, N] with n and [N, K] with t; a layer's weights are [N, K], hence "nt" unless said
otherwise. Lengths are in storage units: elements, or blocks of 32 weights along K where W is q4_0.
"""

from __future__ import annotations

from dataclasses import dataclass

KINDS = {  # dtype of a case -> dtypes of A, W, C; sums are fp32 always
    "f32": ("f32", "f32", "f32"),
    "f16": ("f16", "f16", "f16"),
    "f16-f32": ("f16", "f16", "f32"),
    "q4_0": ("f32", "q4_0", "f32"),
}
BYTES = {"f32": 4, "f16": 2, "q4_0": 18}
QUANT = 32  # weights of a q4_0 block
NAMES = "AWC"


@dataclass(frozen=True)
class Matrix:
    """One operand: `rows` x `columns` as stored, `row` units from row to row, `batch` units from matrix to matrix."""

    dtype: str
    rows: int
    columns: int
    row: int
    batch: int
    count: int
    offset: int

    @property
    def bytes(self) -> int:
        """Bytes of one storage unit."""
        return BYTES[self.dtype]


@dataclass(frozen=True)
class Layout:
    """A case's product. `distinct` is how many matrices lie behind a list of addresses (0: no list, batches at a stride)."""

    m: int
    n: int
    k: int
    ops: str
    alpha: float
    beta: float
    batch: int
    distinct: int
    kinds: tuple[str, str, str]
    matrices: tuple[Matrix, Matrix, Matrix]

    @classmethod
    def of(cls, case: dict) -> Layout:
        shape = case["shape"]
        m, n, k, ops = shape["m"], shape["n"], shape["k"], shape.get("ops", "nt")
        kinds = KINDS[case.get("dtype", "f32")]
        units = k // QUANT if kinds[1] == "q4_0" else k
        stored = ((m, k) if ops[0] == "n" else (k, m), (units, n) if ops[1] == "n" else (n, units), (m, n))
        found = [_matrix(shape, name, *size, kind) for name, size, kind in zip(NAMES, stored, kinds, strict=True)]
        numbers = (float(shape.get("alpha", 1)), float(shape.get("beta", 0)), shape.get("batch", 1), shape.get("distinct", 0))
        return cls(m, n, k, ops, *numbers, kinds, (found[0], found[1], found[2]))

    @property
    def empty(self) -> bool:
        """Whether C has no element."""
        return 0 in (self.m, self.n, self.batch)

    def picks(self, name: str) -> list[int]:
        """Which stored matrix of an operand each batch uses. A list runs backwards for A and C, and names W's in turn."""
        stored, batches = self.matrices[NAMES.index(name)], range(self.batch)
        if self.distinct:
            return [z % stored.count if name == "W" else (self.batch - 1 - z) % stored.count for z in batches]
        return [z % stored.count if stored.count else 0 for z in batches]


def _matrix(shape: dict, name: str, rows: int, columns: int, dtype: str) -> Matrix:
    """`pad` units follow each row, `gap` units each matrix, `offset` units lie before the first; `broadcast` has one for all."""
    row = columns + shape.get("pad", 0)
    count, batch = shape.get("batch", 1), rows * row + shape.get("gap", 0)
    if name in shape.get("broadcast", ""):
        count, batch = min(count, 1), 0
    elif shape.get("distinct") and name != "C":
        count = min(count, shape["distinct"])
    return Matrix(dtype, rows, columns, row, batch, count, shape.get("offset", 0))

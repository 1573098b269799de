"""Cases of gemm: the products of the six models' layers with M tokens, and the edges of every size and argument.

`smoke` is what the emulator runs in milliseconds: the true K of a product of each model and the first columns of its N,
and an edge for each branch of kernels and plan. `gate` has every product of every model once at a prefill's M (but those
of a single column), llama-1b's at the M of the other tuning rows, and each model's widest products in fp16 or Q4_0.
`full` adds more M, the heads (the largest weights) and sweeps.py.
"""

from __future__ import annotations

import random

from .layout import KINDS, QUANT, Layout, Matrix
from .models import PRODUCTS, layers, reaching
from .sweeps import edges

PREFILL = 512
OTHER_M = (16, 2048)  # so that every tuning row is timed
DECODE = ((1, "f16"), (4, "q4_0"))  # each build of the gate is compiled for every target on every change
FULL_M = (1, 2, 5, 16, 32, 33, 128, 512, 2048)
COMPRESSED_M = (1, 4, 16, 512)
HEAD_M = (1, 16)
COMPRESSED = {  # what a model's weights are mostly served in
    "llama-1b": "q4_0", "llama-8b": "q4_0", "gemma-2b": "q4_0",
    "gpt-oss-20b": "f16", "qwen3.5-35b-a3b": "f16", "qwen3-next-80b-a3b": "f16",
}  # fmt: skip
WIDEST = ("attn_q", "ffn_down", "expert_down")

# model, role, M, columns of N taken, dtype; 33, 61, 40 and the edges are tails of every tile
SMOKE = (
    ("llama-1b", "attn_q", 32, 64, "f32"), ("llama-1b", "attn_kv", 16, 128, "f32"), ("llama-1b", "attn_o", 33, 61, "f32"),
    ("llama-1b", "ffn_gate_up", 64, 32, "f32"), ("llama-1b", "ffn_down", 16, 32, "f32"),
    ("gemma-2b", "ffn_gate_up", 40, 48, "f16"), ("llama-8b", "attn_o", 4, 64, "q4_0"), ("gpt-oss-20b", "expert_down", 33, 40, "q4_0"),
    ("qwen3.5-35b-a3b", "expert_down", 10, 96, "f16-f32"), ("qwen3-next-80b-a3b", "linear_ab", 40, 32, "f16"),
)  # fmt: skip
SMOKE_EDGES = (
    ("tail", "f32", {"m": 125, "n": 31, "k": 1021}),
    ("batch", "f32", {"m": 36, "n": 28, "k": 100, "ops": "tn", "alpha": 2.5, "beta": -1, "batch": 9, "broadcast": "W", "gap": 3}),
    ("list", "f16", {"m": 40, "n": 24, "k": 72, "ops": "nn", "beta": 1, "batch": 5, "distinct": 2, "pad": 4, "offset": 4}),
    ("ops", "f16-f32", {"m": 67, "n": 35, "k": 130, "ops": "tt", "alpha": -1, "pad": 1, "offset": 1}),
    ("overflow", "f16", {"m": 40, "n": 64, "k": 256, "outlier": 8192.0}),
)

FEW = 64


def cases(tier: str, device: dict) -> list:
    """The cases of `tier`, which holds those of the tiers below it on a GPU; the emulator's smoke cases stand apart."""
    if tier == "smoke":
        return _smoke()
    return _gate() + (_full() if tier == "full" else [])


def draw(seed: int, device: dict) -> list:
    """Three held-out shapes: any size, type, order of operands, padding and offset."""
    chance = random.Random(seed)
    return [_drawn(chance) for _ in range(3)]


def buffers(case: dict) -> list:
    """A and W with `pad` units of NaN after each row, all starting `offset` units into their storage; C is read where beta is not 0.

    Where C has few elements the inputs are positive: the relative error of one sum that happens to cancel to almost
    nothing would say more about luck than about the kernel.
    """
    lay, shape = Layout.of(case), case["shape"]
    values = {"kind": "uniform", "low": 0.25, "high": 1.75} if lay.m * lay.n < FEW else {"kind": "normal"}
    a_values = {"kind": "outlier_row", "value": shape["outlier"]} if "outlier" in shape else values
    roles = ("in", "const", "inout" if lay.beta else "out")
    given = zip("AWC", roles, lay.matrices, (a_values, values, values), strict=True)
    return [_buffer(name, role, matrix, "batch" in shape, how) for name, role, matrix, how in given]


def _smoke() -> list:
    of_model = [_case(model, role, {"m": m, "n": n, "k": PRODUCTS[model][role][1]}, "smoke", dtype) for model, role, m, n, dtype in SMOKE]
    return of_model + [_case("edge", role, shape, "smoke", dtype) for role, dtype, shape in SMOKE_EDGES]


def _gate() -> list:
    wide = [(model, role) for model, role in layers() if PRODUCTS[model][role][0] > 1]
    found = [_product(model, role, reaching(model, role, PREFILL), "gate") for model, role in wide]
    found += [_product("llama-1b", role, m, "gate") for role in PRODUCTS["llama-1b"] if role != "head" for m in OTHER_M]
    found += [_product(model, role, reaching(model, role, PREFILL), "gate", COMPRESSED[model]) for model, role in wide if role in WIDEST]
    return found + [_product("llama-1b", "ffn_down", m, "gate", dtype) for m, dtype in DECODE]


def _full() -> list:
    known = {case["id"] for case in _gate()}
    found = [_product(model, role, m, "full") for model, role in layers() for m in FULL_M]
    found += [_product(model, role, m, "full", dtype) for model, role in layers() for m in COMPRESSED_M for dtype in ("f16", "q4_0")]
    found += [_product(model, "head", m, "full", dtype) for model in PRODUCTS for m in HEAD_M for dtype in ("f32", COMPRESSED[model])]
    found += [_case("edge", role, shape, "full", dtype) for role, dtype, shape in edges()]
    return [case for case in found if case["id"] not in known]


def drawn_size(chance: random.Random) -> dict:
    """A product in fp32 of any size, padding and offset."""
    shape = {"m": chance.randint(1, 140), "n": chance.randint(1, 140), "k": chance.randint(1, 600)}
    return _case("edge", "drawn", shape | {"pad": chance.randint(0, 5), "offset": chance.randint(0, 5)}, "smoke")


def _drawn(chance: random.Random) -> dict:
    dtype, ops, shape = chance.choice(sorted(KINDS)), chance.choice(("nt", "nt", "nn", "tn", "tt")), drawn_size(chance)["shape"]
    if dtype == "q4_0":
        shape |= {"n": shape["n"] + FEW, "k": -(-shape["k"] // QUANT) * QUANT}
    elif ops != "nt":
        shape |= {"ops": ops}
    if shape["m"] * shape["n"] >= FEW and chance.random() < 0.5:
        shape |= {"alpha": chance.choice((-1, 2.5)), "beta": chance.choice((0, 1, -1))}
    return _case("edge", "drawn", shape, "smoke", dtype)


def _product(model: str, role: str, m: int, tier: str, dtype: str = "f32") -> dict:
    n, k = PRODUCTS[model][role]
    return _case(model, role, {"m": m, "n": n, "k": k}, tier, dtype)


def _case(model: str, role: str, shape: dict, tier: str, dtype: str = "f32") -> dict:
    lay = Layout.of({"shape": shape, "dtype": dtype})
    stored = [matrix.count * matrix.rows * matrix.columns * matrix.bytes for matrix in lay.matrices]
    return {
        "id": f"gemm/{model}/{role}/{_name(model, role, shape)}/{dtype}",
        "kernel": "gemm",
        "model": model,
        "role": role,
        "shape": dict(shape),
        "dtype": dtype,
        "tier": tier,
        "flops": 2.0 * lay.batch * lay.m * lay.n * lay.k,
        "bytes": float(sum(stored) + (stored[2] if lay.beta else 0)),
    }


def _name(model: str, role: str, shape: dict) -> str:
    """M, then N and K where the model doesn't say them, then every further part of the shape that isn't 0."""
    m, n, k = shape["m"], shape["n"], shape["k"]
    whole = PRODUCTS.get(model, {}).get(role) == (n, k)
    name = f"m{m}" if whole else f"m{m}-n{n}" if model in PRODUCTS else f"m{m}-n{n}-k{k}"
    further = [key for key in shape if key not in "mnk" and (shape[key] or key in ("alpha", "batch"))]
    return name + "".join(f"-{key}{shape[key]}" for key in further)


def _buffer(name: str, role: str, matrix: Matrix, stacked: bool, distribution: dict) -> dict:
    batch = [matrix.count] if stacked else []
    return {
        "name": name,
        "role": role,
        "dtype": matrix.dtype,
        "shape": [*batch, matrix.rows, matrix.columns],
        "strides": [*([matrix.batch] if stacked else []), matrix.row, 1],
        "offset": matrix.offset,
        "distribution": {"kind": "normal"} if matrix.dtype == "q4_0" else distribution,
    }

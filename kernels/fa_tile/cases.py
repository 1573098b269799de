"""The cases of fa_tile: the models' prompts and single tokens; sweeps of lengths, head dims and options are in sweeps.py.

`smoke` is for the emulator: one shape of each model with few heads, and edges that together take every branch of
kernel and plan. `gate` has every tuning row of the models' head dims and a prompt of each other one: each build is
compiled for all targets on every change. `full` adds the origin's microbatches, and one option at a time.
"""

from __future__ import annotations

import random
from typing import Any

from .layout import BUFFERED, Layout
from .sweeps import HEAD_DIMS, OPTIONS, dims, edges, sweep

Json = dict[str, Any]

# model -> query heads, KV heads, head dim
MODELS = {
    "llama-1b": (32, 8, 64),
    "llama-8b": (32, 8, 128),
    "gemma-2b": (8, 1, 256),
    "gpt-oss-20b": (64, 8, 64),
    "qwen3.5-35b-a3b": (16, 2, 256),
    "qwen3-next-80b-a3b": (16, 2, 256),
}
SINKS: Json = {"sinks": True, "window": 128}  # gpt-oss: every other layer looks back 128 tokens
PLAIN: Json = {"sequences": 1, "mask": "causal", "order": "tokens", "pad": 0}
# One KV head of llama-1b with its four query heads: the emulator is no GPU.
FEW: Json = PLAIN | {"heads": 4, "kv_heads": 1, "d": 64}
# The last model's rows are those of the one before: its smoke case is a token, the other's a prompt.
SMOKE = (
    ("llama-1b", "prompt", "q32-kv96", "f16", FEW | {"n_q": 32, "n_kv": 96}),
    ("llama-1b", "prompt", "q17-kv113", "f32", FEW | {"n_q": 17, "n_kv": 113, "mask": "buffer"}),
    ("llama-1b", "token", "q1-kv257", "f16", FEW | {"heads": 8, "kv_heads": 2, "n_q": 1, "n_kv": 257}),
    ("llama-8b", "prompt", "q9-kv41", "f16", FEW | {"d": 128, "n_q": 9, "n_kv": 41}),
    ("gemma-2b", "prompt", "q5-kv33", "f16", FEW | {"heads": 8, "d": 256, "n_q": 5, "n_kv": 33}),
    ("gpt-oss-20b", "prompt", "q7-kv150-window", "f16", FEW | {"heads": 8, "n_q": 7, "n_kv": 150, "sinks": True, "window": 16}),
    ("gpt-oss-20b", "token", "q1-kv257", "f16", FEW | {"heads": 8, "n_q": 1, "n_kv": 257, "sinks": True}),
    ("qwen3.5-35b-a3b", "prompt", "q5-kv33", "f16", FEW | {"heads": 8, "d": 256, "n_q": 5, "n_kv": 33}),
    ("qwen3-next-80b-a3b", "token", "q1-kv67", "f16", FEW | {"heads": 8, "d": 256, "n_q": 1, "n_kv": 67}),
    ("edge", "hard", "q9-kv41-large_kq", "f16", FEW | {"d": 128, "n_q": 9, "n_kv": 41, "hard": "large_kq"}),
    ("edge", "hard", "q9-kv41-large_v", "f16", FEW | {"d": 128, "n_q": 9, "n_kv": 41, "hard": "large_v"}),
)
LENGTHS = ((1, 4096), (2, 1024), (4, 1024), (16, 1024), (512, 512), (512, 2048))
MICROBATCHES = tuple(16 << step for step in range(11))  # of the origin's table: 16 to 16384


def cases(tier: str, device: Json) -> list[Json]:
    """The cases of `tier`; `full` holds those of `gate`, the emulator's smoke cases stand apart."""
    if tier == "smoke":
        return [_case(*named, shape, tier) for *named, shape in SMOKE] + [_case("edge", *named, shape, tier) for *named, shape in edges()]
    gate = _gate()
    if tier == "gate":
        return gate
    known = {case["id"] for case in gate}
    swept = [_case("edge", *named, shape, "full") for *named, shape in sweep()]
    return gate + [case for case in _prompts() + swept if case["id"] not in known]


def draw(seed: int, device: Json) -> list[Json]:
    """Three held-out shapes, small enough for the emulator, with any of the options."""
    choose = random.Random(seed)
    tier = "smoke" if device["target"] == "host" else "gate"
    found = []
    for number in range(3):
        kv_heads, d = choose.choice([1, 2]), choose.choice([40, 64, 72, 80, 96, 128])
        shape = {
            "sequences": choose.choice([1, 2]), "kv_heads": kv_heads, "heads": kv_heads * choose.choice([1, 2, 3, 4]),
            "d": d, "n_q": choose.randint(1, 20), "n_kv": choose.randint(1, 90), "mask": choose.choice(["none", "blocks", "causal"]),
            "order": choose.choice(["tokens", "heads"]), "pad": choose.choice([0, 2, 8]), **choose.choice(OPTIONS),
        }  # fmt: skip
        shape |= {"window": choose.randint(1, 40)} if shape["mask"] == "causal" and choose.random() < 0.5 else {}
        found.append(_case("edge", "drawn", f"s{seed}-{number}", choose.choice(["f16", "f32"]), shape, tier))
    return found


def buffers(case: Json) -> list[Json]:
    lay = Layout.of(case)
    found = [_tensor(lay, "q", "f32", lay.query), _tensor(lay, "k", lay.kv, lay.keys)]
    found += [] if lay.v_in_k else [_tensor(lay, "v", lay.kv, lay.values)]
    found.append(_buffer("o", "out", "f32", lay.output, {"kind": "normal"}))
    if lay.mask in BUFFERED:
        how = {"kind": "causal_mask"} if lay.mask == "buffer" else {"kind": "block_mask", "scale": 0.5}
        found.append(_buffer("mask", "in", "f16", [lay.sequences, lay.n_q, lay.n_kv], how))
    if lay.sinks:
        found.append(_buffer("sinks", "in", "f32", [lay.heads], {"kind": "normal"}))
    return found


def _gate() -> list[Json]:
    """Every row of the models' tuning tables once: a token, few tokens, a full tile, a prompt; then other head dims."""
    found = [_case("edge", *named, shape, "gate") for *named, shape in edges()]
    for model, (heads, kv_heads, d) in MODELS.items():
        shape = PLAIN | {"heads": heads, "kv_heads": kv_heads, "d": d} | (SINKS if model == "gpt-oss-20b" else {})
        windowed = "window" in shape  # gpt-oss has llama-1b's rows: a token, a few tokens and prompts will do
        for n_q, n_kv in ((1, 4096), (16, 1024), (512, 2048)) if windowed else LENGTHS:
            role = "token" if n_q == 1 else "prompt"
            found.append(_case(model, role, f"q{n_q}-kv{n_kv}", "f16", shape | {"n_q": n_q, "n_kv": n_kv}, "gate"))
        if windowed:
            shape = shape | {"window": 0}
            found.append(_case(model, "prompt", "q512-kv2048-whole", "f16", shape | {"n_q": 512, "n_kv": 2048}, "gate"))
        ungrouped = shape | {"heads": kv_heads, "n_q": 24, "n_kv": 512, "mask": "none"}
        found.append(_case(model, "ungrouped", "q24-kv512", "f16", ungrouped, "gate"))
        found.append(_case(model, "prompt", "q128-kv512", "f32", shape | {"n_q": 128, "n_kv": 512, "mask": "buffer"}, "gate"))
    for name, n_q in (("64", 2), ("128", 2), ("256", 2), ("256", 3)):  # fewer columns than the models' packed heads take
        shape = PLAIN | dims(name) | {"heads": 8, "kv_heads": 8, "n_q": n_q, "n_kv": 1024}
        found.append(_case("edge", "lone", f"q{n_q}-kv1024-d{name}", "f16", shape, "gate"))
    for name in HEAD_DIMS:
        shape = PLAIN | dims(name) | {"n_q": 512, "n_kv": 1024}
        found.append(_case("edge", "dims", f"q512-kv1024-d{name}", "f16", shape, "gate"))
    return found


def _prompts() -> list[Json]:
    """The origin's prompts of 16384 tokens by microbatches: the last microbatch of each size."""
    found = []
    for model, (heads, kv_heads, d) in MODELS.items():
        shape = PLAIN | {"heads": heads, "kv_heads": kv_heads, "d": d} | (SINKS if model == "gpt-oss-20b" else {})
        for n_q in MICROBATCHES:
            found.append(_case(model, "prompt", f"q{n_q}-kv16384", "f16", shape | {"n_q": n_q, "n_kv": 16384}, "full"))
        found.append(_case(model, "token", "q1-kv16384", "f16", shape | {"n_q": 1, "n_kv": 16384}, "full"))
    return found


def _case(model: str, role: str, name: str, dtype: str, shape: Json, tier: str) -> Json:
    lay = Layout.of({"shape": shape, "dtype": dtype})
    pairs = sum(last - first for first, last in map(lay.seen, range(lay.n_q)))
    kv_columns = lay.d if lay.v_in_k else lay.d + lay.dv
    rows = max(0, lay.seen(lay.n_q - 1)[1] - lay.seen(0)[0])  # of keys that a query sees
    kv_bytes = lay.kv_heads * rows * kv_columns * (2 if dtype == "f16" else 4)
    mask = 2 * lay.n_q * lay.n_kv if lay.mask in BUFFERED else 0
    moved = lay.sequences * (kv_bytes + 4 * lay.heads * lay.n_q * (lay.d + lay.dv) + mask)
    return {
        "id": f"fa_tile/{model}/{role}/{name}/{dtype}", "kernel": "fa_tile", "model": model, "role": role, "shape": shape,
        "dtype": dtype, "tier": tier, "nondeterministic": False, "cold": False,
        "flops": 2.0 * lay.sequences * lay.heads * pairs * (lay.d + lay.dv), "bytes": float(moved),
    }  # fmt: skip


def _tensor(lay: Layout, name: str, dtype: str, shape: list[int]) -> Json:
    """Q, K or V as a strided view, of values that the case's `hard` asks for."""
    how = {
        ("large_v", "v"): {"kind": "uniform", "low": 8000.0, "high": 24000.0},  # five of them are more than an f16 holds
        ("large_kq", "q"): {"kind": "constant", "value": 32.0},  # exact in f16, so that only the sum of products can overflow
        ("large_kq", "k"): {"kind": "constant", "value": 32.0},
        ("outlier", "k"): {"kind": "outlier_row", "value": 30.0},
        ("outlier", "v"): {"kind": "outlier_row", "value": 300.0},
    }.get((lay.hard, name), {"kind": "normal"})
    return _buffer(name, "in", dtype, shape, how) | {"strides": lay.strides(shape), "offset": lay.start(name)}


def _buffer(name: str, role: str, dtype: str, shape: list[int], how: Json) -> Json:
    return {"name": name, "role": role, "dtype": dtype, "shape": shape, "distribution": how}

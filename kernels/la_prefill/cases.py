"""The cases of la_prefill and la_decode: prompts and single steps of the gated-delta layers, and the edges of both.

Declared unsupported: rows of K of any length. One step multiplies the state along k by 1 - beta |k|^2; below -1 the rule
itself diverges, in exact arithmetic too, so `buffers` refuses a shape whose beta and `k_length` can get there.
"""

from __future__ import annotations

import random
from itertools import product
from typing import Any

from .layout import Layout

Json = dict[str, Any]

BYTES = {"f32": 4, "f16": 2, "bf16": 2}
# Both Qwen models with gated-delta layers have the same heads; their converters differ in the mapping.
MODELS = ("qwen3.5-35b-a3b", "qwen3-next-80b-a3b")
MAPPING = {"qwen3.5-35b-a3b": "tiled", "qwen3-next-80b-a3b": "grouped"}
DTYPE = {"qwen3.5-35b-a3b": "f16", "qwen3-next-80b-a3b": "bf16"}
HEADS: Json = {"k_heads": 16, "v_heads": 32, "dk": 128, "dv": 128, "mapping": "grouped", "initial": False, "fused": True}
FEW: Json = HEADS | {"k_heads": 1, "v_heads": 2}
SMALL: Json = {"k_heads": 2, "v_heads": 4, "dk": 64, "dv": 64, "mapping": "tiled", "initial": True, "fused": False}
ODD: Json = {"k_heads": 1, "v_heads": 1, "dk": 100, "dv": 60, "mapping": "grouped", "initial": True, "fused": False}

PACKED = [15, 85, 200, 900, 800]
MIXED = [1, 0, 16, 17]
LENGTHS = (1, 15, 16, 17, 63, 64, 65, 127, 1842, 1952, 8192)  # around our chunk of 16, and around others' of 64
DECAYS = (0.0, -0.0001, -1.0, -3.0, -5.0, -20.0)
BETAS = (0.0, 1.0, 2.0)
WIDTHS = ((16, 16), (32, 32), (60, 60), (100, 100), (64, 128), (128, 64), (256, 256), (512, 40))
BATCHES = (1, 8, 64)
MANY = 2100  # with 32 heads more blocks than one axis of a grid has below 65536
LONG = 65553  # tokens beyond 16 bits, ending in a tail


def cases(tier: str, device: Json) -> list[Json]:
    """The cases of `tier`, which holds those of the tiers below it on a GPU; the emulator's smoke cases stand apart."""
    return {"smoke": _smoke, "gate": _gate, "full": lambda: _gate() + _full()}[tier]()


def draw(seed: int, device: Json) -> list[Json]:
    """Two held-out shapes, small enough for the emulator."""
    choose = random.Random(seed)
    lengths = [choose.randint(0, 40) for _ in range(choose.randint(1, 3))] + [choose.randint(1, 40)]
    width = choose.choice([32, 60, 64, 96, 128])
    heads = {"k_heads": choose.choice([1, 2]), "v_heads": choose.choice([2, 4]), "dk": width, "dv": choose.choice([width, 40])}
    flags = {"mapping": choose.choice(["tiled", "grouped"]), "initial": choose.random() < 0.5, "fused": choose.random() < 0.5}
    gates = {"decay_low": -choose.choice([0.01, 1.0, 20.0]), "decay_high": 0.0, "beta_high": choose.choice([1.0, 2.0])}
    shape = heads | flags | gates | {"lengths": lengths}
    steps = shape | {"lengths": [1] * choose.randint(1, 4)}
    dtype, tier = choose.choice(["f32", "f16", "bf16"]), "smoke" if device["target"] == "host" else "gate"
    return [
        _case("la_prefill", "edge", "drawn", f"s{seed}", dtype, tier, shape),
        _case("la_decode", "edge", "drawn", f"s{seed}", dtype, tier, steps),
    ]


def buffers(case: Json) -> list[Json]:
    """Inputs as a layer feeds them: rows of q and k of one length, log-decays of at most 0, steps within 0 to `beta_high`."""
    lay, dtype, shape = Layout.of(case), case["dtype"], case["shape"]
    length, step = shape.get("k_length", 1.0), shape.get("beta_high", 1.0)
    if step * length**2 > 2:
        raise ValueError(f"unsupported: with steps up to {step} and rows of K of length {length} the rule diverges")
    gates = [lay.tokens, lay.v_heads]
    decays = {"kind": "uniform", "low": shape.get("decay_low", -2.0), "high": shape.get("decay_high", -0.0001)}
    found = [
        _slice("q", lay, dtype, {"kind": "unit_rows"}),
        _slice("k", lay, dtype, {"kind": "unit_rows", "scale": length}),
        _slice("v", lay, dtype, {"kind": "normal"}),
        _buffer("g", "in", "f32", gates, decays),
        _buffer("beta", "in", "f32", gates, {"kind": "uniform", "low": shape.get("beta_low", 0.0), "high": step}),
        _buffer("o", "out", dtype, [lay.tokens, lay.v_heads, lay.dv]),
        _buffer("s1", "out", "f32", [lay.sequences, lay.v_heads, lay.dk, lay.dv]),
    ]
    if lay.initial:
        found.append(_buffer("s0", "in", "f32", [lay.sequences, lay.v_heads, lay.dk, lay.dv], {"kind": "normal", "scale": 0.3}))
    if case["kernel"] == "la_prefill":
        values = {"kind": "values", "values": list(lay.starts)}
        found.append(_buffer("starts", "structure", "i32", [lay.sequences + 1], values))
    return found


def _smoke() -> list[Json]:
    """Prompts and steps of both models (fewer heads: the emulator is no GPU), then edges that hit every branch of the plan."""
    tiled = FEW | {"k_heads": 2, "mapping": "tiled", "initial": True}
    return [
        _case("la_prefill", MODELS[0], "linear", "t40", "f16", "smoke", FEW | {"lengths": [40]}),
        _case("la_prefill", MODELS[0], "linear", "t33-s0", "f32", "smoke", FEW | {"lengths": [33], "initial": True}),
        _case("la_prefill", MODELS[1], "linear", "t32", "bf16", "smoke", FEW | {"lengths": [32]}),
        _case("la_decode", MODELS[0], "linear", "b1", "f16", "smoke", FEW | {"k_heads": 4, "v_heads": 8, "lengths": [1], "initial": True}),
        _case("la_decode", MODELS[1], "linear", "b2", "bf16", "smoke", tiled | {"lengths": [1, 1]}),
        *_edges("smoke"),
        *_odd("smoke"),
    ]


def _edges(tier: str) -> list[Json]:
    steep = {"lengths": [19], "decay_low": -20.0, "decay_high": 0.0}
    return [
        _case("la_prefill", "edge", "packed", "t1+0+16+17", "bf16", tier, SMALL | {"lengths": MIXED}),
        _case("la_prefill", "edge", "steep", "t19", "f32", tier, ODD | steep),
        _case("la_decode", "edge", "tiled", "b3", "f32", tier, SMALL | {"lengths": [1, 1, 1]}),
    ]


def _odd(tier: str) -> list[Json]:
    """Heads of a size that no model has: dk that can't be split, more columns than a block takes, tiles too large for 16 tokens."""
    kept = {"k_heads": 2, "v_heads": 4, "dk": 45, "dv": 24, "lengths": [18], "decay_low": 0.0, "decay_high": 0.0, "beta_high": 2.0}
    return [
        _case("la_prefill", "edge", "kept", "t18", "f16", tier, ODD | kept),
        _case("la_prefill", "edge", "deep", "t7", "f32", tier, ODD | {"dk": 384, "dv": 136, "lengths": [7]}),
        _case("la_decode", "edge", "first", "b2", "bf16", tier, ODD | {"dk": 45, "dv": 136, "lengths": [1, 1], "initial": False}),
    ]


def _gate() -> list[Json]:
    """What each model runs, in its own mapping and type; the first prompt chunk, a whole prompt, several prompts, and steps."""
    found = _edges("gate")
    for model in MODELS:
        dtype, shape = DTYPE[model], HEADS | {"mapping": MAPPING[model]}
        found.append(_case("la_prefill", model, "linear", "t512", dtype, "gate", shape | {"lengths": [512]}))
        found.append(_case("la_prefill", model, "linear", "t1842", dtype, "gate", shape | {"lengths": [1842], "initial": True}))
        found.append(_case("la_prefill", model, "packed", "t15+85+200+900+800", dtype, "gate", shape | {"lengths": PACKED}))
        steps = shape | {"initial": True}
        found += [_case("la_decode", model, "linear", f"b{b}", dtype, "gate", steps | {"lengths": [1] * b}) for b in BATCHES]
    return found


def _full() -> list[Json]:
    """One axis at a time: length, decay, step, width of a head, length of K; all flags together; sizes beyond 16 bits."""
    heads, few = HEADS | {"mapping": "tiled", "initial": True}, FEW | {"initial": True, "lengths": [130]}
    found = _odd("full")
    found += [_case("la_prefill", MODELS[0], "linear", f"t{t}", "f32", "full", heads | {"lengths": [t]}) for t in LENGTHS]
    gentle = {"decay_low": -0.05}  # without steps a state only fades, and of one that has faded nothing can be judged
    for kernel, lengths in (("la_prefill", [130]), ("la_decode", [1, 1])):
        swept = [(f"g{abs(g):g}", {"decay_low": g, "decay_high": g}) for g in DECAYS]
        swept += [(f"beta{b:g}", gentle | {"beta_low": b, "beta_high": b}) for b in BETAS]
        swept += [(f"d{dk}x{dv}", {"dk": dk, "dv": dv}) for dk, dv in WIDTHS]
        swept += [("k1.4", {"k_length": 1.4})]
        found += [_case(kernel, "edge", "swept", name, "f32", "full", few | axis | {"lengths": lengths}) for name, axis in swept]
        found += [_flags(kernel, *chosen, lengths) for chosen in product(BYTES, MAPPING.values(), (False, True), (False, True))]
        many = {"k_heads": 16, "v_heads": 32, "dk": 16, "dv": 16, "lengths": [1] * MANY}
        found.append(_case(kernel, "edge", "many", f"b{MANY}", "f32", "full", ODD | many))
    long = ODD | {"dk": 16, "dv": 16, "lengths": [LONG]}
    return [*found, _case("la_prefill", "edge", "long", f"t{LONG}", "f32", "full", long)]


def _flags(kernel: str, dtype: str, mapping: str, initial: bool, fused: bool, lengths: list[int]) -> Json:
    shape = SMALL | {"mapping": mapping, "initial": initial, "fused": fused, "lengths": lengths}
    name = mapping + "-s0" * initial + "-fused" * fused
    return _case(kernel, "edge", "flags", name, dtype, "full", shape)


def _case(kernel: str, model: str, role: str, name: str, dtype: str, tier: str, shape: Json) -> Json:
    lay = Layout.of({"shape": shape})
    states = lay.v_heads * lay.dk * lay.dv
    tensors = 2 * lay.tokens * (lay.k_width + lay.v_width) * BYTES[dtype]
    return {
        "id": f"{kernel}/{model}/{role}/{name}/{dtype}", "kernel": kernel, "model": model, "role": role, "shape": shape,
        "dtype": dtype, "tier": tier, "nondeterministic": False, "cold": False,
        "flops": 7.0 * lay.tokens * states,
        "bytes": float(tensors + 8 * lay.tokens * lay.v_heads + 4 * (1 + lay.initial) * lay.sequences * states),
    }  # fmt: skip


def _slice(name: str, lay: Layout, dtype: str, distribution: Json) -> Json:
    """q, k or v; in the fused layout a slice of rows that hold all three."""
    heads, width, row = (lay.v_heads, lay.dv, lay.v_stride) if name == "v" else (lay.k_heads, lay.dk, lay.k_stride)
    whole = _buffer(name, "in", dtype, [lay.tokens, heads, width], distribution)
    return whole | {"strides": [row, width, 1], "offset": lay.offset(name)}


def _buffer(name: str, role: str, dtype: str, shape: list[int], distribution: Json | None = None) -> Json:
    return {"name": name, "role": role, "dtype": dtype, "shape": shape, "distribution": distribution or {"kind": "normal"}}

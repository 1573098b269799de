"""Shapes of no model: edges of every tile, head dims, lengths, GQA ratios, options, strides and hard values."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Named = tuple[str, str, str, Json]  # role, name, dtype, shape

PLAIN: Json = {"sequences": 1, "mask": "causal", "order": "tokens", "pad": 0}
# Head dims that no model of the suite has: 40 and 72 are vision towers', 192/128 and 576/512 those of latent attention.
HEAD_DIMS: dict[str, Json] = {
    "40": {"d": 40}, "72": {"d": 72}, "80": {"d": 80}, "96": {"d": 96}, "112": {"d": 112},
    "192-128": {"d": 192, "dv": 128}, "576-512": {"d": 576, "dv": 512, "v_in_k": True},
}  # fmt: skip
MODEL_DIMS: dict[str, Json] = {"64": {"d": 64}, "128": {"d": 128}, "256": {"d": 256}}
OPTIONS: tuple[Json, ...] = ({}, {}, {"sinks": True}, {"softcap": 10.0}, {"alibi": 8.0}, {"sinks": True, "softcap": 30.0})
MASKED: Json = {"mask": "blocks", "softcap": 30.0, "alibi": 8.0}
QUERIES = (1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 75)
MANY = (128, 512, 2048, 8192, 16384)
ROWS = (113, 255, 256, 257, 512, 1024, 16384)
RATIOS = (1, 2, 4, 8, 12, 16, 20, 32)


def dims(name: str) -> Json:
    """Heads and head dims by a name of HEAD_DIMS or MODEL_DIMS: eight query heads of two KV heads, sixteen of one for 576."""
    heads = {"heads": 16, "kv_heads": 1} if name == "576-512" else {"heads": 8, "kv_heads": 2}
    return heads | (HEAD_DIMS | MODEL_DIMS)[name]


def edges() -> list[Named]:
    """Small enough for the emulator: tails of every tile, rows that see nothing, strides, options, sequences, no GQA."""
    blind = PLAIN | {"heads": 2, "kv_heads": 2, "d": 128, "n_q": 20, "n_kv": 13, "mask": "buffer", "order": "heads"}
    odd = PLAIN | {"sequences": 2, "heads": 8, "kv_heads": 1, "d": 256, "n_q": 3, "n_kv": 37, "mask": "none", "pad": 1}
    single = PLAIN | {"heads": 1, "kv_heads": 1, "d": 64, "n_q": 1, "n_kv": 300, "order": "heads", "pad": 8}
    ragged = PLAIN | {"sequences": 2, "heads": 6, "kv_heads": 2, "d": 72, "n_q": 4, "n_kv": 70} | MASKED
    fused = PLAIN | {"heads": 2, "kv_heads": 1, "d": 192, "dv": 128, "n_q": 4, "n_kv": 45, "order": "fused"}
    latent = PLAIN | {"heads": 4, "kv_heads": 1, "n_q": 2, "n_kv": 37} | HEAD_DIMS["576-512"]
    return [
        ("blind", "q20-kv13-d128", "f32", blind),
        ("unaligned", "q3-kv37-d256-b2", "f16", odd),
        ("single", "q1-kv300-d64", "f32", single),
        ("ragged", "q4-kv70-d72-b2", "f16", ragged),
        ("fused", "q4-kv45-d192-128", "f16", fused),
        ("latent", "q2-kv37-d576-512", "f16", latent),
    ]


def sweep() -> list[Named]:
    return [*_lengths(), *_groups(), *_options(), *_views(), *_hard()]


def _lengths() -> list[Named]:
    """Query and KV lengths around every tile edge, at each head dim; both KV types and a mask with hidden blocks over KV lengths."""
    found = []
    for name in (*MODEL_DIMS, *HEAD_DIMS):
        shape = PLAIN | dims(name)
        found += [("queries", f"q{n_q}-kv512-d{name}", "f16", shape | {"n_q": n_q, "n_kv": 512}) for n_q in QUERIES]
        found.append(("token", f"q1-kv4096-d{name}", "f16", shape | {"n_q": 1, "n_kv": 4096}))
        for n_kv in ROWS:
            rows = shape | {"n_q": 32, "n_kv": n_kv, "mask": "blocks"}
            found += [("rows", f"q32-kv{n_kv}-d{name}", dtype, rows) for dtype in ("f16", "f32")]
    for name in ("64", "128"):
        shape = PLAIN | {"heads": 4, "kv_heads": 1} | MODEL_DIMS[name]
        found += [("queries", f"q{n_q}-kv{n_q}-d{name}", "f16", shape | {"n_q": n_q, "n_kv": n_q}) for n_q in MANY]
    return found


def _groups() -> list[Named]:
    """Query heads packed per KV head, for a token, few tokens and a prompt."""
    found = []
    for ratio in RATIOS:
        shape = PLAIN | {"heads": 2 * ratio, "kv_heads": 2, "d": 128, "n_kv": 512}
        found += [("group", f"q{n_q}-kv512-r{ratio}", "f16", shape | {"n_q": n_q}) for n_q in (1, 5, 64)]
        found.append(("group", f"q33-kv257-r{ratio}", "f32", shape | {"n_q": 33, "n_kv": 257, "mask": "none"}))
    return found


def _options() -> list[Named]:
    """One option at a time at each model's head dim, then together; a token, a tail and a prompt."""
    asked: dict[str, Json] = {
        "none": {"mask": "none"}, "buffer": {"mask": "buffer"}, "blocks": {"mask": "blocks"},
        "window1": {"window": 1}, "window128": {"window": 128}, "sinks": {"sinks": True}, "alibi": {"alibi": 8.0},
        "alibi-none": {"alibi": 8.0, "mask": "none"}, "softcap10": {"softcap": 10.0}, "softcap30": {"softcap": 30.0},
        "softcap50": {"softcap": 50.0}, "all": {"sinks": True, "softcap": 30.0, "alibi": 8.0, "mask": "blocks"},
        "sinks-window": {"sinks": True, "window": 100},
    }  # fmt: skip
    found = []
    for name in MODEL_DIMS:
        for option, values in asked.items():
            shape = PLAIN | {"heads": 12, "kv_heads": 3} | MODEL_DIMS[name] | values
            for n_q, n_kv in ((1, 1000), (75, 113), (256, 512)):
                found.append(("option", f"q{n_q}-kv{n_kv}-d{name}-{option}", "f16", shape | {"n_q": n_q, "n_kv": n_kv}))
    return found


def _views() -> list[Named]:
    """Several sequences, permuted, fused, padded and misaligned views."""
    views: dict[str, Json] = {
        "heads": {"order": "heads"}, "tokens": {"order": "tokens"}, "fused": {"order": "fused"}, "pad8": {"pad": 8},
        "pad2": {"pad": 2}, "pad1": {"pad": 1}, "offset1": {"offset": 1}, "offset8": {"offset": 8, "order": "heads"},
    }  # fmt: skip
    found = []
    for view, values in views.items():
        for n_q, n_kv in ((1, 700), (33, 257)):
            shape = PLAIN | {"sequences": 3, "heads": 8, "kv_heads": 2, "d": 128, "n_q": n_q, "n_kv": n_kv} | values
            found += [("view", f"q{n_q}-kv{n_kv}-{view}", dtype, shape) for dtype in ("f16", "f32")]
    many = PLAIN | {"sequences": 9000, "heads": 8, "kv_heads": 8, "d": 64, "n_q": 1, "n_kv": 16}
    return [*found, ("view", "q1-kv16-b9000", "f16", many)]


def _hard() -> list[Named]:
    """V of large magnitude, products beyond fp16, one row that stands out."""
    found = []
    for hard in ("large_v", "large_kq", "outlier"):
        for n_q in (1, 40):
            shape = PLAIN | {"heads": 8, "kv_heads": 2, "d": 128, "n_q": n_q, "n_kv": 513, "hard": hard}
            found += [("hard", f"q{n_q}-kv513-{hard}", dtype, shape) for dtype in ("f16", "f32")]
    return found

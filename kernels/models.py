"""The models whose shapes the suite runs, as numbers, and the matrix products their layers make."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Experts:
    """A mixture of experts: how many, how many a token visits, how wide each is, and how wide the shared one (0: none)."""

    count: int
    active: int
    width: int
    shared_width: int = 0


@dataclass(frozen=True)
class LinearAttention:
    """Gated-delta layers: of each `group` layers all but the last are linear, the last is full attention."""

    k_heads: int
    v_heads: int
    dk: int
    dv: int
    conv: int
    group: int


@dataclass(frozen=True)
class Model:
    """One model's configuration; `source` says where the numbers were published."""

    name: str
    hidden: int
    ffn: int
    layers: int
    q_heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    source: str
    experts: Experts | None = None
    linear: LinearAttention | None = None
    sinks: bool = False
    sliding_window: bool = False
    gated_attention: bool = False
    fused_qkv: bool = False

    @property
    def gqa_ratio(self) -> int:
        """Query heads that share one KV head."""
        return self.q_heads // self.kv_heads


_GATED_DELTA = LinearAttention(k_heads=16, v_heads=32, dk=128, dv=128, conv=4, group=4)
_HIP_EP = "ROCm/hip-ep hf_model_configs.json"

MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("gemma-2b", 2048, 16384, 18, 8, 1, 256, 256000, "google/gemma_pytorch gemma/config.py"),
        Model("llama-1b", 2048, 8192, 16, 32, 8, 64, 128256, _HIP_EP),
        Model("llama-8b", 4096, 14336, 32, 32, 8, 128, 128256, _HIP_EP),
        Model("gpt-oss-20b", 2880, 2880, 24, 64, 8, 64, 201088, _HIP_EP,
              experts=Experts(count=32, active=4, width=2880), sinks=True, sliding_window=True, fused_qkv=True),
        Model("qwen3.5-35b-a3b", 2048, 512, 40, 16, 2, 256, 248320, "huggingface/transformers qwen3_5_moe configuration",
              experts=Experts(count=256, active=8, width=512, shared_width=512), linear=_GATED_DELTA, gated_attention=True),
        Model("qwen3-next-80b-a3b", 2048, 5632, 48, 16, 2, 256, 151936, "huggingface/transformers qwen3_next configuration",
              experts=Experts(count=512, active=10, width=512, shared_width=512), linear=_GATED_DELTA, gated_attention=True),
    )
}  # fmt: skip


def products(model: Model) -> dict[str, tuple[int, int]]:
    """Role -> (N, K) of every weight a token is multiplied with; M is the number of tokens."""
    found = _attention(model) | (_dense(model) if model.experts is None else _mixture(model, model.experts))
    if model.linear is not None:
        found |= _linear(model, model.linear)
    return found | {"head": (model.vocab, model.hidden)}


def _attention(model: Model) -> dict[str, tuple[int, int]]:
    q_width = model.q_heads * model.head_dim
    kv_width = model.kv_heads * model.head_dim
    gate = 2 if model.gated_attention else 1
    found = {"attn_q": (q_width * gate, model.hidden), "attn_kv": (kv_width, model.hidden), "attn_o": (model.hidden, q_width)}
    return found | ({"attn_qkv": (q_width + 2 * kv_width, model.hidden)} if model.fused_qkv else {})


def _dense(model: Model) -> dict[str, tuple[int, int]]:
    return {"ffn_gate_up": (model.ffn, model.hidden), "ffn_down": (model.hidden, model.ffn)}


def _mixture(model: Model, experts: Experts) -> dict[str, tuple[int, int]]:
    found = {
        "expert_gate_up": (2 * experts.width, model.hidden),
        "expert_down": (model.hidden, experts.width),
        "router": (experts.count, model.hidden),
    }
    return found | ({"shared_gate": (1, model.hidden)} if experts.shared_width else {})


def _linear(model: Model, linear: LinearAttention) -> dict[str, tuple[int, int]]:
    v_width = linear.v_heads * linear.dv
    return {
        "linear_qkv": (2 * linear.k_heads * linear.dk + v_width, model.hidden),
        "linear_z": (v_width, model.hidden),
        "linear_ab": (linear.v_heads, model.hidden),
        "linear_out": (model.hidden, v_width),
    }

"""The matrix products of the six models' layers, as (N, K); M is the number of tokens that reach the weights."""

from __future__ import annotations

# model -> role -> (N, K); expert roles see the tokens that reach one expert
PRODUCTS = {
    "llama-1b": {
        "attn_q": (2048, 2048), "attn_kv": (512, 2048), "attn_o": (2048, 2048),
        "ffn_gate_up": (8192, 2048), "ffn_down": (2048, 8192), "head": (128256, 2048),
    },
    "llama-8b": {
        "attn_q": (4096, 4096), "attn_kv": (1024, 4096), "attn_o": (4096, 4096),
        "ffn_gate_up": (14336, 4096), "ffn_down": (4096, 14336), "head": (128256, 4096),
    },
    "gemma-2b": {
        "attn_q": (2048, 2048), "attn_kv": (256, 2048), "attn_o": (2048, 2048),
        "ffn_gate_up": (16384, 2048), "ffn_down": (2048, 16384), "head": (256000, 2048),
    },
    "gpt-oss-20b": {
        "attn_q": (4096, 2880), "attn_kv": (512, 2880), "attn_qkv": (5120, 2880), "attn_o": (2880, 4096),
        "expert_gate_up": (5760, 2880), "expert_down": (2880, 2880), "router": (32, 2880), "head": (201088, 2880),
    },
    "qwen3.5-35b-a3b": {
        "attn_q": (8192, 2048), "attn_kv": (512, 2048), "attn_o": (2048, 4096),
        "linear_qkv": (8192, 2048), "linear_z": (4096, 2048), "linear_ab": (32, 2048), "linear_out": (2048, 4096),
        "expert_gate_up": (1024, 2048), "expert_down": (2048, 512), "router": (256, 2048), "shared_gate": (1, 2048),
        "head": (248320, 2048),
    },
    "qwen3-next-80b-a3b": {
        "attn_q": (8192, 2048), "attn_kv": (512, 2048), "attn_o": (2048, 4096),
        "linear_qkv": (8192, 2048), "linear_z": (4096, 2048), "linear_ab": (32, 2048), "linear_out": (2048, 4096),
        "expert_gate_up": (1024, 2048), "expert_down": (2048, 512), "router": (512, 2048), "shared_gate": (1, 2048),
        "head": (151936, 2048),
    },
}  # fmt: skip
EXPERTS = {"gpt-oss-20b": (32, 4), "qwen3.5-35b-a3b": (256, 8), "qwen3-next-80b-a3b": (512, 10)}  # count, visited by a token


def layers() -> list[tuple[str, str]]:
    """Model and role of every product but the heads, which are the largest weights."""
    return [(model, role) for model, products in PRODUCTS.items() for role in products if role != "head"]


def reaching(model: str, role: str, tokens: int) -> int:
    """Tokens that reach one expert on average, all of them elsewhere."""
    if not role.startswith("expert"):
        return tokens
    count, visited = EXPERTS[model]
    return max(1, tokens * visited // count)

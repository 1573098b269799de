"""The suite's cases of fa_tile, of few models: a sample's answer comes soon, where nothing was compiled before."""

from __future__ import annotations

from . import every_case

ON_HOST, ON_CARDS = ("llama-1b", "llama-8b", "gpt-oss-20b"), ("llama-1b",)
buffers, draw = every_case.buffers, every_case.draw


def cases(tier: str, device: dict) -> list:
    few = ON_HOST if tier == "smoke" else ON_CARDS
    return [case for case in every_case.cases(tier, device) if case["model"] in few]

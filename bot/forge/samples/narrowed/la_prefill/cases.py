"""The suite's cases of la_prefill, the models' and one packed prompt: a sample's answer comes soon, where nothing was compiled before."""

from __future__ import annotations

from . import every_case

buffers, draw = every_case.buffers, every_case.draw


def cases(tier: str, device: dict) -> list:
    return [case for case in every_case.cases(tier, device) if case["model"] != "edge" or case["role"] == "packed"]

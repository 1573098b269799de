"""Wants a pebibyte of scratch."""


def tunables(case, device):
    return {"block": [64]}


def builds(case, device, tunables):
    return {"s": {"source": "p_vast.cu", "defines": {"KG_FACTOR": 2}, "block": 64}}


def launches(case, device, tunables, resources):
    n = case["shape"]["n"]
    args = [{"buffer": "x"}, {"buffer": "y"}, {"i32": n}]
    return {
        "scratch": {"all": {"bytes": 1 << 50}},
        "launches": [{"build": "s", "kernel": "p_vast", "grid": [-(-n // 64), 1, 1], "block": [64, 1, 1], "args": args}],
    }

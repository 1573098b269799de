"""Never answers."""

import time


def tunables(case, device):
    return {"block": [64]}


def builds(case, device, tunables):
    time.sleep(1e9)
    return {"s": {"source": "p_slow.cu", "defines": {"KG_FACTOR": 2}, "block": 64}}


def launches(case, device, tunables, resources):
    n = case["shape"]["n"]
    args = [{"buffer": "x"}, {"buffer": "y"}, {"i32": n}]
    return {"launches": [{"build": "s", "kernel": "p_slow", "grid": [-(-n // 64), 1, 1], "block": [64, 1, 1], "args": args}]}

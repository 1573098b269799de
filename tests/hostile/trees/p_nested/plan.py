"""An answer a hundred thousand levels deep."""


def tunables(case, device):
    return {"block": [64]}


def builds(case, device, tunables):
    return {"s": {"source": "p_nested.cu", "defines": {"KG_FACTOR": 2}, "block": 64}}


def launches(case, device, tunables, resources):
    n = case["shape"]["n"]
    deep = []
    for _ in range(100_000):
        deep = [deep]
    args = [deep, {"buffer": "x"}, {"buffer": "y"}, {"i32": n}]
    return {"launches": [{"build": "s", "kernel": "p_nested", "grid": [-(-n // 64), 1, 1], "block": [64, 1, 1], "args": args}]}

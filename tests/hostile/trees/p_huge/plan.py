"""A table of a million long numbers."""


def tunables(case, device):
    return {"block": [64]}


def builds(case, device, tunables):
    return {"s": {"source": "p_huge.cu", "defines": {"KG_FACTOR": 2}, "block": 64}}


def launches(case, device, tunables, resources):
    n = case["shape"]["n"]
    args = [{"buffer": "x"}, {"buffer": "y"}, {"i32": n}]
    launch = {"build": "s", "kernel": "p_huge", "grid": [-(-n // 64), 1, 1], "block": [64, 1, 1], "args": args}
    return {"launches": [launch], "tables": {"t": {"dtype": "i64", "values": [1_234_567_890_123_456_789] * 1_000_000}}}

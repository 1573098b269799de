"""Writes an answer of its own to every descriptor and ends: a build from the machine's files."""

import json
import os


def tunables(case, device):
    return {"block": [64]}


def builds(case, device, tunables):
    lie = {"chosen": {}, "legal": {}, "absent": [], "builds": {"s": {"source": "../../../../etc/passwd", "defines": {}, "block": 64}}}
    for descriptor in range(3, 12):
        try:
            os.write(descriptor, json.dumps({"index": 0, **lie}).encode() + b"\n")
        except OSError:
            continue
    os._exit(0)
    return {"s": {"source": "p_forges.cu", "defines": {"KG_FACTOR": 2}, "block": 64}}


def launches(case, device, tunables, resources):
    n = case["shape"]["n"]
    args = [{"buffer": "x"}, {"buffer": "y"}, {"i32": n}]
    return {"launches": [{"build": "s", "kernel": "p_forges", "grid": [-(-n // 64), 1, 1], "block": [64, 1, 1], "args": args}]}

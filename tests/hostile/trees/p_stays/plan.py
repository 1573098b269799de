"""Leaves a daemon behind and then plans as it should."""

import os
import time
from pathlib import Path


def tunables(case, device):
    return {"block": [64]}


def builds(case, device, tunables):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            Path("/proc/self/comm").write_text("@MARK@")
            for descriptor in range(3):
                os.close(descriptor)
            time.sleep(1e9)
        os._exit(0)
    return {"s": {"source": "p_stays.cu", "defines": {"KG_FACTOR": 2}, "block": 64}}


def launches(case, device, tunables, resources):
    n = case["shape"]["n"]
    args = [{"buffer": "x"}, {"buffer": "y"}, {"i32": n}]
    return {"launches": [{"build": "s", "kernel": "p_stays", "grid": [-(-n // 64), 1, 1], "block": [64, 1, 1], "args": args}]}

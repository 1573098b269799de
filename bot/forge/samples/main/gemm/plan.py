"""Launch plan of gemm: blocks of 32 columns by 8 rows, one thread per output; nothing to tune."""

from __future__ import annotations

COLUMNS, ROWS = 32, 8


def tunables(case: dict, device: dict) -> dict:
    return {}


def builds(case: dict, device: dict, tunables: dict) -> dict:
    build = {"source": "gemm.cu", "options": ["fp-contract=fast"], "block": COLUMNS * ROWS}
    return {"builds": {"naive": build}}


def launches(case: dict, device: dict, tunables: dict, resources: dict) -> dict:
    shape = case["shape"]
    m, n, k, pad = shape["m"], shape["n"], shape["k"], shape.get("pad", 0)
    start = 4 * shape.get("offset", 0)
    launch = {
        "build": "naive",
        "kernel": "gemm",
        "grid": [-(-n // COLUMNS), -(-m // ROWS), 1],
        "block": [COLUMNS, ROWS, 1],
        "args": [
            *({"buffer": name, "byte_offset": start} for name in "AWC"),
            *({"i32": value} for value in (m, n, k, k + pad, k + pad, n + pad)),
        ],
    }
    return {"launches": [launch]}

"""A case more than base has, so that head's own reference judges it."""


def _case(n):
    return {
        "id": f"r_prints/edge/tail/n{n}/f32",
        "kernel": "r_prints",
        "model": "edge",
        "role": "tail",
        "shape": {"n": n},
        "dtype": "f32",
        "tier": "smoke",
        "flops": 1.0 * n,
        "bytes": 8.0 * n,
    }


def cases(tier, device):
    return [_case(100), _case(77)]


def draw(seed, device):
    return []


def buffers(case):
    n = case["shape"]["n"]
    return [{"name": "x", "role": "in", "dtype": "f32", "shape": [n]}, {"name": "y", "role": "out", "dtype": "f32", "shape": [n]}]

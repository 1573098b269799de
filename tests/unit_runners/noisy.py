"""Sessions made from a seed, for tests of sampling and verdicts."""

import numpy as np

from runners.protocol import Session, Stage


def session(
    speedup: float = 1.0, *, noise: float = 0.002, bias: float = 0.0, quads: int = 15, seed: int = 0, stage: Stage = Stage.SCREEN
) -> Session:
    """Base 100 µs, head 100 µs / speedup, each time with log-normal noise; `bias` moves the whole session."""
    rng = np.random.default_rng(seed)
    order = rng.integers(0, 2, quads)
    head = -np.log(speedup) - bias
    means = np.where(order[:, None] == 0, [0.0, head, head, 0.0], [head, 0.0, 0.0, head])
    times = 100.0 * np.exp(means + noise * rng.standard_normal((quads, 4)))
    return Session(stage, tuple(map(tuple, times.tolist())), tuple(order.tolist()))


def sessions(speedup: float = 1.0, count: int = 2, *, seed: int = 0, stage: Stage = Stage.SCREEN, **how) -> list[Session]:
    return [session(speedup, seed=seed * 100 + index, stage=stage, **how) for index in range(count)]

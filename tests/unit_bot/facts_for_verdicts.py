"""Small facts of runs, for tests of verdicts: no noise, times that say what they mean."""

from dataclasses import replace

from bot.core.verdict import PoolFacts, RunFacts
from kernels.spec import Case, Tier
from runners.protocol import (
    Accuracies,
    Accuracy,
    BuildRecord,
    Builds,
    Ending,
    Enumeration,
    Failure,
    FailureKind,
    Measurement,
    NodeInfo,
    Outcome,
    Session,
    Side,
    Stage,
)

NODE = NodeInfo("n1", "card", "host", "emulator", "1", "g++ 12", "0.1.0")
BASE, HEAD = "a" * 40, "b" * 40


def case(name: str = "x") -> Case:
    return Case(f"gemm/edge/{name}/m1/f32", "gemm", "edge", name, {"m": 1}, "f32", Tier.SMOKE, flops=1e6, bytes=1e3)


def accuracy(ok: bool = True) -> Accuracy:
    return Accuracy(1e-7 if ok else 1.0, 1e-14, 1e-6, 1.0, 0, 0, 0, 1e-6, ok, reason="" if ok else "rel_l2 above the limit")


def session(speedup: float, stage: Stage = Stage.SCREEN, scatter: float = 0.0) -> Session:
    """Ten quads; `scatter` moves them up and down evenly."""
    head = 100.0 / speedup
    quads = tuple((100.0, head * (1 + scatter * (-1) ** i), head * (1 + scatter * (-1) ** i), 100.0) for i in range(10))
    return Session(stage, quads, (0,) * 10)


def both(speedup: float, scatter: float = 0.0) -> tuple[Session, ...]:
    return tuple(session(speedup, stage, scatter) for stage in (Stage.SCREEN, Stage.SCREEN, Stage.CONFIRM, Stage.CONFIRM))


def measured(name: str = "x", speedup: float | None = 1.0, **facts) -> Measurement:
    """A comparison that is right on both sides and timed, unless `facts` say otherwise."""
    good = BuildRecord(ok=True)
    plain = Measurement(
        case=case(name),
        build=Builds(good, good),
        accuracy=Accuracies(accuracy(), accuracy()),
        sessions=() if speedup is None else both(speedup) if speedup < 1 else (session(speedup), session(speedup)),
    )
    return replace(plain, **facts)


def failed(kind: FailureKind, *sides: Side, **facts) -> Measurement:
    return measured(speedup=None, failures=tuple(Failure(kind, "why", side) for side in sides), **facts)


def pool(*measurements: Measurement, name: str = "mi50", **facts) -> PoolFacts:
    plain = PoolFacts(
        name,
        node=NODE,
        outcome=Outcome(Ending.COMPLETED, NODE),
        enumeration=Enumeration(tuple(m.case for m in measurements)),
        measurements=measurements,
    )
    return replace(plain, **facts)


def run(*pools: PoolFacts, gate: bool = True, **facts) -> RunFacts:
    return replace(RunFacts("o/r", BASE, HEAD, "/run-test models=all", "2026-01-01T00:00:00Z", 1.0, gate, pools), **facts)

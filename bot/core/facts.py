"""The facts a run's verdict depends on, as values: what each pool's job brought, and what of it counts."""

from __future__ import annotations

from dataclasses import dataclass

from bot.core.report import CaseReport, ControlReport, StaticReport
from bot.core.waivers import Waiver
from runners.protocol import Enumeration, Measurement, NodeInfo, Outcome


@dataclass(frozen=True)
class PoolFacts:
    """What is known of one pool's job when the run ends; `missing` says why there was no node."""

    pool: str
    required: bool = True
    node: NodeInfo | None = None
    outcome: Outcome | None = None
    enumeration: Enumeration | None = None
    measurements: tuple[Measurement, ...] = ()
    floor: float = 0.01
    timed: bool = True
    missing: str = ""


@dataclass(frozen=True)
class RunFacts:
    """Everything the verdict may depend on."""

    repo: str
    base: str
    head: str
    command: str
    started: str
    seconds: float
    gate: bool
    pools: tuple[PoolFacts, ...]
    harm: float = 0.03
    cancelled: bool = False
    waived: tuple[str, ...] = ()
    trusted: bool = True
    waivers: tuple[Waiver, ...] = ()


@dataclass(frozen=True)
class JudgedPool:
    """One pool's facts with its cases' verdicts, waived ones apart."""

    facts: PoolFacts
    cases: tuple[CaseReport, ...]
    static: tuple[StaticReport, ...]
    waived: frozenset[str]
    controls: tuple[ControlReport, ...] = ()

    @property
    def counting(self) -> tuple[CaseReport, ...]:
        return tuple(case for case in self.cases if not self.waived & {case.id, f"{case.id}@{case.pool}"})

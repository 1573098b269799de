"""A run's verdict out of all its pools' facts, and the check's conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.core.case_verdict import CaseRules, judge_case, unmeasured
from bot.core.choice import absent, changed_judge, choose
from bot.core.controls import doubted, report_of
from bot.core.enums import CaseVerdict, RunVerdict
from bot.core.facts import JudgedPool, PoolFacts, RunFacts
from bot.core.report import CaseReport, NodeReport, Run
from bot.core.static_gate import compare
from bot.core.stats import with_suspects
from bot.core.waivers import told
from runners import sampling
from runners.protocol import Enumeration

__all__ = ["CaseRules", "CaseVerdict", "PoolFacts", "RunFacts", "RunVerdict", "conclusion", "judge_case", "judge_run"]


def judge_run(facts: RunFacts) -> Run:
    """The whole run as a value, with the first verdict that applies to what no waiver covers."""
    judged = [_judge_pool(pool, facts) for pool in facts.pools]
    found = _report(judged, facts)
    waivers = tuple(told(waiver, found) for waiver in facts.waivers)
    if not waivers:
        return found
    waived = tuple(dict.fromkeys([*facts.waived, *(scope for one in waivers for scope in one.covers)]))
    judged = [replace(one, waived=frozenset(waived)) for one in judged]
    return replace(_report(judged, replace(facts, waived=waived)), waivers=waivers)


def _report(judged: Sequence[JudgedPool], facts: RunFacts) -> Run:
    verdict, reason = choose(judged, facts)
    nodes = [_node(one, facts) for one in judged]
    return Run(
        schema=1,
        verdict=verdict,
        reason=reason,
        repo=facts.repo,
        base=facts.base,
        head=facts.head,
        command=facts.command,
        started=facts.started,
        seconds=facts.seconds,
        gate=facts.gate,
        nodes=tuple(node for node in nodes if node is not None),
        cases=tuple(case for one in judged for case in one.cases),
        static=tuple(entry for one in judged for entry in one.static),
        waived=facts.waived,
        changed_judge=changed_judge(judged),
        judge_hash=next((hash for one in judged if one.facts.enumeration and (hash := one.facts.enumeration.judge_hash)), ""),
        missing=tuple(f"{one.facts.pool}: {absent(one.facts)}" for one in judged if absent(one.facts)),
    )


def conclusion(verdict: RunVerdict) -> str:
    """GitHub's conclusion of the check; never neutral or skipped, which would satisfy a required check."""
    return {
        RunVerdict.PASS: "success",
        RunVerdict.BROKEN: "failure",
        RunVerdict.REGRESSED: "failure",
        RunVerdict.CANCELLED: "cancelled",
    }.get(verdict, "action_required")


def _judge_pool(pool: PoolFacts, facts: RunFacts) -> JudgedPool:
    numbers = sampling.Rules(floor=pool.floor, harm=facts.harm)
    numbers = with_suspects(numbers, pool.measurements, share=1 / max(sum(one.timed for one in facts.pools), 1))
    roofline = pool.outcome.roofline if pool.outcome else None
    rules = CaseRules(numbers, timed=pool.timed, trusted=facts.trusted, pool=pool.pool, roofline=roofline)
    enumeration = pool.enumeration or Enumeration(cases=())
    new = set(enumeration.new)
    controls = tuple(report_of(one, numbers) for one in pool.outcome.controls) if pool.outcome else ()
    cases = [judge_case(m, replace(rules, new=m.case.id in new)) for m in doubted(pool.measurements, controls)]
    cases += _gaps(pool, enumeration)
    static = compare(pool.outcome.static) if pool.outcome else ()
    return JudgedPool(pool, tuple(cases), static, frozenset(facts.waived), controls)


def _gaps(pool: PoolFacts, enumeration: Enumeration) -> list[CaseReport]:
    """Enumerated cases without a result: removed by the head, or never measured."""
    seen = {m.case.id for m in pool.measurements}
    removed = set(enumeration.removed)
    return [
        unmeasured(case, *((CaseVerdict.REMOVED, "") if case.id in removed else (CaseVerdict.NOT_MEASURED, "no result")), pool.pool)
        for case in enumeration.cases
        if case.id not in seen
    ]


def _node(one: JudgedPool, facts: RunFacts) -> NodeReport | None:
    """The pool's node with the verdict its cases alone would give."""
    info = one.facts.node or (one.facts.outcome.node if one.facts.outcome else None)
    if info is None:
        return None
    verdict, _ = choose([one], facts)
    known = (info.name, one.facts.pool, info.device, info.target, info.backend, info.driver, info.toolchain, info.harness)
    return NodeReport(*known, verdict, one.controls, one.facts.outcome.roofline if one.facts.outcome else None)

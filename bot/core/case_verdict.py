"""One comparison's verdict out of a node's facts: failures first, then identity, then time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from bot.core.enums import CaseVerdict
from bot.core.remarks import remarks_of
from bot.core.report import CaseReport, SideTime, SideTimes
from bot.core.roofline import is_beyond, least_us
from bot.core.stats import Timing, classify, cycles, median, times
from kernels.spec import Case
from runners import sampling
from runners.protocol import Failure, FailureKind, Measurement, Roofline, Side

FAILED = {
    FailureKind.INCORRECT: CaseVerdict.INCORRECT,
    FailureKind.BUILD_FAILED: CaseVerdict.BUILD_FAILED,
    FailureKind.CRASHED: CaseVerdict.CRASHED,
    FailureKind.TIMED_OUT: CaseVerdict.TIMED_OUT,
}
BAD = frozenset(FAILED.values())


@dataclass(frozen=True)
class CaseRules:
    """The numbers and the surroundings a comparison is judged by. `trusted`: a race found counts against the head."""

    sampling: sampling.Rules = field(default_factory=sampling.Rules)
    timed: bool = True
    trusted: bool = True
    pool: str = ""
    new: bool = False
    roofline: Roofline | None = None


@dataclass(frozen=True)
class _Found:
    verdict: CaseVerdict
    reason: str = ""
    base_failed: bool = False
    timing: Timing | None = None


def judge_case(measurement: Measurement, rules: CaseRules = CaseRules()) -> CaseReport:
    """The comparison with its verdict; times are shown only where both sides are right."""
    found = _find(measurement, rules)
    timing = found.timing
    shown = timing.estimate if timing else None
    return CaseReport(
        **_facts(measurement, rules.pool),
        verdict=found.verdict,
        reason=found.reason,
        base_failed=found.base_failed,
        holds=bool(timing and timing.holds),
        time_us=_side_times(measurement) if timing else SideTimes(),
        speedup=shown.speedup if shown else None,
        interval=(shown.lo, shown.hi) if shown else None,
        slowdown_at_most=timing.slowdown_at_most if timing else None,
        remarks=tuple(remarks_of(measurement.sessions)) if timing else (),
        least_us=least_us(measurement.case, rules.roofline) or None if timing and rules.roofline else None,
    )


def unmeasured(case: Case, verdict: CaseVerdict, reason: str, pool: str) -> CaseReport:
    """The report of a case for which there is no measurement."""
    return CaseReport(**_facts(Measurement(case=case), pool), verdict=verdict, reason=reason)


def _find(m: Measurement, rules: CaseRules) -> _Found:
    head, base = _fault(m, Side.HEAD, rules.trusted), _fault(m, Side.BASE, rules.trusted)
    if head:
        return _Found(*head, base_failed=base is not None or m.identical)
    trouble = next((f for f in m.failures if f.kind is FailureKind.INFRASTRUCTURE), None)
    if trouble or m.not_measured:
        return _Found(CaseVerdict.NOT_MEASURED, m.not_measured or trouble_of(m))
    if rules.new:
        return _Found(CaseVerdict.NEW)
    if m.identical:
        return _Found(CaseVerdict.IDENTICAL)
    if base:
        return _Found(CaseVerdict.CORRECT, f"base {base[0].value}", base_failed=True)
    if m.held_out or not rules.timed:
        return _checked(m)
    return _timed(m, rules)


def trouble_of(m: CaseReport | Measurement) -> str:
    """What the machine, not the code, did wrong; "" if nothing."""
    return next((f"infrastructure: {f.message}" for f in m.failures if f.kind is FailureKind.INFRASTRUCTURE), "")


def _fault(m: Measurement, side: Side, trusted: bool) -> tuple[CaseVerdict, str] | None:
    """How `side` failed, in the order in which its stages come; None if nothing speaks against it."""
    mine = [f for f in m.failures if f.side is side or (f.side is None and side is Side.HEAD)]
    real = [f for f in mine if f.kind is not FailureKind.INFRASTRUCTURE]
    if real:
        return FAILED[real[0].kind], _place(real[0])
    accuracy, build = (m.accuracy.base, m.build.base) if side is Side.BASE else (m.accuracy.head, m.build.head)
    if build is not None and not build.ok:
        return CaseVerdict.BUILD_FAILED, ""
    if accuracy is not None and not accuracy.ok:
        return CaseVerdict.INCORRECT, accuracy.reason
    if side is Side.HEAD and m.races and trusted:
        race = m.races[0]
        return CaseVerdict.INCORRECT, f"{race.file}:{race.line}: {race.message}"
    return None


def _place(failure: Failure) -> str:
    """The message with its place, once: compilers and plans begin with theirs."""
    where = f"{failure.file}:{failure.line}" if failure.line else failure.file
    if not where or failure.message.startswith(f"{failure.file}:{failure.line}:"):
        return failure.message
    return f"{where}: {failure.message.removeprefix(f'{failure.file}: ')}"


def _checked(m: Measurement) -> _Found:
    if m.accuracy.head is None:
        return _Found(CaseVerdict.NOT_MEASURED, "no accuracy result")
    return _Found(CaseVerdict.CORRECT)


def _timed(m: Measurement, rules: CaseRules) -> _Found:
    if m.accuracy.head is None and not m.sessions:
        return _Found(CaseVerdict.NOT_MEASURED, "no result")
    if not m.sessions:
        return _Found(CaseVerdict.NOT_MEASURED, "no time measured")
    timing = classify(m.sessions, rules.sampling)
    if reason := _suspicion(m, timing, rules.roofline):
        return _Found(CaseVerdict.SUSPICIOUS, reason, timing=timing)
    if _is_too_fast(timing):
        return _Found(timing.verdict, f"more than 10x: judged again on {m.counts['judged_again']} further inputs", timing=timing)
    return _Found(timing.verdict, timing.reason, timing=timing)


def _suspicion(m: Measurement, timing: Timing, roofline: Roofline | None) -> str:
    """Why head's times can't be believed; "" if they can. Where base is as impossible, the counts are wrong, not the head."""
    if roofline and _is_impossible(m, Side.HEAD, roofline) and not _is_impossible(m, Side.BASE, roofline):
        return "faster than the measured roofline"
    if not _is_too_fast(timing):
        return ""
    if not (m.case.flops or m.case.bytes):
        return "more than 10x, and no FLOP or byte count"
    if roofline is None:
        return "more than 10x, and no roofline could be measured"
    return "" if m.counts.get("judged_again") else "more than 10x, and not judged again"


def _is_too_fast(timing: Timing) -> bool:
    return timing.estimate is not None and timing.estimate.speedup > sampling.TOO_FAST


def _is_impossible(m: Measurement, side: Side, roofline: Roofline) -> bool:
    return is_beyond(median(times(m.sessions, side)), m.case, roofline)


def _side_times(m: Measurement) -> SideTimes:
    return SideTimes(_side_time(m, Side.BASE), _side_time(m, Side.HEAD))


def _side_time(m: Measurement, side: Side) -> SideTime | None:
    real = tuple(sample for sample in times(m.sessions, side) if math.isfinite(sample))
    return SideTime(median(real), real, cycles(m.sessions, side)) if real else None


def _facts(m: Measurement, pool: str) -> dict[str, Any]:
    """What is copied as it is; sessions and quads count the undisturbed ones."""
    good = [session for session in m.sessions if not session.disturbed]
    return {
        **{name: getattr(m.case, name) for name in ("id", "kernel", "model", "shape", "dtype", "role", "flops", "bytes")},
        **{name: getattr(m, name) for name in ("tunables", "held_out", "build", "accuracy", "gpu_seconds", "counts", "failures", "races")},
        "pool": pool,
        "sessions": len(good),
        "quads": sum(len(session.quads) for session in good),
        "discarded": len(m.sessions) - len(good),
        "disturbances": tuple(dict.fromkeys(session.disturbed for session in m.sessions if session.disturbed)),
        "telemetry": tuple(session.telemetry for session in m.sessions),
    }

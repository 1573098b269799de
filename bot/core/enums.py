"""The one enum of case verdicts, the one of run verdicts, and what the static gate says of one row."""

from __future__ import annotations

from enum import StrEnum


class CaseVerdict(StrEnum):
    IDENTICAL = "identical"
    CORRECT = "correct"
    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"
    INCORRECT = "incorrect"
    BUILD_FAILED = "build_failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    SUSPICIOUS = "suspicious"
    NOT_MEASURED = "not_measured"
    NEW = "new"
    REMOVED = "removed"


class RunVerdict(StrEnum):
    """In the order of choice: the first that applies."""

    CANCELLED = "cancelled"
    BROKEN = "broken"
    REGRESSED = "regressed"
    INFRASTRUCTURE = "infrastructure"
    JUDGE_CHANGED = "judge_changed"
    SUSPICIOUS = "suspicious"
    INCONCLUSIVE = "inconclusive"
    INCOMPLETE = "incomplete"
    PASS = "pass"


class StaticVerdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"

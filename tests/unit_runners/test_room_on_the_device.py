"""Cases and plans that a device has no memory for: neither is a crash, and only a plan's own scratch is a side's fault."""

from __future__ import annotations

from pathlib import Path

from small_suite import CASES, PLAN, do, lay

from runners.protocol import FailureKind, Mode, Selection, Side

ONE_CASE = CASES.replace("(1000, 4099)", "(100,)").replace('[_case(random.Random(seed).randint(1, 3000), "drawn")]', "[]")
VAST = PLAN.replace('return {"launches"', 'return {"scratch": {"all": {"bytes": 1 << 50}}, "launches"')
ACCURACY = Selection(modes=(Mode.ACCURACY,))


def test_a_plan_whose_scratch_never_fits_is_told_as_such(tmp_path: Path) -> None:
    base = lay(tmp_path / "base", cases_py=ONE_CASE)
    head = lay(tmp_path / "head", cases_py=ONE_CASE, plan_py=VAST)
    _, facts = do(base, head, selection=ACCURACY)
    (failure,) = facts.measurements[0].failures
    assert (failure.kind, failure.side, failure.file) == (FailureKind.BUILD_FAILED, Side.HEAD, "kernels/scale/plan.py")
    assert failure.message.startswith("the plan's scratch does not fit: 1125899906")


def test_a_case_that_no_device_holds_is_nobodys_crash(tmp_path: Path) -> None:
    base = lay(tmp_path / "base", cases_py=ONE_CASE.replace("100", "1 << 34"))
    head = lay(tmp_path / "head", cases_py=ONE_CASE.replace("100", "1 << 34"), plan_py=PLAN.replace("[64, 32]", "[32, 64]"))
    _, facts = do(base, head, selection=ACCURACY)
    failures = facts.measurements[0].failures
    assert {failure.kind for failure in failures} == {FailureKind.INFRASTRUCTURE}
    assert failures[0].message.startswith("the machine has no memory for 137")

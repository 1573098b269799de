"""The worker over real sandboxes and the emulator: what each kind of bad head becomes, and that nothing else is touched."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from small_suite import CASES, FILES, PLAN, REFERENCE, SOURCE, Facts, do, lay

from runners import worker
from runners.protocol import Ending, FailureKind, Mode, Selection, Side

ACCURACY = Selection(modes=(Mode.ACCURACY,))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return lay(tmp_path / "base")


def heads_failures(facts: Facts) -> set[FailureKind]:
    return {failure.kind for one in facts.of_cases for failure in one.failures if failure.side is Side.HEAD}


def test_untouched_kernels_are_identical_and_cost_nothing(base: Path, tmp_path: Path) -> None:
    head = lay(tmp_path / "head")
    (head / "README.md").write_text("words")
    outcome, facts = do(base, head)
    assert outcome.ending is Ending.COMPLETED and outcome.gpu_seconds == 0
    assert len(facts.of_cases) == 2 and all(one.identical for one in facts.of_cases)


def test_a_comment_in_the_source_compiles_to_identical_code(base: Path, tmp_path: Path) -> None:
    _, facts = do(base, lay(tmp_path / "head", scale_cu=f"// a word\n{SOURCE}"))
    assert all(one.identical for one in facts.of_cases)


def test_a_further_round_of_a_run_leaves_out_the_other_cases(base: Path, tmp_path: Path) -> None:
    one = "scale/edge/tail/n1000/f32"
    _, facts = do(base, lay(tmp_path / "head", scale_cu=f"// a word\n{SOURCE}"), only=(one,))
    assert facts.enumeration is not None and len(facts.enumeration.cases) == 2
    assert [found.case.id for found in facts.of_cases] == [one]


def test_changed_code_is_checked_and_timed(tmp_path: Path) -> None:
    """With a cold case, and scratch that has to be zero before each launch, or its outputs are wrong when timed."""
    counting = SOURCE.replace("int n)", "int n, float* part)").replace("y[i] = KG_FACTOR * x[i];", "y[i] = KG_FACTOR * x[i] + part[i]++;")
    plan = PLAN.replace('{"i32": n}]', '{"i32": n}, {"scratch": "part"}]')
    plan = plan.replace('return {"launches"', 'return {"scratch": {"part": {"bytes": 4 * n, "init": "zero"}}, "launches"')
    shared = {"cases_py": CASES.replace('"tier": "smoke"', '"tier": "smoke", "cold": n > 4000'), "plan_py": plan}
    changed = counting.replace("KG_FACTOR * x[i]", "x[i] * (n > 0 ? 2.0f : 3.0f)")
    assert changed != counting != SOURCE
    outcome, facts = do(lay(tmp_path / "base", scale_cu=counting, **shared), lay(tmp_path / "head", scale_cu=changed, **shared))
    assert outcome.ending is Ending.COMPLETED
    for one in facts.of_cases:
        assert not one.failures and one.accuracy.head and one.accuracy.head.ok
        assert all(0 < s.telemetry["own"] <= 1 and s.telemetry["apart"] <= 1 for s in one.sessions)
        assert len(one.sessions) >= 2 and {s.loaded_first for s in one.sessions} == set(Side)
    assert any(one.held_out and one.tunables == {"block": 32} for one in facts.measurements)
    assert len(outcome.controls) == 2 and not any(one.identical or one.trouble for one in outcome.controls)
    assert all(len(one.sessions) in (2, 4) and len(one.sessions[0].quads) >= 10 for one in outcome.controls)


def test_what_a_command_sets_wrongly_is_not_the_heads_fault(base: Path, tmp_path: Path) -> None:
    sweep = {"block": ("32", "48"), "blokc": ("64",)}
    _, facts = do(base, lay(tmp_path / "head", scale_cu=f"{SOURCE}int later;\n"), selection=Selection(modes=(Mode.ACCURACY,), sweep=sweep))
    said = {(value, one.not_measured) for one in facts.of_cases for value in one.tunables.values() if not one.failures}
    wrong = "scale has no tunable blokc: did you mean block?"
    assert {text for _, text in said} == {wrong, f"scale has no block of 48: set one of 64, 32; {wrong}"}
    assert not heads_failures(facts)


def test_wrong_results_fail_by_accuracy_and_are_not_timed(base: Path, tmp_path: Path) -> None:
    _, facts = do(base, lay(tmp_path / "head", scale_cu=SOURCE.replace("KG_FACTOR *", "2.001f *")))
    assert all(one.accuracy.head and not one.accuracy.head.ok and not one.sessions for one in facts.of_cases)


def test_a_compile_error_names_its_line(base: Path, tmp_path: Path) -> None:
    _, facts = do(base, lay(tmp_path / "head", scale_cu=SOURCE.replace("x[i];", "z[i];")))
    failure = facts.of_cases[0].failures[0]
    assert failure.kind is FailureKind.BUILD_FAILED and failure.side is Side.HEAD
    assert (failure.file, failure.line) == ("kernels/scale/scale.cu", 4)


@pytest.mark.parametrize("name", ["/proc/self/environ", "/etc/passwd", "../../../../../etc/hostname"])
def test_a_file_of_the_system_is_no_include(base: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "canary-5f1c")
    _, facts = do(base, lay(tmp_path / "head", scale_cu=f'#include "{name}"\n{SOURCE}'))
    failure = facts.of_cases[0].failures[0]
    assert failure.kind is FailureKind.BUILD_FAILED and failure.line == 1
    assert "canary" not in repr(facts) and "root:" not in repr(facts)


def test_a_crash_is_the_cases_own(base: Path, tmp_path: Path) -> None:
    crash = SOURCE.replace("if (i < n)", "if (n > 4000 && i == 0) *(volatile int*)8 = 1;\n    if (i < n)")
    _, facts = do(base, lay(tmp_path / "head", scale_cu=crash), selection=ACCURACY)
    kinds = {one.case.shape["n"]: [f.kind for f in one.failures] for one in facts.of_cases}
    assert kinds == {1000: [], 4099: [FailureKind.CRASHED]}


def test_a_write_out_of_bounds_is_incorrect(base: Path, tmp_path: Path) -> None:
    _, facts = do(base, lay(tmp_path / "head", scale_cu=SOURCE.replace("i < n", "i < n + 1")), selection=ACCURACY)
    assert heads_failures(facts) == {FailureKind.INCORRECT}
    assert any("outside buffer y" in f.message for one in facts.of_cases for f in one.failures)


def test_an_input_must_stay_as_it_is(base: Path, tmp_path: Path) -> None:
    spoilt = SOURCE.replace("KG_FACTOR * x[i];", "KG_FACTOR * x[i], ((float*)x)[i] = 0;")
    _, facts = do(base, lay(tmp_path / "head", scale_cu=spoilt), selection=ACCURACY)
    assert all("in buffer x" in one.failures[0].message for one in facts.of_cases)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"block": [block, 1, 1]', '"block": {block}', "launches.0.block"),
        ('"grid": [', '"gird": [', "launches.0.grid"),
        ('{"buffer": "x"}', '{"buffer": "z"}', "launches.0.args.0"),
        ('{"i32": n}', '{"i64": n}', "launches.0.args"),
        ('"kernel": "scale"', '"kernel": "other"', "launches.0.kernel"),
        ("def launches", "import os\n\n\ndef launches", ""),
        ('n, block = case["shape"]["n"]', 'n, block = hash("a") % 7 + 1 or case["shape"]["n"]', "different hash seeds"),
        ('{"i32": n}', '{"i32": case["none"]}', "KeyError"),
    ],
)
def test_a_bad_plan_names_side_file_and_key(base: Path, tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in PLAN
    _, facts = do(base, lay(tmp_path / "head", plan_py=PLAN.replace(old, new)), selection=ACCURACY)
    if not says:  # the standard library is allowed
        return
    failure = facts.of_cases[0].failures[0]
    assert failure.kind is FailureKind.BUILD_FAILED and failure.side is Side.HEAD
    assert failure.file == "kernels/scale/plan.py" and says in failure.message


def test_the_judge_is_the_bases_and_a_change_of_it_is_told(base: Path, tmp_path: Path) -> None:
    lax = REFERENCE.replace("2.0 *", "3.0 *")
    _, facts = do(base, lay(tmp_path / "head", reference_py=lax, cases_py=CASES.replace("(1000, 4099)", "(1000, 77)")), selection=ACCURACY)
    assert facts.enumeration is not None
    assert facts.enumeration.changed_judge == ("kernels/scale/cases.py", "kernels/scale/reference.py")
    assert len(facts.enumeration.judge_hash) == 64
    assert facts.enumeration.new == ("scale/edge/tail/n77/f32",) and facts.enumeration.removed == ("scale/edge/tail/n4099/f32",)
    assert all(one.identical for one in facts.of_cases if one.case.shape["n"] == 1000)


def test_a_judge_that_the_base_branch_has_changed_since_is_told_but_judges_nothing(base: Path, tmp_path: Path) -> None:
    tip = lay(tmp_path / "tip", reference_py=REFERENCE.replace("2.0 *", "3.0 *"), plan_py=PLAN.replace("64, 32", "32, 64"))
    (tip / "kernels/newer").mkdir()
    (tip / "kernels/newer/plan.py").touch()
    head = lay(tmp_path / "head", plan_py=PLAN + "# ours\n")
    _, facts = do(base, head, tip=tip, selection=ACCURACY)
    assert facts.enumeration is not None and facts.enumeration.changed_judge == ("kernels/scale/reference.py",)
    assert all(not one.failures for one in facts.of_cases)


def test_a_case_that_head_adds_is_judged_by_its_own_reference(base: Path, tmp_path: Path) -> None:
    _, facts = do(base, lay(tmp_path / "head", cases_py=CASES.replace("4099)", "4099, 77)")), selection=ACCURACY)
    added = [one for one in facts.measurements if one.case.shape["n"] == 77]
    assert len(added) == 1 and not added[0].failures and added[0].accuracy.head and added[0].accuracy.head.ok


def test_a_reference_that_head_brings_along_cannot_reach_what_judges_it(base: Path, tmp_path: Path) -> None:
    """A thief that overwrites every output of a reference must not hide that scale is wrong."""
    head = lay(tmp_path / "head", scale_cu=SOURCE.replace("KG_FACTOR *", "3.0f *"))
    thief = head / "kernels" / "thief"
    thief.mkdir()
    forges = """    for file in Path("/out").glob("*.f64"):
        if not file.with_suffix(".done").exists():
            file.with_suffix(".done").touch()
            (1.5 * np.fromfile(file)).tofile(file)
"""
    files = {**FILES, "reference.py": "from pathlib import Path\n" + REFERENCE.replace("inputs):\n", f"inputs):\n{forges}", 1)}
    for name, text in files.items():
        (thief / name.replace("scale", "thief")).write_text(text.replace("scale", "thief"))
    _, facts = do(base, head, selection=ACCURACY)
    wrong = [one for one in facts.of_cases if one.case.kernel == "scale"]
    assert wrong and all(one.accuracy.head and not one.accuracy.head.ok for one in wrong)


def test_a_broken_judge_is_nobodys_kernel(tmp_path: Path) -> None:
    base = lay(tmp_path / "base", cases_py="1 / 0\n")
    outcome, _ = do(base, lay(tmp_path / "head"))
    assert outcome.ending is Ending.FAILED and outcome.failure is not None
    assert outcome.failure.kind is FailureKind.INFRASTRUCTURE and outcome.failure.file == "kernels/scale/cases.py"


def test_a_cancelled_job_ends_within_two_seconds(base: Path, tmp_path: Path) -> None:
    loop = SOURCE.replace("if (i < n)", "while (n > 0) __syncthreads();\n    if (i < n)")
    stop, ended = threading.Event(), []
    head = lay(tmp_path / "head", scale_cu=loop)
    thread = threading.Thread(target=lambda: ended.append(do(base, head, stop, selection=ACCURACY)[0]))
    thread.start()
    time.sleep(3)
    stop.set()
    thread.join(timeout=4)
    assert ended and ended[0].ending is Ending.CANCELLED


def test_a_head_that_is_wrong_already_is_still_checked_for_races(base: Path, tmp_path: Path) -> None:
    racing = "__shared__ float room[KG_BLOCK]; room[threadIdx.x] = 2.0f * x[i < n ? i : 0];"
    wrong = f"    {racing}\n    if (i <= n) y[i] = room[KG_BLOCK - 1 - threadIdx.x];"
    _, facts = do(base, lay(tmp_path / "head", scale_cu=SOURCE.replace("    if (i < n) y[i] = KG_FACTOR * x[i];", wrong)))
    for one in facts.of_cases:
        assert heads_failures(facts) == {FailureKind.INCORRECT}
        assert {(race.file, race.line) for race in one.races} >= {("kernels/scale/scale.cu", 5)}


def test_a_drawn_shape_never_takes_a_cases_place(base: Path, tmp_path: Path) -> None:
    same = CASES.replace('_case(random.Random(seed).randint(1, 3000), "drawn")', '_case(1000, "tail")')
    base = lay(tmp_path / "same", cases_py=same)
    head = lay(tmp_path / "head", cases_py=same, scale_cu=SOURCE.replace("KG_FACTOR * x[i]", "x[i] * (n > 0 ? 2.0f : 3.0f)"))
    _, facts = do(base, head, selection=ACCURACY)
    assert facts.of_cases and not any(one.held_out for one in facts.measurements)


def test_a_kernel_that_never_ends_is_the_heads_fault(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PATIENCE", replace(worker.PATIENCE, run=2.0))
    endless = SOURCE.replace("    if (i < n)", "    volatile int spin = 1; while (spin) {}\n    if (i < n)")
    _, facts = do(base, lay(tmp_path / "head", scale_cu=endless), selection=ACCURACY)
    assert heads_failures(facts) == {FailureKind.TIMED_OUT}
    assert not any(failure.side is Side.BASE for one in facts.of_cases for failure in one.failures)
    assert not any(one.races for one in facts.of_cases)  # not looped through once more to look for races


def test_two_runs_on_equal_input_are_equal_bit_for_bit_unless_the_case_says_otherwise(tmp_path: Path) -> None:
    cases = CASES.replace('"tier": "smoke"', '"tier": "smoke", "nondeterministic": n > 4000')
    changing = SOURCE.replace("x[i];", "x[i] * ((unsigned long long)y >> 8 & 1 ? 1.0f : 1.0000001f);")
    assert cases != CASES and changing != SOURCE
    base = lay(tmp_path / "base", cases_py=cases)
    _, facts = do(base, lay(tmp_path / "head", cases_py=cases, scale_cu=changing), selection=ACCURACY)
    told = {one.case.shape["n"]: [(f.kind, f.side, f.message) for f in one.failures] for one in facts.of_cases}
    assert told == {1000: [(FailureKind.INCORRECT, Side.HEAD, "two runs on equal input differ in y")], 4099: []}

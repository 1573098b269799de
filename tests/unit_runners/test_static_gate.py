"""The static gate over two trees: a new spill, an error on one target, equal sources left alone."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.static import static
from bot.core.enums import StaticVerdict
from bot.core.static_gate import compare
from runners import static_gate
from runners.child import Room
from runners.protocol import Job, Selection, Side, StaticEntry
from runners.trees import Trees

PLAN = """
def tunables(case, device): return {}
def builds(case, device, tunables):
    return {"b": {"source": "k.cu", "block": 256, "blocks_per_unit": PER_UNIT, "defines": {"KG_N": case["shape"]["n"]}}}
def launches(case, device, tunables, resources):
    return {"launches": [{"build": "b", "kernel": "k", "grid": [1, 1, 1], "block": [256, 1, 1], "dynamic_shared": SHARED,
                          "args": [{"buffer": "o"}, {"buffer": "i"}, {"i32": 4}]}]}
"""
CASES = """
def cases(tier, device):
    return [{"id": f"k/edge/r/n{n}-{x}/f32", "kernel": "k", "model": "edge", "role": "r", "shape": {"n": n}, "dtype": "f32", "tier": "gate"}
            for n, x in ((8, 0), (8, 1), (4, 0))]
def draw(seed, device): return []
def buffers(case):
    return [{"name": "o", "role": "out", "dtype": "f32", "shape": [256]}, {"name": "i", "role": "in", "dtype": "f32", "shape": [65536]}]
"""
SOURCE = """#include "kg.h"
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT) k(float* o, const float* in, int n) {
    float v[LIVE];
    #pragma unroll
    for (int k = 0; k < LIVE; ++k) v[k] = in[k * 256 + threadIdx.x];
    for (int j = 0; j < n; ++j) {
        #pragma unroll
        for (int k = 0; k < LIVE; ++k) v[k] = kg_fma(v[k], in[j], v[(k + 7) % LIVE]) + KG_N;
    }
    float t = 0.0f;
    #pragma unroll
    for (int k = 0; k < LIVE; ++k) t += v[k] * v[k];
    o[threadIdx.x] = t;
}
"""
TARGETS = ("gfx906", "sm_61")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGATE_CACHE", str(tmp_path / "cache"))


def tree(place: Path, live: int = 8, shared: int = 0, per_unit: int = 8, line: str = "") -> Path:
    folder = place / "kernels/k"
    folder.mkdir(parents=True)
    (folder / "plan.py").write_text(PLAN.replace("SHARED", str(shared)).replace("PER_UNIT", str(per_unit)))
    (folder / "cases.py").write_text(CASES)
    (folder / "reference.py").write_text("def reference(case, inputs): return {}\ndef plain(case, inputs): return {}\n")
    (folder / "k.cu").write_text(SOURCE.replace("LIVE", str(live)) + line)
    return place


def found(base: Path, head: Path, everything: bool = False) -> tuple[StaticEntry, ...]:
    job = Job(1, "j", "r", "1", "o/r", "", "0" * 40, "0" * 40, "0" * 40, "host", Selection(), 1.0, 0.1, 0.03)
    return static_gate.entries(job, Trees(base, head, base), Room(threading.Event()), TARGETS, everything)


def test_a_new_spill_is_found_on_every_target(tmp_path: Path) -> None:
    reports = compare(found(tree(tmp_path / "base"), tree(tmp_path / "head", live=200)))
    assert {(report.target, report.row) for report in reports} == {
        (target, row) for target in TARGETS for row in ("k/edge/r/n8-0/f32 (+1)", "k/edge/r/n4-0/f32")
    }
    assert all("new spill" in report.change and report.verdict is StaticVerdict.FAIL and report.spill_bytes > 0 for report in reports)


def test_an_error_on_one_target_is_that_targets_alone(tmp_path: Path) -> None:
    reports = compare(found(tree(tmp_path / "base"), tree(tmp_path / "head", line="#if KG_CUDA\nint broken(;\n#endif\n")))
    assert {(report.target, report.bad) for report in reports} == {("gfx906", False), ("sm_61", True)}
    assert all("kernels/k/k.cu" in report.log for report in reports if report.bad)


def test_a_plan_that_cannot_be_resident_is_named_and_its_dynamic_memory_counted(tmp_path: Path) -> None:
    entries = found(tree(tmp_path / "base"), tree(tmp_path / "head", shared=40000))
    head = [entry for entry in entries if entry.side is Side.HEAD]
    assert head and all("declared resident" in entry.infeasible for entry in head)
    assert {entry.resources.dynamic_shared for entry in head if entry.resources} == {40000}
    assert all(report.bad and report.change == "cannot be resident" for report in compare(entries))


def test_equal_kernels_are_left_alone_unless_all_are_wanted(tmp_path: Path) -> None:
    base, head = tree(tmp_path / "base"), tree(tmp_path / "head")
    assert found(base, head) == ()
    reports = compare(found(base, head, everything=True))
    assert reports and not any(report.change or report.bad or report.verdict is not StaticVerdict.OK for report in reports)
    assert len(list((tmp_path / "cache/resources").iterdir())) == 4  # two rows on two targets, once for both sides


def forged(tmp_path: Path) -> None:
    """Kept answers made recognisable."""
    for file in (tmp_path / "cache/static").iterdir():
        file.write_text(re.sub(r'"registers":\d+', '"registers":77', file.read_text()))


def registers(entries: tuple[StaticEntry, ...]) -> set[int]:
    return {entry.resources.registers for entry in entries if entry.resources}


def test_an_answer_is_recalled_until_any_file_it_stands_on_changes(tmp_path: Path) -> None:
    base, head = tree(tmp_path / "base"), tree(tmp_path / "head", live=9)
    for side in (base, head):
        (side / "kernels/include").mkdir()
        (side / "kernels/include/more.h").write_text("#pragma once\n")
        (side / "kernels/k/k.cu").write_text('#include "more.h"\n' + (side / "kernels/k/k.cu").read_text())
    assert registers(found(base, head)) != {77}
    forged(tmp_path)
    assert registers(found(base, head)) == {77}
    (base / "kernels/include/more.h").write_text("#pragma once\n// changed\n")
    assert 77 not in registers(found(base, head))
    forged(tmp_path)
    (head / "kernels/k/plan.py").write_text(PLAN.replace("SHARED", "512").replace("PER_UNIT", "8"))
    assert 77 not in registers(found(base, head))


def test_an_answer_with_a_failure_is_asked_for_again(tmp_path: Path) -> None:
    found(tree(tmp_path / "base"), tree(tmp_path / "head", line="#if KG_CUDA\nint broken(;\n#endif\n"))
    assert len(list((tmp_path / "cache/static").iterdir())) == 1  # gfx906's alone


def test_a_kernel_without_a_gate_case_has_no_rows_the_second_time_either(tmp_path: Path) -> None:
    base, head = tree(tmp_path / "base"), tree(tmp_path / "head", live=9)
    for side in (base, head):
        (side / "kernels/k/cases.py").write_text(CASES + "def cases(tier, device): return []\n")
    assert found(base, head) == found(base, head) == ()


def test_the_command_compares_revisions_and_writes_json_and_a_page(tmp_path: Path) -> None:
    place = tree(tmp_path / "repo")
    git("init", "-q", "-b", "main", cwd=place)
    for live in (8, 200):
        (place / "kernels/k/k.cu").write_text(SOURCE.replace("LIVE", str(live)))
        git("add", "-A", cwd=place)
        git("commit", "-qm", f"{live} values", cwd=place)
    words = ["--repo", place, "--rev", "HEAD", "--base", "HEAD~1", "--targets", "gfx906,sm_61"]
    done = CliRunner().invoke(static, [*map(str, words), "--json", str(tmp_path / "s.json"), "--html", str(tmp_path / "s.html")])
    assert done.exit_code == 1 and "new spill" in done.output
    data = json.loads((tmp_path / "s.json").read_bytes())
    assert not data["ok"] and {row["verdict"] for row in data["static"]} == {"fail"}
    assert all(row["instructions"]["fma"] > 100 and row["code_bytes"] > 1000 and row["seconds"] > 0 for row in data["static"])
    page = (tmp_path / "s.html").read_text()
    assert page.count("<details><summary>") == len(data["static"]) and "<ins>+\tglobal_load" in page and "<ins>+\tfma.rn.ftz.f32" in page


def git(*words: str, cwd: Path) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *author, *words], cwd=cwd, check=True, capture_output=True)

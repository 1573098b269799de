"""Counts of both sides of a job: on equal inputs, paired by line, from the same run as the race check."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from pydantic import TypeAdapter
from small_suite import SOURCE, do, lay

from kernels.catalog import load_folder
from kernels.spec import Build, plain, read
from runners.children.race import check_case
from runners.counting import paired
from runners.host_device import HOST, HostDevice
from runners.protocol import Access, Count, CountPair, Measurement, Mode, Selection, SourceCounts, dump, load
from runners.toolchains import CompileRequest
from runners.toolchains.host import HostToolchain
from runners.trees import Trees

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = "kernels/la_prefill"


def source_counts(measurement: Measurement) -> SourceCounts:
    """As the control side reads them."""
    return TypeAdapter(SourceCounts).validate_python(load(Measurement, dump(measurement)).counts["source"])


def counted(root: Path, case_id: str, made: Path) -> tuple[Count, ...]:
    """The counts of one case of la_prefill as it stands below `root`."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "la_prefill"]:
        del sys.modules[name]  # of the other side
    module, device = load_folder(root / FOLDER), plain(HOST)
    case = next(case for case in module.cases.cases("smoke", device) if case["id"] == case_id)
    tunables = {name: values[0] for name, values in module.plan.tunables(case, device).items()}
    builds = module.plan.builds(case, device, tunables)
    code = {n: HostToolchain().compile(CompileRequest(root, FOLDER, read(Build, b), "host", made, True)) for n, b in builds.items()}
    plan = {"schema": 1, "tunables": tunables, "builds": builds, **module.plan.launches(case, device, tunables, {})}
    modules = {name: str(built.path) for name, built in code.items()}
    found, counts = check_case(
        HostDevice(), {"buffers": module.cases.buffers(case), "plan": plan, "modules": modules, "seed": 3, "waves": [32]}
    )
    assert not found and counts is not None
    return counts


def test_the_sample_goes_from_32_way_conflicts_to_none(tmp_path: Path) -> None:
    """la_prefill's rows of K, which lanes walk down, before and after the pad of one word."""
    base, head = tmp_path / "base", REPOSITORY
    shutil.copytree(REPOSITORY / FOLDER, base / FOLDER)
    shutil.copytree(REPOSITORY / "bot/forge/samples/main/la_prefill", base / FOLDER, dirs_exist_ok=True)
    case = "la_prefill/qwen3.5-35b-a3b/linear/t33-s0/f32"
    before, after = counted(base, case, tmp_path / "before"), counted(head, case, tmp_path / "after")
    (rows,) = (count for count in before if any(count.lost))
    assert "chunk.k[s][row]" in line_of(base, rows) and (rows.access, rows.ways) == (Access.SHARED_LOAD, (32, 32, 32))
    assert any(count.access is Access.SHARED_LOAD for count in after)
    assert not [count for count in after if any(count.lost)], "head has no conflict anywhere"


def line_of(root: Path, count: Count) -> str:
    return (root / count.file).read_text(encoding="utf-8").splitlines()[count.line - 1]


def test_equal_accesses_count_the_same_and_a_moved_line_is_found_again(tmp_path: Path) -> None:
    changed = "// a word more\n" + SOURCE.replace("KG_FACTOR * x[i]", "x[i] * (n > 0 ? 2.0f : 3.0f)")
    _, facts = do(lay(tmp_path / "base"), lay(tmp_path / "head", scale_cu=changed), selection=Selection(modes=(Mode.ACCURACY,)))
    assert facts.of_cases
    for case in facts.of_cases:
        found = source_counts(case)
        assert found.compiler and {pair.head.access for pair in found.lines if pair.head} == {Access.GLOBAL_LOAD, Access.GLOBAL_STORE}
        assert all(pair.base and pair.head and pair.head.line == pair.base.line + 1 for pair in found.lines)
        assert all(pair.base and pair.head and pair.base.sectors == pair.head.sectors > 0 for pair in found.lines)
    assert not any("source" in one.counts for one in facts.measurements if one.held_out)


def test_lines_are_paired_by_their_text(tmp_path: Path) -> None:
    texts = {"base": "a\nold = x[i];\nb\ngone\nc\n", "head": "new line\na\nold = x[i + 1];\nb\nc\nadded\n"}
    for side, text in texts.items():
        (tmp_path / side).mkdir()
        (tmp_path / side / "k.cu").write_text(text)
    trees = Trees(tmp_path / "base", tmp_path / "head", tmp_path / "base")

    def count(line: int, access: Access = Access.GLOBAL_LOAD, file: str = "k.cu") -> Count:
        return Count(file, line, access, 1)

    foreign = count(1, file="../../outside.cu")
    base = (count(2), count(4), count(5), count(5, Access.GLOBAL_STORE), foreign)
    head = (count(3), count(5), count(6), foreign)
    assert paired(trees, base, head) == (
        CountPair(base[0], head[0]),
        CountPair(base[2], head[1]),
        CountPair(None, head[2]),
        CountPair(None, head[3]),
        CountPair(base[1]),
        CountPair(base[3]),
        CountPair(base[4]),
    )

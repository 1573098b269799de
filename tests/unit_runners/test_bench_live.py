"""What `kernelgate bench live` compares: the suite's own code, and the same with a delay that the compiler keeps."""

import sys
from pathlib import Path

import pytest

from kernels.catalog import SUITE
from kernels.spec import Build
from runners.toolchains import CompileRequest, for_target

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
import live

DEFINES = {"KG_DK": 32, "KG_DV": 32, "KG_SPLIT": 2, "KG_COLUMNS": 32}


@pytest.mark.parametrize("target", ["host", "sm_90"])
def test_a_delay_is_in_the_code_and_without_one_nothing_has_changed(target: str, tmp_path: Path) -> None:
    def code(checkout: Path, **defines: int) -> str:
        build = Build("la_decode.cu", 64, {**DEFINES, **defines})
        return for_target(target).compile(CompileRequest(checkout, "kernels/la_prefill", build, target, tmp_path)).hashes["la_decode"]

    made = live.suite(tmp_path / "suite")
    own, few, many = code(made), code(made, KG_BENCH_TURNS=1), code(made, KG_BENCH_TURNS=9)
    assert own == code(SUITE.parent) and len({own, few, many}) == 3
    texts = [source.read_text() for source in made.glob("kernels/*/*.cu")]
    assert all(text.count("{ kg_bench_delay();") == text.count('extern "C" __global__') > 0 for text in texts)

"""What a source would hide from those who read its code object out here: files in it, words in the compiler's name, code that no hash
covers."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.spec import Build
from runners.toolchains import CompileError, CompileRequest, for_target

KERNEL = """#include "kg.h"
%s
extern "C" __global__ void KG_LAUNCH_BOUNDS(64, 1) k(const float* x, float* y, int n) {
    %s
    y[threadIdx.x] = x[threadIdx.x];
}
"""


def refused(tmp_path: Path, target: str, beside: str = "", inside: str = "") -> str:
    (tmp_path / "kernels/k").mkdir(parents=True)
    (tmp_path / "kernels/k/k.cu").write_text(KERNEL % (beside, inside))
    request = CompileRequest(tmp_path, "kernels/k", Build("k.cu", 64), target, tmp_path / "out")
    with pytest.raises(CompileError) as error:
        for_target(target).compile(request)
    return str(error.value)


@pytest.mark.parametrize("spelt", ["nop; .inc", "here: .inc", "/* */ .inc", ".INC"])
def test_a_file_is_not_embedded_however_it_is_spelt(tmp_path: Path, spelt: str) -> None:
    assert "file, macro or section directives" in refused(tmp_path, "host", inside=f'asm volatile("{spelt}" "bin \\"/usr/bin/true\\"");')


@pytest.mark.parametrize("target", ["host", "gfx906"])
@pytest.mark.parametrize("opened", [".section .note", ".pushsection .note", '.section \\".n\\\\157te\\"', ".section .debug_info"])
def test_notes_and_debug_information_are_the_compilers_own(tmp_path: Path, target: str, opened: str) -> None:
    if target == "gfx906" and "debug" in opened:
        pytest.skip("nothing of it is read there")
    assert "inline assembly may not" in refused(tmp_path, target, inside=f'asm volatile("{opened}\\n.byte 0x90\\n.text");')


@pytest.mark.parametrize(
    "code",
    [
        "__device__ float f = 2.0f; __attribute__((constructor)) static void sneak() { f = 3.0f; }",
        "__device__ float f = 2.0f; static int sneak = (f = 3.0f, 1);",
        'static void one() {} extern "C" void (*choose())() { return one; } void f() __attribute__((ifunc("choose")));',
    ],
)
def test_no_code_runs_when_it_is_loaded(tmp_path: Path, code: str) -> None:
    """The hash of a kernel covers what the kernel reaches: another value of `f` would pass as identical."""
    assert "runs when it is loaded" in refused(tmp_path, "host", beside=code)


def test_nothing_takes_the_place_of_what_the_emulator_calls(tmp_path: Path) -> None:
    """It would run, and no kernel's hash would cover it."""
    code = 'extern "C" __attribute__((visibility("hidden"))) void* memset(void* place, int, unsigned long) { return place; }'
    assert "memset is defined here, and is the emulator's own" in refused(tmp_path, "host", beside=code)

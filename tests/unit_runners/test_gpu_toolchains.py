"""The three GPU compilers as the harness uses them: resources, hashes, errors, and no way out of the checkout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernels.spec import Build
from runners.toolchains import CodeObject, CompileError, CompileRequest, elf, for_target
from runners.toolchains.nvidia_files import NvrtcFiles, installed

TARGETS = ("gfx906", "gfx1030", "gfx1151", "sm_61", "sm_90")

SCALE = """#include "kg.h"
__constant__ float factors[4] = {1.0f, 2.0f, 3.0f, 4.0f};
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT) scale(float* out, const float* in, int n, float by) {
    __shared__ float tile[KG_BLOCK];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (i < n) out[i] = tile[threadIdx.x ^ 1] * by * factors[i & 3];
}
"""
OTHER = (
    'extern "C" __global__ void KG_LAUNCH_BOUNDS(64, 1) other(float* out, int n) { for (int i = 0; i < n; ++i) out[i] = out[i] * 0.3f; }\n'
)
# 200 values live across a loop, in eight resident blocks whose threads have 32 to 96 registers: every compiler must spill.
SPILL = """#include "kg.h"
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT) heavy(float* out, const float* in, int n) {
    float v[200];
    #pragma unroll
    for (int k = 0; k < 200; ++k) v[k] = in[k * 1024 + threadIdx.x];
    for (int j = 0; j < n; ++j) {
        float s = in[j];
        #pragma unroll
        for (int k = 0; k < 200; ++k) v[k] = kg_fma(v[k], s, v[(k + 7) % 200]);
    }
    float t = 0.0f;
    #pragma unroll
    for (int k = 0; k < 200; ++k) t += v[k] * v[k];
    out[threadIdx.x] = t;
}
"""

Compile = Callable[..., CodeObject]


@pytest.fixture
def compile_text(tmp_path: Path) -> Compile:
    """Compiles one source text for a target; every call has a checkout of its own."""
    made = iter(range(1000))

    def compiled(text: str, target: str, *, block: int = 256, per_unit: int = 1, folder: str = "", **defines: int) -> CodeObject:
        checkout = tmp_path / (folder or f"checkout{next(made)}")
        (checkout / "kernels/k").mkdir(parents=True, exist_ok=True)
        (checkout / "kernels/k/k.cu").write_text(text)
        build = Build("k.cu", block=block, blocks_per_unit=per_unit, defines=dict(defines))
        return for_target(target).compile(CompileRequest(checkout, "kernels/k", build, target, checkout / "out"))

    return compiled


@pytest.mark.parametrize("target", TARGETS)
def test_resources_parameters_and_occupancy(compile_text: Compile, target: str) -> None:
    made = compile_text(SCALE, target)
    (kernel,) = made.kernels
    assert kernel.name == "scale" and kernel.max_block == 256
    assert 4 <= kernel.registers <= 40 and kernel.code_bytes > 100
    assert (kernel.static_shared, kernel.spill_bytes, kernel.local_bytes) == (1024, 0, 0)
    assert made.parameter_bytes == {"scale": (8, 8, 4, 4)}
    assert kernel.blocks_per_unit >= 8 and kernel.waves_per_simd >= 8 and kernel.limiter
    assert made.path.is_file() and made.toolchain


@pytest.mark.parametrize("target", TARGETS)
def test_instructions_are_counted_by_kind(compile_text: Compile, target: str) -> None:
    (kernel,) = compile_text(SCALE.replace("* by *", "* kg_fma(by, by, in[0]) *"), target).kernels
    found = kernel.instructions
    assert (found["lds"], found["barrier"]) == (2, 1) and found["fma"] >= 1 and 2 <= found["global"] <= 4
    assert 20 <= found["total"] <= 100 and "matrix" not in found


def test_a_bound_on_waves_takes_registers_that_no_instruction_names(compile_text: Compile) -> None:
    bound = "__attribute__((amdgpu_flat_work_group_size(256, 256), amdgpu_waves_per_eu(1, 2)))"
    text = SCALE.replace("KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT)", bound)
    free, bounded = (compile_text(body, "gfx906").kernels[0] for body in (SCALE, text))
    assert bounded.registers < 20 and bounded.waves_per_simd == bounded.compiler_waves == 2 < free.waves_per_simd


@pytest.mark.parametrize("target", ["gfx906", "gfx1030", "gfx1151"])
def test_registers_that_shared_memory_leaves_over_are_taken_too(compile_text: Compile, target: str) -> None:
    (kernel,) = compile_text(SCALE.replace("tile[KG_BLOCK]", "tile[KG_BLOCK + 12000]"), target).kernels
    assert kernel.registers < 20 and kernel.allocated_registers > 80 and kernel.waves_per_simd == kernel.compiler_waves


@pytest.mark.parametrize("target", TARGETS)
def test_a_spill_is_seen(compile_text: Compile, target: str) -> None:
    (kernel,) = compile_text(SPILL, target, block=256, per_unit=8).kernels
    assert kernel.spill_bytes > 0 and kernel.local_bytes > 0


@pytest.mark.parametrize("target", TARGETS)
def test_the_hash_knows_what_changes_a_launch_and_nothing_else(compile_text: Compile, target: str) -> None:
    def hash_of(text: str, folder: str = "", **build: int) -> str:
        return compile_text(text, target, folder=folder, **build).hashes["scale"]

    plain = hash_of(SCALE)
    assert hash_of(SCALE, folder="elsewhere/under/another/name") == plain
    assert hash_of("// a remark\n" + SCALE.replace("int i =", "int i =  /* index */")) == plain
    assert hash_of(SCALE + OTHER) == plain or target.startswith("gfx")  # there distances to constants move: timed, not skipped
    assert hash_of(SCALE.replace("3.0f", "3.5f")) != plain
    assert hash_of(SCALE.replace("^ 1", "^ 2")) != plain
    assert hash_of(SCALE, block=128) != plain
    assert hash_of(SCALE.replace("KG_LAUNCH_BOUNDS(KG_BLOCK,", "KG_LAUNCH_BOUNDS(512,")) != plain


@pytest.mark.parametrize("target", TARGETS)
def test_a_callee_that_stays_a_function_is_part_of_the_hash(compile_text: Compile, target: str) -> None:
    text = SCALE.replace(
        "__constant__",
        "__device__ __noinline__ float twist(float x, int n) { for (int i = 0; i < n; ++i) x = x * 0.7f + n; return x; }\n__constant__",
    )
    text = text.replace("* by *", "* twist(by, n) *")
    first, second = (compile_text(body, target).hashes["scale"] for body in (text, text.replace("0.7f", "0.6f")))
    assert first != second


@pytest.mark.parametrize("target", TARGETS)
def test_dynamic_shared_memory_is_no_static_memory(compile_text: Compile, target: str) -> None:
    text = SCALE.replace("__shared__ float tile[KG_BLOCK];", "KG_DYNAMIC_SHARED(float, tile);")
    assert compile_text(text, target).kernels[0].static_shared == 0


@pytest.mark.parametrize("target", TARGETS)
def test_an_error_names_file_and_line(compile_text: Compile, target: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_text(SCALE.replace("* by *", "* nothing_of_the_kind *"), target)
    assert (caught.value.file, caught.value.line) == ("kernels/k/k.cu", 8)
    assert "nothing_of_the_kind" in caught.value.log and "/src/" not in caught.value.log


@pytest.mark.parametrize("target", [*TARGETS, "host"])
@pytest.mark.parametrize("line", ['#include "/proc/self/environ"', "#include </etc/passwd>", "#include <../../usr/share/dict/words>"])
def test_no_compiler_opens_or_quotes_a_file_of_the_system(compile_text: Compile, target: str, line: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_text(SCALE.replace("__constant__", f"{line}\n__constant__", 1), target)
    error = caught.value
    assert (error.file, error.line) == ("kernels/k/k.cu", 2)
    assert "root:" not in error.log and "PATH" not in error.log and "HOME" not in error.log


@pytest.mark.parametrize("target", ["gfx906", "gfx1030", "gfx1151"])
def test_inline_assembly_reads_no_file_even_by_macros(compile_text: Compile, target: str) -> None:
    hidden = 'asm volatile(".macro m x\\n .\\\\x \\"/proc/self/environ\\"\\n.endm\\n m inc" "bin");'
    with pytest.raises(CompileError) as caught:
        compile_text(SCALE.replace("__syncthreads();", f"__syncthreads(); {hidden}"), target)
    assert "inline assembly" in str(caught.value)


@pytest.mark.parametrize("target", TARGETS)
def test_a_template_bomb_is_killed_or_refused_and_blamed_on_its_source(
    compile_text: Compile, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runners import sandbox
    from runners.toolchains import amdgpu, nvrtc

    for module in (amdgpu, nvrtc):
        monkeypatch.setattr(module, "LIMITS", sandbox.Limits(seconds=1.5, cpu_seconds=2, memory_bytes=None))
    bomb = "template<int N> struct B { static constexpr long v = B<N - 1>::v + B<N - 2>::v * B<N - 1>::v; };\n"
    double = "\n".join(f"#define M{i + 1} M{i} M{i}" for i in range(30)) + "\n#define M0 int f();\nM30\n"
    with pytest.raises(CompileError):
        compile_text(SCALE + bomb + double, target)


def test_wrong_defines_and_options_do_not_reach_a_compiler(compile_text: Compile, tmp_path: Path) -> None:
    for build in (
        Build("k.cu", 64, {"A B": 1}),
        Build("k.cu", 64, {"A": '"x" -include /etc/passwd'}),
        Build("k.cu", 64, options=("-include",)),
    ):
        (tmp_path / "kernels/k").mkdir(parents=True, exist_ok=True)
        (tmp_path / "kernels/k/k.cu").write_text(SCALE)
        with pytest.raises(CompileError):
            for_target("gfx906").compile(CompileRequest(tmp_path, "kernels/k", build, "gfx906", tmp_path / "out"))


def test_pascal_needs_nvrtc_12() -> None:
    newer = NvrtcFiles(Path("libnvrtc.so.13"), (Path("include"),), "13.0.88")
    assert newer.serves("sm_90") and not newer.serves("sm_61")
    assert installed()[0].serves("sm_61")


def test_a_file_that_is_no_code_object_is_nobodys_kernel(tmp_path: Path) -> None:
    (tmp_path / "x.co").write_bytes(b"\x7fELF" + bytes(10))
    with pytest.raises(elf.BadCodeObject):
        elf.kernels(tmp_path / "x.co")

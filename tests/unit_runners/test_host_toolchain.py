"""Host code objects: equal code gives equal bytes, hashes see what a kernel reaches and nothing else, errors have a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.spec import Build
from runners.emulator import description
from runners.toolchains import CodeObject, CompileError, CompileRequest, host_compiler
from runners.toolchains.elf_host import variable_name
from runners.toolchains.host import HostToolchain

TWO = """
#include "kg.h"
__device__ float twice(float x) { return x * FACTOR; }
__device__ __noinline__ float third(float x) { return x / 3.0f; }
template <int N> __device__ float through(float x) {
    __shared__ float tile[N];
    tile[threadIdx.x] = x;
    __syncthreads();
    return tile[0];
}
extern "C" __global__ void one(const float* in, float* out, int n, float f) {
    __shared__ kg_half other[32];
    other[threadIdx.x] = kg_to_half(f);
    out[0] = twice(in[n]) + through<64>(f) + kg_to_float(other[1]);
}
extern "C" __global__ void two(float* out, int64_t n) { out[n] = third(out[n]); }
"""


def compile_text(place: Path, text: str, toolchain: HostToolchain | None = None, **build: object) -> CodeObject:
    folder = place / "kernels" / "k"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "k.cu").write_text(text, encoding="utf-8")
    defines = build.pop("defines", {"FACTOR": 2})
    request = CompileRequest(place, "kernels/k", Build("k.cu", 64, defines, **build), "host", place / "out")  # type: ignore[arg-type]
    return (toolchain or HostToolchain()).compile(request)


def test_what_a_code_object_says(tmp_path: Path) -> None:
    built = compile_text(tmp_path, TWO)
    assert built.parameter_bytes == {"one": (8, 8, 4, 4), "two": (8, 8)}
    assert {k.name: k.static_shared for k in built.kernels} == {"one": 64 * 4 + 32 * 2, "two": 0}
    told = {kernel.name: kernel for kernel in description.read(built.path).kernels}
    assert [p.is_float for p in told["one"].parameters] == [False, False, False, True]
    assert {v.name: v.bytes for v in told["one"].shared} == {"tile": 256, "other": 64}


@pytest.mark.parametrize("bundled", [False, True])
def test_equal_code_gives_equal_bytes_from_any_place(tmp_path: Path, bundled: bool) -> None:
    zig = host_compiler.zig_folder()
    assert zig is not None, "the ziglang wheel is locked"
    toolchain = HostToolchain(host_compiler.bundled(zig) if bundled and zig else None)
    here, there = (compile_text(tmp_path / name, TWO, toolchain) for name in ("here", "a/longer/there"))
    assert here.path.read_bytes() == there.path.read_bytes()
    assert here.hashes == there.hashes


def test_comments_change_no_hash(tmp_path: Path) -> None:
    plain = compile_text(tmp_path / "a", TWO)
    commented = compile_text(tmp_path / "b", TWO.replace("#include", "// a remark\n\n#include"))
    assert plain.hashes == commented.hashes


def test_only_kernels_that_reach_the_change_get_a_new_hash(tmp_path: Path) -> None:
    before = compile_text(tmp_path / "a", TWO).hashes
    inlined = compile_text(tmp_path / "b", TWO, defines={"FACTOR": 5}).hashes
    called = compile_text(tmp_path / "c", TWO.replace("3.0f", "7.0f")).hashes
    shared = compile_text(tmp_path / "d", TWO.replace("through<64>", "through<65>")).hashes
    assert inlined["one"] != before["one"] and inlined["two"] == before["two"]
    assert called["two"] != before["two"] and called["one"] == before["one"]
    assert shared["one"] != before["one"] and shared["two"] == before["two"]


def test_options_reach_the_compiler(tmp_path: Path) -> None:
    text = '#include "kg.h"\nextern "C" __global__ void k(float* a) { a[0] = a[1] * a[2] + a[3]; }\n'
    apart = compile_text(tmp_path / "a", text)
    fused = compile_text(tmp_path / "b", text, options=("fp-contract=off",))
    assert apart.hashes != fused.hashes or "v3" not in " ".join(HostToolchain().compiler.compile)
    with pytest.raises(CompileError, match="no-such"):
        compile_text(tmp_path / "c", text, options=("no-such",))


@pytest.mark.parametrize(("text", "line", "says"), [
    ('#include "kg.h"\nextern "C" __global__ void k(float* a) { a[0] = b; }\n', 2, "was not declared"),
    ('#include "kg.h"\n#include "/etc/passwd"\n', 2, "outside the checkout"),
    ('#include "kg.h"\n#include "/proc/self/environ"\n', 2, "outside the checkout"),
    ('#include "kg.h"\nstruct S { int a; };\nextern "C" __global__ void k(S s, float* a) { a[0] = s.a; }\n', 0, "scalars and pointers"),
    ('#include "kg.h"\nasm(".inc" "bin \\"/usr/bin/env\\"");\n', 1, "inline assembly may not use file"),
    ('#include "kg.h"\nasm("no such instruction");\n', 1, "does not take this source's inline assembly"),
])  # fmt: skip
def test_what_does_not_compile_says_where(tmp_path: Path, text: str, line: int, says: str) -> None:
    with pytest.raises(CompileError) as told:
        compile_text(tmp_path, text)
    assert told.value.line == line and told.value.file == "kernels/k/k.cu"
    assert says in str(told.value) and "root:" not in told.value.log and str(tmp_path) not in told.value.log


def test_a_function_that_does_not_exist_is_found_before_loading(tmp_path: Path) -> None:
    text = '#include "kg.h"\nextern float nowhere(float);\nextern "C" __global__ void k(float* a) { a[0] = nowhere(a[1]); }\n'
    with pytest.raises(CompileError, match="nowhere"):
        compile_text(tmp_path, text)


def test_names_of_shared_variables() -> None:
    assert variable_name("_ZZ4gemmE2As") == "As"
    assert variable_name("_ZZ9sum_tileILi64EEfPKfE4part") == "part"
    assert variable_name("_ZZ1kvE4tile_0") == "tile"
    assert variable_name("_ZZ1kvE4tileB9kg_shared_0") == variable_name("_ZN12_GLOBAL__N_1L4tileB9kg_sharedE") == "tile"
    assert variable_name("_ZL5tiles") == variable_name("_ZN12_GLOBAL__N_15tilesE") == "tiles"

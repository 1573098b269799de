"""clang's AMDGPU target without ROCm: source to assembly, assembly to object, object to code object, all in the sandbox.

Three steps even where clang's driver could do it in one: the assembly is looked at before an assembler reads it,
and the clang inside the ziglang wheel cannot start its linker.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from runners import sandbox
from runners.toolchains import CodeObject, CompileError, CompileRequest, ToolchainMissing, elf, flags, includes, logs
from runners.toolchains.resources import code_object, store

REMEDY = "no clang for AMD targets: pip install 'ziglang==0.17.*', or apt-get install clang-22 lld-22"
LIMITS = sandbox.Limits(seconds=120.0, cpu_seconds=60, memory_bytes=None, file_bytes=64 << 20, output_bytes=1 << 20)
DEBIAN = Path("/usr/lib/llvm-22/bin")
ZIG = "/toolchain/zig"
# ROCm up to 6.2, which an MI50 may be left with, loads code objects up to version 5.
OBJECT = ("-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-nostdinc", "-mcode-object-version=5", "-fuse-cuid=none", "-S")
NUMERICS = ("-std=c++17", "-fgpu-flush-denormals-to-zero", "-ffp-contract=fast", "-fhip-fp32-correctly-rounded-divide-sqrt")
QUIET = ("-fdeclspec", "-ferror-limit=20", "-Wno-unused-command-line-argument")


@dataclass(frozen=True)
class ClangFiles:
    """One clang with its lld: their command words inside the sandbox, what to mount for them, and the version."""

    clang: tuple[str, ...]
    lld: tuple[str, ...]
    mounts: tuple[tuple[str, Path], ...]
    version: str


class AmdGpu:
    """Compiles for `gfx…` with Debian's clang-22, else with the clang in the ziglang wheel: the same release."""

    def version(self) -> str:
        return _installed().version

    def compile(self, request: CompileRequest) -> CodeObject:
        files = _installed()
        source = str(PurePosixPath(request.folder, request.build.source))
        includes.closure(includes.Scope(request.checkout, request.folder), request.build.source)
        with tempfile.TemporaryDirectory(prefix="kernelgate-amdgpu-") as made:
            log, seconds = _Steps(request, files, source, Path(made)).run()
            path, listing = (store(request, Path(made, name)) for name in ("kernel.co", "kernel.s"))
        return code_object(request, path, files.version, seconds, log, elf.kernels(path), listing)


class _Steps:
    """The commands of one compilation, and the checks between them."""

    def __init__(self, request: CompileRequest, files: ClangFiles, source: str, out: Path) -> None:
        self.request, self.files, self.source, self.out = request, files, source, out

    def run(self) -> tuple[str, float]:
        front = self._step([*self.files.clang, *_front_words(self.request, self.source), "-o", "/out/kernel.s"])
        logs.refuse_foreign(logs.dependencies(self._text("kernel.d")), (), self.source)
        logs.refuse_assembler_files(self._text("kernel.s"), self.source)
        machine = ["--target=amdgcn-amd-amdhsa", f"-mcpu={self.request.target}"]
        assemble = [*self.files.clang, "-x", "assembler", *machine, "-c", "/out/kernel.s", "-o", "/out/kernel.o"]
        link = [*self.files.lld, "-shared", "/out/kernel.o", "-o", "/out/kernel.co"]
        back = self._step(["/bin/sh", "-c", f"{shlex.join(assemble)} && exec {shlex.join(link)}"])  # a sandbox less to start
        return logs.clean(front.stderr + back.stderr), front.seconds + back.seconds

    def _text(self, name: str) -> str:
        return (self.out / name).read_text(encoding="utf-8", errors="replace")

    def _step(self, words: Sequence[str]) -> sandbox.Finished:
        read = {"/src": self.request.checkout, "/prelude": includes.PRELUDE, **dict(self.files.mounts)}
        finished = sandbox.run(words, read=read, write={"/out": self.out}, cwd="/out", limits=LIMITS)
        if finished.ended is not sandbox.Ended.EXITED:
            message = f"{self.source}: compiling ended by {finished.ended.value} after {finished.seconds:.0f} s"
            raise CompileError(message, log=message, file=self.source)
        if finished.code:
            raise logs.failure(finished.stderr)
        return finished


def _front_words(request: CompileRequest, source: str) -> list[str]:
    """Pinned: C++17, flush to zero, contraction on, exact division and root, before what the build asks for."""
    paths = ["-I/prelude", f"-I/src/{request.folder}", f"-I/src/{PurePosixPath(request.folder).parent / 'include'}"]
    wanted = [*flags.defines(request.build), *flags.options(request.build, flags.CLANG)]
    # The driver's -MD lists nothing for a device compilation, so its front end is asked.
    asked = ("-dependency-file", "/out/kernel.d", "-sys-header-deps", "-MT", "listed")
    listed = [word for option in asked for word in ("-Xclang", option)]
    return [*OBJECT, f"--offload-arch={request.target}", *NUMERICS, *QUIET, *paths, *wanted, *listed, f"/src/{source}"]


@cache
def _installed() -> ClangFiles:
    files = _debian() or _ziglang()
    if files is None:
        raise ToolchainMissing(REMEDY)
    asked = sandbox.run([*files.clang, "--version"], read=dict(files.mounts), limits=LIMITS)
    version = re.search(rb"clang version (\S+)", asked.stdout)
    if not asked.ok or version is None:
        raise ToolchainMissing(f"{files.version} does not run: {asked.stderr.decode(errors='replace').strip()}. {REMEDY}")
    return ClangFiles(files.clang, files.lld, files.mounts, f"clang {version[1].decode()}")


def _debian() -> ClangFiles | None:
    clang, lld = DEBIAN / "clang", DEBIAN / "ld.lld"
    return ClangFiles((str(clang),), (str(lld),), (), "Debian's clang-22") if clang.exists() and lld.exists() else None


def _ziglang() -> ClangFiles | None:
    found = importlib.util.find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(next(iter(found.submodule_search_locations))).resolve()
    version = f"ziglang {importlib.metadata.version('ziglang')}"
    return ClangFiles((f"{ZIG}/zig", "clang"), (f"{ZIG}/zig", "ld.lld"), ((ZIG, folder),), version)

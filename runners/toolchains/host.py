"""Compiles a kernel for the emulator: a shared library with the runtime inside and its own description at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from runners import sandbox
from runners.emulator import objects
from runners.emulator.description import Description, Kernel, Variable, append
from runners.protocol import KernelResources
from runners.scratch import scratch
from runners.toolchains import CodeObject, CompileError, CompileRequest, elf_host, flags, includes, logs
from runners.toolchains.host_compiler import COMMON, KERNEL, HostCompiler, find

LIMITS = sandbox.Limits(seconds=60, cpu_seconds=60, file_bytes=256 << 20)
MAX_ARGUMENTS = 24
Sized = tuple[tuple[str, int], ...]  # symbols and their sizes
COMPILERS_OWN = frozenset({"memcpy", "memmove", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_"})


class HostToolchain:
    """g++, clang++ or zig's clang; `compiler` chooses one for tests."""

    def __init__(self, compiler: HostCompiler | None = None, portable: bool = False) -> None:
        self._chosen, self._portable = compiler, portable

    @property
    def compiler(self) -> HostCompiler:
        return self._chosen or find()

    def version(self) -> str:
        return self.compiler.version

    def compile(self, request: CompileRequest) -> CodeObject:
        """Raises CompileError, ToolchainMissing or SandboxError."""
        began = time.monotonic()
        includes.closure(includes.Scope(request.checkout, request.folder), request.build.source)
        with scratch("kernelgate-host-") as out:
            log = self._compile_object(request, out)
            kernels = self._kernels(out / "kernel.o", request)
            kept = elf_host.HostObject((out / "kernel.o").read_bytes()).globals()
            if request.instrument:
                (out / "kernel.o").write_bytes(elf_host.with_red_zones((out / "kernel.o").read_bytes()))
            library = self._link(request, out, kernels, kept)
        path = _store(request, library)
        resources = tuple(_resources(k, request) for k in kernels)
        parameters = {k.name: tuple(p.bytes for p in k.parameters) for k in kernels}
        return CodeObject(path, self.version(), time.monotonic() - began, log, resources, {k.name: k.hash for k in kernels}, parameters)

    def _compile_object(self, request: CompileRequest, out: Path) -> str:
        """By way of the assembly, in which inline assembly can't hide what it would read."""
        source = f"{request.folder}/{request.build.source}"
        scope = includes.Scope(request.checkout, request.folder)
        watched = self.compiler.instrumented if request.instrument else ()
        words = [*COMMON, *KERNEL, *flags.options(request.build, self.compiler.words), *watched]
        search = ["-I/prelude", *(f"-I{folder}" for folder in scope.search)]
        command = [*self.compiler.compile, *words, *flags.defines(request.build), *search, "-MD", "-MF", "/out/kernel.d"]
        done = sandbox.run(
            [*command, "-x", "c++", "-S", source, "-o", "/out/kernel.s"],
            read={"/src": request.checkout.resolve(), "/prelude": includes.PRELUDE, **self.compiler.mounts},
            write={"/out": out},
            cwd="/src",
            limits=LIMITS,
        )
        depfile = out / "kernel.d"
        opened = logs.dependencies(depfile.read_text(errors="replace")) if depfile.is_file() else ()
        logs.refuse_foreign(opened, self.compiler.roots, source)
        if not done.ok:
            raise logs.failure(done.stderr, self.compiler.roots, _reason(done))
        logs.refuse_assembler_files((out / "kernel.s").read_text(encoding="utf-8", errors="replace"), source)
        self._assemble(out, source)
        return logs.clean(done.stderr, self.compiler.roots)

    def _assemble(self, out: Path, source: str) -> None:
        command = [*self.compiler.compile, "-x", "assembler", "-c", "/out/kernel.s", "-o", "/out/kernel.o"]
        done = sandbox.run(command, read=self.compiler.mounts, write={"/out": out}, limits=LIMITS)
        if not done.ok:
            problem = _reason(done) or "the assembler does not take this source's inline assembly"
            raise CompileError(f"{source}:1: error: {problem}", log=logs.clean(done.stderr, self.compiler.roots), file=source, line=1)

    def _kernels(self, path: Path, request: CompileRequest) -> tuple[elf_host.HostKernel, ...]:
        source = f"{request.folder}/{request.build.source}"
        compiled = elf_host.HostObject(path.read_bytes())
        try:
            kernels = compiled.kernels()
        except elf_host.UnusableKernel as error:
            raise CompileError(str(error), log=str(error), file=source) from error
        if not request.instrument and (section := compiled.run_when_loaded()):  # instrumentation brings its own
            problem = f"{source}:1: error: it has code that runs when it is loaded ({section}), which no device has"
            raise CompileError(problem, log=problem, file=source, line=1)
        runtime = objects.folder(self.compiler, self._portable)
        for problem in _faults(compiled, kernels, runtime):
            raise CompileError(problem, log=problem, file=source)
        return kernels

    def _link(self, request: CompileRequest, out: Path, kernels: tuple[elf_host.HostKernel, ...], kept: Sized) -> bytes:
        runtime = objects.folder(self.compiler, self._portable)
        names = objects.WATCHED if request.instrument else objects.PLAIN
        inputs = ["/out/kernel.o", *(f"/runtime/{name}.o" for name in names)]
        read = {"/runtime": runtime, **self.compiler.mounts}
        done = sandbox.run([*self.compiler.link, *inputs, "-o", "/out/kernel.so"], read=read, write={"/out": out}, limits=LIMITS)
        if not done.ok:
            raise logs.failure(done.stderr, self.compiler.roots, _reason(done) or "the kernel calls a function that no device has")
        library = (out / "kernel.so").read_bytes()
        return append(library, _description(library, kernels, kept))


def _faults(compiled: elf_host.HostObject, kernels: Sequence[elf_host.HostKernel], runtime: Path) -> Iterator[str]:
    """Why this object cannot become a code object: a shared library alone would find out only when it is loaded.

    What the runtime takes from elsewhere it would take from this object, unseen by any kernel's hash.
    """
    for name in sorted(compiled.undefined() - _offered(runtime) - COMPILERS_OWN):
        yield f"{name} is declared and called, but neither the prelude nor this source defines it"
    for name in sorted(compiled.defined() & _wanted(runtime)):
        yield f"{name} is defined here, and is the emulator's own"
    for kernel in kernels:
        if len(kernel.parameters) > MAX_ARGUMENTS:
            yield f"{kernel.name} has more than {MAX_ARGUMENTS} parameters"


@cache
def _offered(runtime: Path) -> frozenset[str]:
    """What the emulator's runtime defines."""
    return frozenset().union(*(elf_host.HostObject(path.read_bytes()).defined() for path in runtime.glob("*.o")))


@cache
def _wanted(runtime: Path) -> frozenset[str]:
    """What the emulator's runtime takes from the machine's libraries."""
    return frozenset().union(*(elf_host.HostObject(path.read_bytes()).undefined() for path in runtime.glob("*.o"))) - _offered(runtime)


def _resources(kernel: elf_host.HostKernel, request: CompileRequest) -> KernelResources:
    """The emulator knows shared memory and code; registers are the processor's own affair."""
    return KernelResources(kernel.name, static_shared=kernel.static_shared, code_bytes=kernel.code_bytes, max_block=request.build.block)


def _description(library: bytes, kernels: tuple[elf_host.HostKernel, ...], kept: Sized) -> Description:
    """Addresses become offsets from the runtime's anchor, which the loader can ask for."""
    values = elf_host.symbol_values(library)
    anchor = values["kg_emu_anchor"]

    def placed(variables: Sized) -> tuple[Variable, ...]:
        return tuple(Variable(elf_host.variable_name(s), values[s] - anchor, size) for s, size in variables)

    linked = tuple((s, size) for s, size in kept if s in values)  # the linker drops what nothing uses
    return Description(anchor, tuple(Kernel(k.name, k.parameters, placed(k.shared)) for k in kernels), placed(linked))


def _reason(done: sandbox.Finished) -> str:
    """Why the compiler was ended, where it did not end by itself."""
    return "" if done.ended is sandbox.Ended.EXITED else f"the compiler was ended: {done.ended.value} after {done.seconds:.0f} s"


def _store(request: CompileRequest, library: bytes) -> Path:
    """One file per build in the output folder, named by all that made it."""
    key = json.dumps([request.folder, asdict(request.build), request.instrument], sort_keys=True)
    request.out.mkdir(parents=True, exist_ok=True)
    path = request.out / f"{Path(request.build.source).stem}-{objects.digest(key)}.so"
    path.write_bytes(library)
    return path

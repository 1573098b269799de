"""NVRTC without a GPU and without CuPy: a child in the sandbox compiles to a cubin, never the agent's own process."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path, PurePosixPath

from kernels.spec import Build
from runners import sandbox
from runners.toolchains import CodeObject, CompileError, CompileRequest, ToolchainMissing, cubin, elf, flags, includes, logs, nvidia_files
from runners.toolchains.nvidia_files import NvrtcFiles
from runners.toolchains.nvrtc_child import BROKEN
from runners.toolchains.resources import code_object, store

REMEDY = "NVRTC for {target} is missing: pip install 'nvidia-cuda-nvrtc-cu12==12.9.*' 'nvidia-cuda-runtime-cu12==12.9.*'"
LIMITS = sandbox.Limits(seconds=120.0, cpu_seconds=60, memory_bytes=8 << 30, file_bytes=64 << 20, output_bytes=1 << 20)
CHILD = "/kernelgate/runners/toolchains/nvrtc_child.py"
HEADERS = "/toolchain/include"
OUTPUT, LISTING = "kernel.cubin", "kernel.ptx"


class Nvrtc:
    """Compiles for `sm_…` with the first NVRTC of this machine that knows the target."""

    def __init__(self, target: str = "sm_90", files: NvrtcFiles | None = None) -> None:
        self.target, self.files = target, files

    def version(self) -> str:
        return f"NVRTC {self._files(self.target).version}"

    def compile(self, request: CompileRequest) -> CodeObject:
        files = self._files(request.target)
        source = str(PurePosixPath(request.folder, request.build.source))
        includes.closure(includes.Scope(request.checkout, request.folder), request.build.source)
        with tempfile.TemporaryDirectory(prefix="kernelgate-nvrtc-") as made:
            finished = _run(request, files, source, Path(made))
            log = logs.clean(finished.stdout, (HEADERS,))
            _raise_for(finished, log, source)
            path, listing = (store(request, Path(made, name)) for name in (OUTPUT, LISTING))
        kernels = cubin.with_spills(elf.kernels(path), log)
        return code_object(request, path, f"NVRTC {files.version}", finished.seconds, log, kernels, listing)

    def _files(self, target: str) -> NvrtcFiles:
        found = [self.files] if self.files else [files for files in nvidia_files.installed() if files.serves(target)]
        if not found:
            raise ToolchainMissing(REMEDY.format(target=target))
        return found[0]


def _run(request: CompileRequest, files: NvrtcFiles, source: str, out: Path) -> sandbox.Finished:
    prefix, mounts = sandbox.python()
    headers = {f"{HEADERS}/{index}": folder for index, folder in enumerate(files.headers)}
    read = {**mounts, "/src": request.checkout, "/prelude": includes.PRELUDE, "/toolchain/lib": files.library.parent, **headers}
    words = {
        "library": f"/toolchain/lib/{files.library.name}",
        "source": f"/src/{source}",
        "options": _options(request.build, request.target, request.folder, list(headers)),
        "out": f"/out/{OUTPUT}",
        "listing": f"/out/{LISTING}",
    }
    data = json.dumps(words).encode()
    return sandbox.run([*prefix, "-S", CHILD], read=read, write={"/out": out}, cwd="/out", stdin=data, limits=LIMITS)


def _options(build: Build, target: str, folder: str, headers: list[str]) -> list[str]:
    """Pinned: C++17, flush to zero, contraction on, exact division and root unless the build asks for fast-math."""
    own = ["/prelude", f"/src/{folder}", f"/src/{PurePosixPath(folder).parent / 'include'}"]
    paths = [f"--include-path={path}" for path in (*own, *headers)]
    fixed = [f"--gpu-architecture={target}", "--std=c++17", "--ftz=true", "--fmad=true", "--ptxas-options=-v"]
    return [*fixed, *paths, *flags.defines(build), *flags.options(build, flags.NVRTC)]


def _raise_for(finished: sandbox.Finished, log: str, source: str) -> None:
    if finished.ok:
        return
    if finished.ended is not sandbox.Ended.EXITED:
        message = f"{source}: compiling ended by {finished.ended.value} after {finished.seconds:.0f} s"
        raise CompileError(message, log=message, file=source)
    if finished.code == BROKEN:
        raise ToolchainMissing(f"NVRTC failed: {finished.stderr.decode(errors='replace').strip()}")
    raise logs.failure(log, (HEADERS,))

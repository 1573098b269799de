"""The emulator's runtime as object files, compiled once per compiler and kept in the agent's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from runners import sandbox
from runners.toolchains import ToolchainMissing
from runners.toolchains.host_compiler import COMMON, HostCompiler

SOURCES = Path(__file__).resolve().parent
SHARED = ("fiber", "runtime", "memory", "call", "guard", "shuffle")
WATCHED = (*SHARED, "shadow", "hooks", "banks", "counts")
PLAIN = (*SHARED, "unwatched")


def cache_folder() -> Path:
    """Where compiled harness code is kept; KERNELGATE_CACHE, else the user's cache folder."""
    chosen = os.environ.get("KERNELGATE_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelgate"


@cache
def folder(compiler: HostCompiler, portable: bool = False) -> Path:
    """A folder with one `.o` per runtime source; `portable` leaves the hand-written switch out."""
    flags = (*COMMON, "-O3", *(("-DKG_EMU_UCONTEXT",) if portable else ()))
    place = cache_folder() / f"emulator-{_key(compiler, flags)}"
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as made:
        out = Path(made) / "objects"
        out.mkdir()
        for source in sorted(set(WATCHED + PLAIN)):
            _compile(compiler, flags, source, out)
        _publish(out, place)
    return place


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _key(compiler: HostCompiler, flags: tuple[str, ...]) -> str:
    digest = hashlib.sha256(repr((compiler.version, compiler.compile, flags)).encode())
    for path in sorted((*SOURCES.glob("*.cpp"), *SOURCES.glob("*.h"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


def _compile(compiler: HostCompiler, flags: tuple[str, ...], source: str, out: Path) -> None:
    command = [*compiler.compile, *flags, "-x", "c++", "-c", f"/emulator/{source}.cpp", "-o", f"/out/{source}.o"]
    done = sandbox.run(command, read={"/emulator": SOURCES, **compiler.mounts}, write={"/out": out}, cwd="/emulator")
    if not done.ok:
        raise ToolchainMissing(f"{compiler.version} cannot compile the emulator: {done.stderr.decode(errors='replace')[-2000:]}")


def _publish(out: Path, place: Path) -> None:
    """Rename into place; of two processes that compiled the same, either's result serves."""
    try:
        out.rename(place)
    except OSError:
        if not place.is_dir():
            raise
        shutil.rmtree(out, ignore_errors=True)

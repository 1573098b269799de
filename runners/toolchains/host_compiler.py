"""The host's C++ compiler and the flags everything for the emulator is built with: g++, clang++, else the ziglang wheel's clang."""

from __future__ import annotations

import importlib.util
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from runners.toolchains import ToolchainMissing
from runners.toolchains.flags import CLANG

ROOTS = ("/usr/include", "/usr/lib", "/usr/local/include", "/usr/share")
ZIG_ROOT = "/zig"
_FEATURES = frozenset({"avx2", "fma", "f16c", "bmi2"})

# No math errno, so that square roots are one instruction.
COMMON = (
    "-std=c++17", "-g", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
    "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fno-math-errno",
    "-fno-plt", "-fcf-protection=none", "-Wno-unknown-pragmas",
)  # fmt: skip
# Stated as for the devices, never a compiler's default: products and sums are contracted unless a plan says off. The
# runtime sets flush-to-zero and denormals-are-zero.
KERNEL = ("-ffunction-sections", "-fdata-sections", "-fno-ident", "-ffp-contract=fast")
# One access in the source stays one access: nothing vectorised, nothing read speculatively; g++ keeps structs whole too.
INSTRUMENTED = (
    "-O1", "-fsanitize=thread", "-fsanitize-coverage=bb,no-prune,trace-pc", "-fno-vectorize", "-fno-slp-vectorize",
)  # fmt: skip
GNU_INSTRUMENTED = (
    "-O1", "-fsanitize=thread", "-fsanitize-coverage=trace-pc", "-fno-reorder-blocks",
    "-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-fno-if-conversion", "-fno-if-conversion2",
    "-fno-tree-loop-if-convert", "-fno-tree-sra", "-fno-hoist-adjacent-loads", "-fno-ssa-phiopt", "-fno-tree-phiprop",
)  # fmt: skip


@dataclass(frozen=True)
class HostCompiler:
    """Commands as they are written inside the sandbox; `mounts` are what they need there beyond /usr."""

    version: str
    compile: tuple[str, ...]
    link: tuple[str, ...]
    gnu: bool
    mounts: Mapping[str, Path] = field(default_factory=dict, hash=False)
    roots: tuple[str, ...] = ROOTS

    @property
    def words(self) -> Mapping[str, tuple[str, ...]]:
        """A build's options; g++ knows no contraction within statements only and would do none."""
        return {**CLANG, "fp-contract=on": ("-ffp-contract=fast",)} if self.gnu else CLANG

    @property
    def instrumented(self) -> tuple[str, ...]:
        return GNU_INSTRUMENTED if self.gnu else INSTRUMENTED


@cache
def find() -> HostCompiler:
    """The machine's compiler; ToolchainMissing names the remedy."""
    for name in ("g++", "clang++"):
        path = Path("/usr/bin", name)
        if path.exists():
            return _system(path, gnu=name == "g++")
    if zig := zig_folder():
        return bundled(zig)
    raise ToolchainMissing("no C++ compiler: install g++ or clang++, or pip install ziglang")


def zig_folder() -> Path | None:
    """The folder of the ziglang wheel, which holds its binary."""
    found = importlib.util.find_spec("ziglang")
    places = found.submodule_search_locations if found else None
    return Path(next(iter(places))).resolve() if places else None


def bundled(folder: Path) -> HostCompiler:
    """Clang and lld inside zig, called past zig's own driver, which would first build a C++ library for minutes."""
    version = _first_line([str(folder / "zig"), "clang", "--version"])
    arch, libc = platform.machine(), f"{ZIG_ROOT}/lib/libc/include"
    family = "x86" if arch == "x86_64" else arch
    names = (f"{family}-linux-gnu", "generic-glibc", f"{family}-linux-any", "any-linux-any")
    headers = [f"{ZIG_ROOT}/lib/include", *(f"{libc}/{name}" for name in names)]
    flags = (f"--target={arch}-linux-gnu", "-nostdinc", *(word for path in headers for word in ("-isystem", path)))
    compiler = (f"{ZIG_ROOT}/zig", "clang", *flags, *_clang_only(), *_machine_flags())
    # Libc's functions are found in the process that loads the library, so nothing but the objects is linked.
    link = (f"{ZIG_ROOT}/zig", "ld.lld", "-shared", "--build-id=none", "-Bsymbolic", "-z", "noexecstack")
    return HostCompiler(
        version.replace("version ", "") + " (zig)", compiler, link, gnu=False, mounts={ZIG_ROOT: folder}, roots=(*ROOTS, ZIG_ROOT)
    )


def _system(path: Path, gnu: bool) -> HostCompiler:
    version = re.sub(r"\s*\(.*?\)\s*", " ", _first_line([str(path), "--version"]))
    extra: Sequence[str] = ("-fno-gnu-unique",) if gnu else _clang_only()
    link = (str(path), "-shared", "-Wl,--build-id=none", "-Wl,-Bsymbolic", "-Wl,--as-needed", "-Wl,-z,noexecstack")
    return HostCompiler(version, (str(path), *extra, *_machine_flags()), link, gnu)


def _clang_only() -> tuple[str, ...]:
    return ("-fno-sanitize=all", "-Wno-unused-command-line-argument")


@cache
def _machine_flags() -> tuple[str, ...]:
    """AVX2, FMA and half conversions where the processor has them: named by level, never `native`."""
    if platform.machine() != "x86_64":
        return ()
    level = "x86-64-v3" if _processor_flags() >= _FEATURES else "x86-64-v2"
    return (f"-march={level}",)


def _processor_flags() -> frozenset[str]:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    line = re.search(r"^flags\s*:\s*(.*)$", text, re.MULTILINE)
    return frozenset(line[1].split()) if line else frozenset()


def _first_line(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True, env={"PATH": "/usr/bin:/bin", "LANG": "C"})
    return done.stdout.splitlines()[0].strip()

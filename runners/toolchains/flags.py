"""A build's defines and options as compiler words; only what the allow-list knows gets through."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernels.spec import OPTIONS, Build
from runners.toolchains import CompileError

_NAME = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)
_VALUE = re.compile(r"[\w.+-]{0,64}", re.ASCII)
_LEVELS = frozenset({"O1", "O2", "O3"})

CLANG: Mapping[str, tuple[str, ...]] = {
    "fast-math": ("-ffast-math",),
    "fp-contract=fast": ("-ffp-contract=fast",),
    "fp-contract=on": ("-ffp-contract=on",),
    "fp-contract=off": ("-ffp-contract=off",),
    "O1": ("-O1",),
    "O2": ("-O2",),
    "O3": ("-O3",),
}
NVRTC: Mapping[str, tuple[str, ...]] = {
    "fast-math": ("--use_fast_math",),
    "fp-contract=fast": ("--fmad=true",),
    "fp-contract=on": ("--fmad=true",),
    "fp-contract=off": ("--fmad=false",),
    "O1": ("--ptxas-options=-O1",),
    "O2": ("--ptxas-options=-O2",),
    "O3": ("--ptxas-options=-O3",),
}


def defines(build: Build) -> tuple[str, ...]:
    """`-DNAME=VALUE` of every define, the harness's KG_BLOCK and KG_BLOCKS_PER_UNIT last, so that they win."""
    own = {"KG_BLOCK": build.block, "KG_BLOCKS_PER_UNIT": build.blocks_per_unit}
    merged = {**{name: value for name, value in build.defines.items() if name not in own}, **own}
    return tuple(f"-D{_checked(name, _NAME)}={_checked(str(value), _VALUE)}" for name, value in sorted(merged.items()))


def options(build: Build, words: Mapping[str, tuple[str, ...]], level: str = "O3") -> tuple[str, ...]:
    """The build's options in one compiler's words, after the optimisation level where the build names none."""
    unknown = sorted(set(build.options) - OPTIONS)
    if unknown:
        raise CompileError(f"the option {unknown[0]!r} is not one of {sorted(OPTIONS)}")
    chosen = build.options if _LEVELS & set(build.options) else (level, *build.options)
    return tuple(word for option in chosen for word in words[option])


def _checked(text: str, pattern: re.Pattern[str]) -> str:
    if not pattern.fullmatch(text):
        raise CompileError(f"the define {text!r} holds more than letters, digits and _ . + -")
    return text

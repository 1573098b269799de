"""What a compiler's text listing says of one kernel: its instructions, counted by kind, and clang's own occupancy.

AMD's listing is the assembly that becomes the code object. NVIDIA publishes no disassembler that may be taken for
granted, so there it is the PTX that NVRTC's assembler has yet to translate: counts are of PTX, not of the machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

AMD_KINDS = {
    "fma": r"(?:v_(?:dual_|pk_)?|s_)(?:fma|fmac|fmaak|fmamk|mad|mac|madak|madmk)(?:_mix(?:lo|hi)?)?_f(?:16|32|64)",
    "dot": r"v_(?:dual_)?dot\d",
    "matrix": r"v_(?:wmma|mfma|smfmac)",
    "shuffle": r"ds_(?:b?permute|swizzle)|v_permlane|\w+_dpp",
    "lds": r"ds_(?!b?permute|swizzle)",
    "global": r"(?:global|flat|buffer)_(?:load|store|atomic)",
    "barrier": r"s_barrier",
}
PTX_KINDS = {
    "fma": r"fma\.|mad\.(?:r[nzmp]\.)?(?:ftz\.)?(?:sat\.)?f\d",
    "dot": r"dp[24]a",
    "matrix": r"(?:wmma|mma|wgmma)\.",
    "shuffle": r"shfl",
    "lds": r"(?:ld|st|atom|red|cp)\.(?:\w+\.)*shared",
    "global": r"cp\.async\.\w+\.shared\.global|(?:ld|st|atom|red)\.(?!(?:\w+\.)*(?:shared|local|param|const)\b)",
    "barrier": r"bar(?:rier)?\.",
}
_AMD = {kind: re.compile(pattern) for kind, pattern in AMD_KINDS.items()}
_PTX = {kind: re.compile(pattern) for kind, pattern in PTX_KINDS.items()}
_PTX_LINE = re.compile(r"(?:@!?%p\d+\s+)?([a-z][\w.:]*)")


def own(text: str, kernel: str) -> tuple[str, ...]:
    """The kernel's part of a listing: instructions and labels, without comments and blank lines; empty if it is not there."""
    amd = _between(text, f"\n{kernel}:", "\n", ("\n\t.section", "\n.Lfunc_end"))
    body = amd or _between(text, f".entry {kernel}(", "\n{", ("\n}",))
    mark = ";" if amd else "//"
    return tuple(line for part in body.splitlines() if (line := part.partition(mark)[0].rstrip()))


def _between(text: str, name: str, opening: str, ends: tuple[str, ...]) -> str:
    """What lies after the first `opening` behind `name`, up to the nearest of `ends`; plain searches, since listings are long."""
    named = text.find(name)
    begin = text.find(opening, named + len(name)) + len(opening)
    found = [end for mark in ends if (end := text.find(mark, begin)) >= 0]
    return text[begin : min(found)] if named >= 0 and begin >= len(opening) and found else ""


def mix(lines: Iterable[str], target: str) -> dict[str, int]:
    """Instructions of one kernel by kind, `total` first; both halves of a dual issue count, `vopd` counts the pairs."""
    kinds = _AMD if target.startswith("gfx") else _PTX
    found = Counter(dict.fromkeys(("total", *kinds, "vopd"), 0))
    for halves, times in Counter(_instructions(lines, target)).items():
        found["total"] += times
        found["vopd"] += times * (len(halves) == 2)
        for kind, pattern in kinds.items():
            found[kind] += times * sum(bool(pattern.match(half)) for half in halves)
    return {kind: count for kind, count in found.items() if count}


def compiler_waves(text: str, kernel: str) -> int:
    """Waves per SIMD by clang's remark on the kernel, from registers and static shared memory; 0 where there is none."""
    remark = re.search(rf"\.set {re.escape(kernel)}\.num_vgpr,.*?^; Occupancy: (\d+)", text, re.MULTILINE | re.DOTALL)
    return int(remark[1]) if remark else 0


def _instructions(lines: Iterable[str], target: str) -> Iterator[tuple[str, ...]]:
    """The mnemonics of each instruction: two where a wave issues two at once."""
    for line in map(str.strip, lines):
        if line.startswith((".", "$", "{", "}")) or line.endswith(":"):
            continue
        if target.startswith("gfx"):
            yield tuple(half.split(maxsplit=1)[0] for half in line.split(" :: "))
        elif match := _PTX_LINE.match(line):
            yield (match[1],)

"""Compiler output made fit to show: dependency lists checked, lines about foreign files left out, size capped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from runners.toolchains import CompileError

MAX_LOG = 32_000
LEFT_OUT = "(lines about a file outside the checkout are left out)"
ALLOWED = ("/src", "/prelude")

# `path:12:3: error`, `path(12): error`, `In file included from path:12`, `path:(.text+0x1)`
_PLACE = re.compile(r"^(?:In file included from |\s+from )?(?P<path>[^\s:()\"']+)(?::\d+|\(\d+\))[:,)]?")
_ABSOLUTE = re.compile(r"(?<![\w/.])/(?:proc|sys|etc|dev|root|home|run|var|tmp)/[^\s:;,()\"'<>]*")
# An assembler takes several statements of a line, and comments and labels before them.
_STATEMENT = r"(?:^|[;:}]|\*/)\s*\."
_NAMES = "incbin|include|macro|altmacro|i?repc?|rept|irpc?|endr|endm|pushsection|popsection|previous|subsection"
_DIRECTIVES = re.compile(rf"{_STATEMENT}(?:{_NAMES})\b", re.MULTILINE | re.IGNORECASE)
_SECTION = re.compile(rf'{_STATEMENT}section\s+"?(?P<name>[^\s,"]+)', re.MULTILINE | re.IGNORECASE)
_METADATA = re.compile(rf"{_STATEMENT}amdgpu_metadata\b", re.MULTILINE | re.IGNORECASE)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ONCE = frozenset({".debug_info", ".debug_abbrev"})
_NEVER = re.compile(r".*\\|\.zdebug|\.note(?!\.GNU-stack$|\.gnu\.property$)")
_FIRST_ERROR = re.compile(
    r"^(?P<file>[^\s:()]+)(?::(?P<line>\d+)(?::\d+)?|\((?P<paren>\d+)\)):\s*(?:fatal |catastrophic )?error", re.MULTILINE
)


def clean(raw: bytes | str, toolchain_roots: Sequence[str] = ()) -> str:
    """The log with paths relative to the checkout and no line that quotes a file outside `/src`, the prelude and the toolchain."""
    text = raw.decode("utf-8", errors="replace") if isinstance(raw, bytes) else raw
    kept = _without_foreign(text.replace("\r", "").splitlines(), (*ALLOWED, *toolchain_roots))
    joined = "\n".join(line.replace("/src/", "") for line in kept).strip()
    joined = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", joined)
    return joined if len(joined) <= MAX_LOG else joined[:MAX_LOG] + "\n(the rest of the log is left out)"


def failure(raw: bytes | str, toolchain_roots: Sequence[str] = (), message: str = "") -> CompileError:
    """The CompileError of a compiler's log, with its first error's place."""
    log = clean(raw, toolchain_roots)
    hit = _FIRST_ERROR.search(log)
    line = int(hit["line"] or hit["paren"]) if hit else 0
    first = next((text for text in log.splitlines() if "error" in text), "the compiler failed without a message")
    return CompileError(message or first, log=log, file=hit["file"] if hit else "", line=line)


def dependencies(depfile: str) -> tuple[str, ...]:
    """The files a Makefile-style dependency list names."""
    _, _, names = depfile.replace("\\\n", " ").partition(":")
    return tuple(name.replace("\\ ", " ") for name in re.findall(r"(?:\\ |\S)+", names))


def refuse_foreign(opened: Iterable[str], toolchain_roots: Sequence[str], source: str) -> None:
    """CompileError if the compiler opened a file outside checkout, prelude and toolchain; nothing of its log is shown."""
    for name in opened:
        if not _inside(name, (*ALLOWED, *toolchain_roots)):
            message = f"{source}:1: error: an include resolves outside the checkout, the prelude and the toolchain's headers"
            raise CompileError(message, log=message, file=source, line=1)


def refuse_assembler_files(assembly: str, source: str) -> None:
    """CompileError if inline assembly reached for a file or for the macros that could hide one, or writes what is read out here as
    the compiler's word on its code; compilers write none of the former."""
    if _DIRECTIVES.search(_STRING.sub('""', assembly)):
        message = f"{source}:1: error: inline assembly may not use file, macro or section directives"
        raise CompileError(message, log=message, file=source, line=1)
    if _describes(assembly):
        message = f"{source}:1: error: inline assembly may not write what describes the code"
        raise CompileError(message, log=message, file=source, line=1)


def _describes(assembly: str) -> bool:
    """Whether notes or debug information have another author than the compiler, which begins each such section once."""
    names = [match["name"] for match in _SECTION.finditer(assembly)]
    repeated = any(names.count(name) > 1 for name in _ONCE) or len(_METADATA.findall(assembly)) > 1
    return repeated or any(_NEVER.match(name) for name in names)


def _without_foreign(lines: Iterable[str], roots: Sequence[str]) -> Iterable[str]:
    """A line that places itself in a foreign file is dropped with the quoted lines that follow it."""
    hiding = False
    for line in lines:
        if place := _PLACE.match(line):
            foreign = not _inside(place["path"], roots)
            if foreign and not hiding:
                yield LEFT_OUT
            hiding = foreign
        if not hiding:
            yield _ABSOLUTE.sub("(a file outside the checkout)", line)


def _inside(name: str, roots: Sequence[str]) -> bool:
    parts: list[str] = []
    for part in PurePosixPath(name).parts:
        if part == "..":
            if not parts or parts == ["/"]:
                return False
            parts.pop()
        else:
            parts.append(part)
    if not name.startswith("/"):
        return True
    path = PurePosixPath(*parts)
    return any(path.is_relative_to(root) for root in roots)

"""Containment of a kernel's includes: what it names lies in the checkout, the prelude or the toolchain, or it does not compile.

Checked on the text before any compiler opens a file, since NVRTC quotes what it includes and g++ quotes what `#line`
names. The scan sees more than a compiler would (comments, dead branches): a false refusal is harmless, a miss is not.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from runners.toolchains import CompileError

PRELUDE = Path(__file__).resolve().parents[2] / "kernels" / "include"
MAX_SOURCE_BYTES = 4 << 20
LONGEST_NAME = 255  # bytes; a file system asked for more raises instead of saying no

_GAP = r"(?:[\s\x80-\xff]|/\*.*?\*/)*"  # blanks (clang takes Unicode's too) and whole comments may stand inside a directive
_DIRECTIVE = re.compile(rf"(?:#|%:){_GAP}(include_next|include|import|embed|line\b|\d)", re.DOTALL)
_OPERAND = re.compile(rf'{_GAP}(?:"(?P<quoted>[^"\n]*)"|<(?P<angled>[^>\n]*)>)', re.DOTALL)
_FORBIDDEN = {
    re.compile(r"\b__has_(?:include|embed)\w*"): "asks whether a file exists",
    re.compile(r"\.?incbin\b"): "embeds a file by the assembler",
    re.compile(r"\bGCC\s+(?:dependency|pch_preprocess)\b|\binclude_alias\b"): "names a file to the compiler by a pragma",
    re.compile(r"\?\?[=/]"): "uses a trigraph",
    re.compile(r"[\x00-\x08\x0e-\x1f\x7f]"): "holds a control character",
}


@dataclass(frozen=True)
class Scope:
    """Where one kernel folder's includes may resolve: its checkout and, before anything of it, the prelude."""

    checkout: Path
    folder: str
    prelude: Path = PRELUDE

    @property
    def search(self) -> tuple[str, str]:
        """The repository's folders on the include path, relative to the checkout."""
        return self.folder, str(PurePosixPath(self.folder).parent / "include")


@dataclass(frozen=True)
class Found:
    """One include-like place: the directive, the name it spells (None if computed), and its line."""

    directive: str
    name: str | None
    quoted: bool
    line: int


def closure(scope: Scope, source: str) -> tuple[str, ...]:
    """Every file of the checkout that compiling `source` can read, sorted; CompileError names the first bad line."""
    pending, seen = [posixpath.normpath(posixpath.join(scope.folder, source))], set[str]()
    while pending:
        file = pending.pop()
        if file in seen:
            continue
        seen.add(file)
        forbidden, directives = _read(_data(scope, file))
        if forbidden:
            raise fault(file, *forbidden)
        pending += [hit for found in directives if (hit := _resolve(scope, file, found)) is not None]
    return tuple(sorted(seen))


def fault(file: str, line: int, problem: str) -> CompileError:
    """The error of one line; it repeats the place and our own words, never what the line or the file says."""
    message = f"{file}:{line}: error: {problem}"
    return CompileError(message, log=message, file=file, line=line)


def _data(scope: Scope, file: str) -> bytes:
    root = scope.checkout.resolve()
    path = root / file
    if path.resolve() != path or not path.is_relative_to(root) or not path.is_file():
        raise fault(file, 1, "is no regular file of the checkout")
    data = path.read_bytes()
    if len(data) > MAX_SOURCE_BYTES:
        raise fault(file, 1, f"is larger than {MAX_SOURCE_BYTES} bytes")
    return data


@lru_cache(maxsize=64)
def _read(data: bytes) -> tuple[tuple[int, str] | None, tuple[Found, ...]]:
    """The first forbidden line with its problem, and the include-like places; kept by content, since a header is read for many sources."""
    text = _text(data)
    forbidden = _forbidden(text)
    return forbidden, () if forbidden else tuple(_directives(text))


def _text(data: bytes) -> str:
    """The file as a compiler's lines: newlines unified, spliced lines joined (their newlines kept for counting)."""
    unified = data.decode("latin-1").removeprefix("\xef\xbb\xbf").replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"(?:[^\n]*\\[ \t\v\f]*\n)+[^\n]*", _joined, unified)


def _joined(match: re.Match[str]) -> str:
    """Spliced lines as one, followed by as many empty lines as were joined."""
    whole, count = re.subn(r"\\[ \t\v\f]*\n", "", match.group())
    return whole + "\n" * count


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _forbidden(text: str) -> tuple[int, str] | None:
    for pattern, problem in _FORBIDDEN.items():
        if hit := pattern.search(text):
            return _line(text, hit.start()), f"this line {problem}, which kernel sources may not"
    return None


def _directives(text: str) -> Iterator[Found]:
    for match in _DIRECTIVE.finditer(text):
        if not _may_start_line(text, match.start()):
            continue
        operand = _OPERAND.match(text, match.end())
        name = (operand["quoted"] if operand["quoted"] is not None else operand["angled"]) if operand else None
        yield Found(match[1], name, bool(operand and operand["quoted"] is not None), _line(text, match.start()))


def _may_start_line(text: str, place: int) -> bool:
    """Whether `#` can be the line's first token, whatever comment the line may begin in."""
    prefix = text[text.rfind("\n", 0, place) + 1 : place]
    prefix = prefix[prefix.rfind("*/") + 2 :] if "*/" in prefix else prefix
    return not re.sub(r"/\*.*|[\x80-\xff]", "", prefix).strip()


def _resolve(scope: Scope, file: str, found: Found) -> str | None:
    """The checkout's file that is meant; None for the prelude's and for a name left to the toolchain's headers."""
    if found.directive != "include":
        raise fault(file, found.line, f"#{'line' if found.directive.isdigit() else found.directive} is not allowed in kernel sources")
    if found.name is None:
        raise fault(file, found.line, "an include must name its file literally, not through a macro")
    name = found.name.strip()
    if name.startswith(("/", "~")) or "\\" in name or ":" in name or len(name.encode()) > LONGEST_NAME:
        raise fault(file, found.line, "this include names a file outside the checkout, the prelude and the toolchain's headers")
    here = str(PurePosixPath(file).parent)
    if ".." in PurePosixPath(name).parts:
        return _climbing(scope, file, found, posixpath.normpath(posixpath.join(here, name)))
    if (scope.prelude / name).is_file():
        return _prelude(scope, file, found, posixpath.join(here, name))
    folders = [here, *scope.search] if found.quoted else list(scope.search)
    candidates = (posixpath.join(folder, name) for folder in folders)
    return next((path for path in candidates if _is_own(scope, file, found, path)), None)


def _climbing(scope: Scope, file: str, found: Found, path: str) -> str:
    """`..` is taken from the including file only: from another folder of the path it could leave the checkout."""
    if found.quoted and not path.startswith("..") and _is_own(scope, file, found, path):
        return path
    raise fault(file, found.line, "this include climbs out of the checkout or to a file that it does not have")


def _prelude(scope: Scope, file: str, found: Found, beside: str) -> None:
    """A quoted include looks beside the file first; nothing there may take the prelude's place."""
    if found.quoted and (scope.checkout / beside).exists():
        raise fault(file, found.line, f"a file beside this one hides the prelude's {PurePosixPath(beside).name}")


def _is_own(scope: Scope, file: str, found: Found, path: str) -> bool:
    """Whether the checkout has `path`, which no symbolic link may lead elsewhere."""
    root = scope.checkout.resolve()
    place = root / path
    if not os.path.lexists(place):
        return False
    if place.resolve() != place:
        raise fault(file, found.line, "this include goes through a symbolic link")
    return True

"""Which lines of a Markdown text are commands to somebody: those that start with / in plain paragraphs.

markdown-it-py says what is a paragraph. Long stretches that can't change the answer are shortened before it sees them,
so that 65,536 characters take milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

MARK = "\ufdd0"  # followed by the line's number: a mark in a link's address is shown nowhere, one in its title as often as it is used
NUMBER = re.compile(rf"{MARK}(\d+)")
CANDIDATE = re.compile(r"^ {0,3}/([^\s/]\S{0,40})", re.MULTILINE)
LINE_END = re.compile(r"\r\n?")
PLAIN = re.compile(r"[A-Za-z0-9,:=./@ -]*")
LISTY = re.compile(r"[ \t]*(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]|$)")
ITEM = re.compile(r"(?:([-+*])|[0-9]{1,9}([.)])) [A-Za-z`\[]")
PLAIN_LINES = re.compile(r"^([A-Za-z/][^`<\[\]|~\\\n]*\n)(?:[A-Za-z/][^`<\[\]|~\\\n]*\n)+", re.MULTILINE)
LONELY_LINES = re.compile(r"\n\n(?:[A-Za-z][^`<\[\]|~\\\n]*\n\n)+")
FIRST_LOOK = 64
BORING = ["x"]
LASTING_HTML = re.compile(r"<(?:script|pre|style|textarea|[!?])", re.IGNORECASE)
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@dataclass(frozen=True)
class Line:
    """A line of the text as written, and its number from 1."""

    number: int
    text: str


def slash_lines(text: str, relevant: Callable[[str], bool], enough: int = 4) -> list[Line]:
    """The lines whose first word, without its /, is `relevant` and begins a line of a plain paragraph.

    Where there are very many, those after the first `enough` may be left out.
    """
    text = LINE_END.sub("\n", text.replace(MARK, "\ufffd"))
    wanted = candidates(text, relevant)
    if not wanted:
        return []
    raw = text.split("\n")
    found = _among(raw, wanted[:FIRST_LOOK])
    return found if len(found) >= enough or len(wanted) <= FIRST_LOOK else _among(raw, wanted)


def candidates(text: str, relevant: Callable[[str], bool]) -> list[int]:
    """The numbers (from 0) of the lines that start with / and a relevant word, wherever they stand."""
    found, number, counted = [], 0, 0
    for match in CANDIDATE.finditer(text):
        if relevant(match.group(1)):
            number += text.count("\n", counted, match.start())
            counted = match.start()
            found.append(number)
    return found


def marked(line: str, number: int) -> str:
    """The line with the mark before its /, and without a rest that means nothing to Markdown."""
    head, slash, rest = line.partition("/")
    return f"{head}{MARK}{number}{slash}{'x' if PLAIN.fullmatch(rest) else rest}"


def _among(raw: list[str], wanted: list[int]) -> list[Line]:
    found = in_paragraphs(_shortened(raw, set(wanted)))
    return [Line(index + 1, raw[index]) for index in wanted if index in found]


def in_paragraphs(lines: list[str]) -> set[int]:
    """The numbers of the marks that begin a line of text of a top-level paragraph."""
    tokens = MARKDOWN.parse("\n".join(lines))
    plain = (token for before, token in pairwise(tokens) if before.type == "paragraph_open" and before.level == 0)
    return {number for inline in plain for number in _begun(inline)}


def _begun(inline: Token) -> Iterator[int]:
    """The numbers of the marks that begin a line of an inline token's text."""
    starts = True
    for child in inline.children or []:
        mark = NUMBER.match(child.content)
        if starts and child.type == "text" and mark:
            yield int(mark[1])
        starts = child.type in ("softbreak", "hardbreak")


def _shortened(raw: list[str], wanted: set[int]) -> list[str]:
    """The marked text up to the last wanted line's block, without stretches that can't change what follows them."""
    end = max(wanted) + 1
    while end < len(raw) and raw[end].strip(" \t"):
        end += 1
    lines = [marked(line, index) if index in wanted else line for index, line in enumerate(raw[:end])]
    text = "\n".join(lines) + "\n"
    if LASTING_HTML.search(text):
        return lines
    text = LONELY_LINES.sub("\n\nx\n\n", PLAIN_LINES.sub(r"\1", text))
    return list(_short_blocks(text.split("\n")))


def _short_blocks(lines: list[str]) -> Iterator[str]:
    """The lines with a boring block in place of each stretch of boring blocks; blank lines part blocks."""
    before: list[str] = []
    for full, group in groupby(lines, key=lambda line: bool(line.strip(" \t"))):
        block = _short_block(list(group)) if full else [""]
        if full and block == BORING == before:
            continue
        before = block if full else before
        yield from block


def _short_block(block: list[str]) -> list[str]:
    if any(MARK in line or "```" in line or "~~~" in line for line in block):
        return block
    items = [ITEM.match(line) for line in block]
    if all(items) and len({item.groups() for item in items if item}) == 1:
        return block[-1:]
    if block[0][0] not in " \t" and not any(LISTY.match(line) for line in block):
        return BORING
    return block

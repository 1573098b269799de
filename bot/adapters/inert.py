"""Makes text that came from a pull request harmless in Markdown and HTML: no link, mention, image or tag survives."""

from __future__ import annotations

import re
import unicodedata

CELL = 120
SECRETS = re.compile(
    r"gh[opsu]_[A-Za-z0-9_.\-]{16,}|github_pat_\w{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"
    r"|-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|\Z)|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)


def redact(text: str) -> str:
    """`text` without anything that looks like a token, key or password in an address."""
    return SECRETS.sub("[redacted]", text)


def visible(text: str) -> str:
    """`text` without control, bidi and zero-width characters; new lines and tabs stay."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co"))


def plain(text: str, limit: int) -> str:
    """`text` for a place that renders no Markdown, without secrets and at most `limit` characters; never empty."""
    text = visible(redact(text)).strip() or "no message"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def code(value: object, limit: int = CELL) -> str:
    """A code span that holds `value` on one line, safe in a paragraph and in a table cell."""
    text = " ".join(visible(redact(str(value))).split()) or " "
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    ticks = "`" * (max(map(len, re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}".replace("|", "\\|")


def fence(text: str, limit: int = 4000) -> str:
    """A fenced block that holds `text`, cut in the middle where it is longer than `limit` characters."""
    text = visible(redact(text)).strip("\n")
    if len(text) > limit:
        text = f"{text[: limit // 2]}\n[… {len(text) - limit} characters left out …]\n{text[-limit // 2 :]}"
    ticks = "`" * max(3, max(map(len, re.findall(r"`+", text)), default=0) + 1)
    return f"{ticks}text\n{text}\n{ticks}"

"""Nothing that came from a pull request becomes a link, mention, image or tag."""

from html.parser import HTMLParser

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.adapters.inert import code, fence, redact

GFM = MarkdownIt("gfm-like", {"html": True, "linkify": False})
NASTY = st.text(alphabet=st.sampled_from("`|<>@#[]()!*_~\\&;:/\n\r\t \u202e\u200bab1-") | st.characters(), max_size=200)


class Tags(HTMLParser):
    """The tags and the text outside code of one HTML text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.outside = ""
        self.depth = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        self.depth += tag in ("code", "pre")

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in ("code", "pre")

    def handle_data(self, data: str) -> None:
        self.outside += "" if self.depth else data


@examples()
@given(NASTY)
def test_a_code_span_holds_anything(text: str) -> None:
    seen = Tags(GFM.render(f"before {code(text)} after"))
    assert seen.tags <= {"p", "code"}
    assert seen.outside.split() == ["before", "after"]


@examples()
@given(NASTY)
def test_a_table_cell_holds_anything(text: str) -> None:
    seen = Tags(GFM.render(f"| a | b |\n|---|---|\n| {code(text)} | end |\n"))
    assert seen.tags <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert seen.outside.split() == ["a", "b", "end"]


@examples()
@given(NASTY)
def test_a_fence_holds_anything(text: str) -> None:
    seen = Tags(GFM.render(f"before\n\n{fence(text)}\n\nafter"))
    assert seen.tags <= {"p", "pre", "code"}
    assert seen.outside.split() == ["before", "after"]


@pytest.mark.parametrize(
    "secret",
    [
        "ghs_0123456789abcdefghijABCDEFGHIJ012345",
        "github_pat_11ABCDEFG0123456789_abcdefghij",
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjM0NSJ9.c2lnbmF0dXJlLWhlcmU",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_secrets_are_redacted(secret: str) -> None:
    assert secret not in redact(f"log: {secret} end") and redact(f"log: {secret} end").endswith(" end")


def test_a_password_in_an_address_is_redacted() -> None:
    assert redact("fetch https://bot:hunter2@git.example/x") == "fetch https://[redacted]@git.example/x"

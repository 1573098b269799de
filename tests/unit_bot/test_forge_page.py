"""The pull's page: comments as GitHub renders and cleans them, reactions, checks, and the box to write in."""

from __future__ import annotations

import pytest
import requests
from forged_github import Forged

from bot.forge.page import rendered

SAMPLE = "/repos/kernelgate/sample"
PAGE = "/kernelgate/sample/pull/1"


@pytest.fixture
def pulled(forged: Forged) -> Forged:
    assert forged.call("POST", f"{SAMPLE}/pulls", title="A <b>change</b>", head="change", base="main", body="**why**").status_code == 201
    return forged


def page(forged: Forged) -> str:
    response = requests.get(f"{forged.url}{PAGE}", timeout=20)
    assert response.status_code == 200
    return response.text


def test_pull_with_comment_reaction_and_check(pulled: Forged) -> None:
    comment = pulled.call("POST", f"{SAMPLE}/issues/1/comments", body="| a | b |\n| --- | ---: |\n| 1 | 2 |").json()
    pulled.call("POST", f"{SAMPLE}/issues/comments/{comment['id']}/reactions", who="noor", content="eyes")
    html = page(pulled)
    assert "A &lt;b&gt;change&lt;/b&gt;" in html and "<strong>why</strong>" in html
    assert '<td align="right">2</td>' in html and "👀 noor" in html
    assert "No check on this commit" in html


def test_writing_in_the_box(pulled: Forged) -> None:
    sent = requests.post(f"{pulled.url}{PAGE}/comment", data={"login": "noor", "body": "/status"}, timeout=20, allow_redirects=False)
    assert sent.status_code == 303 and "#issuecomment-" in sent.headers["Location"]
    assert [(one.author, one.body) for one in pulled.world.comments.values()] == [("noor", "/status")]
    nobody = requests.post(f"{pulled.url}{PAGE}/comment", data={"login": "ghost", "body": "/status"}, timeout=20)
    assert nobody.status_code == 404


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        '<a href="javascript:alert(1)">x</a>',
        "<style>*{}</style>",
    ],
)
def test_nothing_active_survives(text: str) -> None:
    html = rendered(text)
    assert not any(word in html for word in ("<script", "onerror", 'href="javascript', "<style"))


def test_folds_and_code_survive() -> None:
    html = rendered("<details><summary>more</summary>\n\n```\n| x |\n```\n\n</details>")
    assert "<details><summary>more</summary>" in html and "<code>| x |" in html


def test_index_lists_the_pulls(pulled: Forged) -> None:
    html = requests.get(pulled.url, timeout=20).text
    assert PAGE in html and "None" not in html

"""Whole reports as golden files; `UPDATE_GOLDENS=1 pytest tests/unit_bot/test_rendering.py` rewrites them."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from sample_runs import RUNS, WAITING

from bot.adapters import rendering
from bot.core.card import Card, Reply
from bot.core.report import dump, load

GOLDENS = Path(__file__).parents[1] / "data" / "reports"


def matches(name: str, text: str) -> None:
    path = GOLDENS / name
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", RUNS)
def test_answer(name: str) -> None:
    matches(f"answer-{name}.md", rendering.answer(RUNS[name], details_url="https://gate.example/runs/7"))


@pytest.mark.parametrize("name", RUNS)
def test_check(name: str) -> None:
    title, summary = rendering.check_output(RUNS[name])
    matches(f"check-{name}.md", f"{title}\n\n{summary}\n")


@pytest.mark.parametrize("name", WAITING)
def test_card(name: str) -> None:
    matches(f"card-{name}.md", rendering.card(WAITING[name]))


FACTS = {
    "card": Card("kernelgate/sample", 3, "b" * 40),
    "errors": [{"line": 2, "column": 11, "text": "/run-test modles=all", "message": "unknown key 'modles'", "suggestion": "models"}],
    "who": "sam", "command": "/run-test models=all", "commands": ["/run-test models=all"], "level": "write permission",
    "permission": "read", "head": "b" * 40, "given": "1234567", "started": True, "line": 3, "problem": "unknown key 'flor'",
    "suggestion": "floor", "message": "no pool is called 'mi5'", "verdict": None, "url": "https://gate.example/runs/7", "id": "run-7",
    "scope": "gemm/llama-1b/ffn_down/m32/f32@mi50", "by": "noor", "reason": "known, see the notes", "until": "2026-12-30T12:00:00+00:00",
    "own": True, "waits": "person", "limit": 10.0,
}  # fmt: skip


@pytest.mark.parametrize("kind", Reply, ids=lambda k: k.value)
def test_reply(kind: Reply) -> None:
    matches(f"reply-{kind.value}.md", rendering.reply(kind, **FACTS))


def test_a_run_survives_its_own_json() -> None:
    for run in RUNS.values():
        assert load(dump(run)) == run


def test_a_log_that_many_cases_have_is_shown_once() -> None:
    run = RUNS["broken"]
    failing = next(case for case in run.cases if case.failures and case.failures[0].log)
    other = replace(failing, tunables={"dk_split": 2})
    text = rendering.answer(replace(run, cases=(*run.cases, other)))
    assert text.count("<summary>Log of head") == 1
    assert f"`{failing.id} dk_split=2`" in text


def test_sections_are_shed_whole_and_said() -> None:
    whole = rendering.answer(RUNS["broken"])
    short = rendering.answer(RUNS["broken"], limit=len(whole) - 1, details_url="https://gate.example/runs/7")
    assert len(short) < len(whole)
    assert "left out" in short and "https://gate.example/runs/7" in short
    assert short.count("<details>") == short.count("</details>")


def test_a_page_holds_no_script_and_the_verdict() -> None:
    text = rendering.page(RUNS["broken"])
    assert "<title>broken" in text and "<script" not in text

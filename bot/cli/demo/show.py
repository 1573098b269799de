"""Answers on the terminal: the comment's Markdown, its folds shown closed, and a summary at the end."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.markdown import Markdown
from rich.rule import Rule
from rich.table import Table

from bot.cli.demo.story import Visit

FOLD = re.compile(r"<details[^>]*>|</details>")
SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
TAG = re.compile(r"<!--.*?-->|</?(?:sub|sup|b|i|em|strong|br|p|div)\s*/?>", re.DOTALL)
COLOURS = {"pass": "green", "broken": "red", "regressed": "red"}


def folded(text: str) -> str:
    """Markdown with each outermost fold as its closed summary line, as a browser shows it at first."""
    shown, depth, start = [], 0, 0
    for mark in FOLD.finditer(text):
        if mark[0].startswith("</"):
            depth = max(0, depth - 1)
            if depth == 0:
                start = mark.end()
            continue
        if depth == 0:
            title = SUMMARY.search(text, mark.end())
            shown.append(text[start : mark.start()] + (f"\n\n▸ {title[1].strip()}\n\n" if title else ""))
        depth += 1
    return TAG.sub("", "".join(shown) + (text[start:] if depth == 0 else ""))


def show(console: Console, visit: Visit, forge: str) -> None:
    """One pull's answer, under its title and address."""
    pull = visit.pull
    console.print(Rule(f"[bold]#{pull.number} {pull.title}[/bold]", align="left"))
    if visit.refusal:
        console.print(Markdown(folded(visit.refusal.body)))
        console.print(Rule(characters="·", style="dim"))
    if visit.answer:
        console.print(Markdown(folded(visit.answer.body)))
        console.print(visit.answer.url, style="blue", soft_wrap=True, highlight=False)
    for fault in visit.faults:
        console.print(f"✗ {fault}", style="red", highlight=False)
    console.print()


def summary(visits: Sequence[Visit]) -> Table:
    table = Table("", "Pull request", "Expected", "Verdict", "Remark")
    for visit in visits:
        verdict = str(visit.verdict or "no answer")
        remark = "; ".join(visit.faults) or (visit.expected.told if visit.answer else "")
        name = f"#{visit.pull.number} {visit.pull.title}"
        colour = COLOURS.get(verdict, "yellow")
        table.add_row("✓" if visit.good else "✗", name, visit.expected.verdict, f"[{colour}]{verdict}[/{colour}]", remark)
    return table

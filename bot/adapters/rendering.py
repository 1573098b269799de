"""Runs, cards and replies to Markdown and HTML, through templates/; text is a dead end that nothing reads back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from tabulate import tabulate

from bot.adapters import inert, tables
from bot.core.card import Card, Reply
from bot.core.enums import RunVerdict
from bot.core.owners import Owners
from bot.core.places import Place, places
from bot.core.report import Run
from bot.flow.ports import Annotation

TEMPLATES = Path(__file__).parents[2] / "templates"
LIMIT = 60_000
NOBODY = Owners()
MESSAGE, MOST_ANNOTATIONS = 4000, 200
SHEDS = ("nothing", "identical", "static", "logs", "accuracy", "all tables")


def answer(run: Run, *, details_url: str = "", limit: int = LIMIT, owners: Owners = NOBODY) -> str:
    """The comment that ends a command: verdict first; whole sections are shed until it fits `limit` characters."""
    text = ""
    for shed in range(len(SHEDS)):
        text = _render("comment/answer.md.j2", run=run, facts=tables.facts(run), details_url=details_url, shed=shed, owners=owners)
        if len(text) <= limit:
            return text
    return text[: limit - 200].rsplit("\n\n", 1)[0] + "\n"


def card(card: Card) -> str:
    """The sticky comment of a pull request."""
    return _render("comment/card.md.j2", card=card)


def reply(kind: Reply, **facts: Any) -> str:
    """The answer to a command that is not a run."""
    return _render(f"replies/{kind.value}.md.j2", **facts)


def check_output(run: Run | None, card: Card | None = None) -> tuple[str, str]:
    """Title and summary of the check, of an ended run or of one under way."""
    title, _, summary = _render("comment/check.md.j2", run=run, card=card, facts=run and tables.facts(run)).partition("\n")
    return title.strip(), summary.strip()[:65_000]


def annotations(run: Run) -> tuple[Annotation, ...]:
    """The findings at their lines: plain text, each within GitHub's limits for a title and a message."""
    level = "warning" if run.verdict is RunVerdict.PASS else "failure"  # waived ones don't block
    return tuple(
        Annotation(one.path, one.line, level, title(one), inert.plain(one.message, MESSAGE)) for one in places(run)[:MOST_ANNOTATIONS]
    )


def title(place: Place) -> str:
    return _render("comment/annotation.j2", place=place).strip()


def buttons(*, is_running: bool) -> tuple[tuple[str, str, str], ...]:
    """The check's buttons: identifier, label (20 characters at most) and description (40)."""
    lines = _render("comment/buttons.j2", is_running=is_running).splitlines()
    return tuple((identifier, label, said) for identifier, label, said in (line.split(" | ") for line in lines))


def page(run: Run) -> str:
    """A run as one HTML page that needs nothing else."""
    return _html().get_template("pages/run.html.j2").render(run=run, body=markdown(answer(run, limit=10**7)))


def runs_page(rows: Sequence[object]) -> str:
    """The list of runs as one HTML page."""
    return _html().get_template("pages/runs.html.j2").render(rows=rows)


def nodes_page(rows: Sequence[object], barren: Sequence[object], harness: str) -> str:
    """The list of nodes as one HTML page, after the pools without a good baseline for a day."""
    return _html().get_template("pages/nodes.html.j2").render(rows=rows, barren=barren, harness=harness)


def static_page(headers: Sequence[str], rows: Sequence[object]) -> str:
    """Resources of every target as one HTML page."""
    return _html().get_template("pages/static.html.j2").render(headers=headers, rows=rows)


def markdown(text: str) -> Markup:
    """GitHub's Markdown as HTML; only our own <details> pass as tags."""
    return Markup(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text))


def grid(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A pipe table; cells are text already, numbers were formatted by whoever knows their unit."""
    return tabulate(list(rows), headers=list(headers), tablefmt="pipe", disable_numparse=True, stralign="left")


def _render(name: str, **facts: Any) -> str:
    text = _markdown().get_template(name).render(**facts)
    lines = [line.rstrip() for line in text.strip().splitlines()]
    kept = [line for i, line in enumerate(lines) if line or (i and lines[i - 1])]
    return "\n".join(kept) + "\n"


@cache
def _markdown() -> Environment:
    env = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    env.filters.update(code=inert.code, fence=inert.fence)
    env.globals.update(grid=grid)
    return env


@cache
def _html() -> Environment:
    return Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True)

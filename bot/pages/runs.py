"""The run pages: a list of the last runs and one page a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flask import Blueprint, abort

from bot.adapters import rendering
from bot.core.report import Run


@dataclass(frozen=True)
class RunRow:
    """One line of the list; `verdict` is empty while the run is under way."""

    id: str
    repo: str
    number: int
    head: str
    command: str
    started: str
    verdict: str


class RunSource(Protocol):
    """What the pages read. It shows runs of public repositories only."""

    def recent(self, limit: int) -> Sequence[RunRow]: ...

    def ended(self, run_id: str) -> Run | None: ...


def blueprint(source: RunSource) -> Blueprint:
    """`/` lists the last 50 runs, `/runs/ID` shows one that has ended."""
    pages = Blueprint("runs", __name__)

    @pages.get("/")
    def recent() -> str:
        return rendering.runs_page(source.recent(50))

    @pages.get("/runs/<run_id>")
    def one(run_id: str) -> str:
        run = source.ended(run_id)
        return rendering.page(run) if run else abort(404)

    return pages

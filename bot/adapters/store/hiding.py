"""A repository that became private: so do the pages of its runs of before."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from bot.adapters.store.tables import RunRow


def hide_runs(session: Session, repository: str) -> None:
    """As a step of a larger transaction."""
    for run in session.scalars(select(RunRow).where(RunRow.repository == repository)):
        run.new = {**run.new, "private": True}

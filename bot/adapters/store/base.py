"""What every part of the store has: the database, the server's clock, fresh ids."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from bot.adapters.store.engine import Database


@dataclass(frozen=True)
class Part:
    """One group of tables with the transactions that touch them."""

    db: Database
    clock: Callable[[], float]

    def now(self) -> float:
        return self.clock()


def fresh_id() -> str:
    """An id that nobody can guess, so that holding it is a right (attempts, markers)."""
    return secrets.token_hex(12)

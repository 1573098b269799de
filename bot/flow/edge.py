"""One row at a time: a bug met on one row is logged and must not hold up the rows behind it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)


def each(rows: Iterable[T], action: Callable[[T], None], on_bug: Callable[[T, str], None]) -> None:
    """Do `action` on every row; `on_bug` puts a row aside with a word on why."""
    for row in rows:
        try:
            action(row)
        except Exception as error:
            log.exception("%s failed on %s", getattr(action, "__name__", action), row)
            on_bug(row, type(error).__name__)

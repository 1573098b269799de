"""Who may do what: authority is a property of the command, asked once, before planning."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from bot.core.commands import Command, Name


class Level(StrEnum):
    """What a command needs of the person who gave it."""

    ANYBODY = "anybody"
    INVOLVED = "involved"
    WRITE = "write"
    OTHER_WRITE = "other_write"


LEVELS = {
    Name.HELP: Level.ANYBODY,
    Name.STATUS: Level.ANYBODY,
    Name.CANCEL: Level.INVOLVED,
    Name.RUN_TEST: Level.WRITE,
    Name.RETEST: Level.WRITE,
    Name.OK_TO_TEST: Level.WRITE,
    Name.BISECT: Level.WRITE,
    Name.WAIVE: Level.OTHER_WRITE,
}
WRITERS = frozenset({"admin", "maintain", "write"})


def needed_level(command: Command) -> Level:
    """What this command asks of its sender."""
    return LEVELS[command.name]


def can_write(permission: str) -> bool:
    """Whether GitHub's permission API named a writer; "" (an error, a 404) is a no."""
    return permission in WRITERS


def may(command: Command, permission: str, is_author: bool = False, is_asker: bool = False, sole_writer: bool = False) -> bool:
    """Whether the event's sender may give this command; `is_asker`: their command is the one to be cancelled.

    A waiver needs someone other than the PR's author, except where one person alone has write permission.
    """
    level, writes = needed_level(command), can_write(permission)
    if level is Level.ANYBODY:
        return True
    if level is Level.INVOLVED:
        return writes or is_author or is_asker
    return writes and (level is Level.WRITE or not is_author or sole_writer)


def head_allowed(head: str, author_permission: str, approved: Collection[str]) -> bool:
    """Whether this very commit may run: its author may write, or a maintainer named all 40 digits of it."""
    return can_write(author_permission) or head in approved


def approval_fits(command: Command, head: str) -> bool:
    """Whether an /ok-to-test names the PR's current head."""
    return command.name is Name.OK_TO_TEST and command.args == (head.lower(),)

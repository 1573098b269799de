"""One command with all that decides it, and the plainest answers."""

from __future__ import annotations

from dataclasses import dataclass

from bot.core.card import Reply
from bot.core.commands import Command, spell
from bot.core.errors import ConfigError
from bot.core.records import Ask, AskState, CheckMark, CheckNote, PullState, RunView, Settlement
from bot.flow.ports import World


@dataclass(frozen=True)
class Scene:
    world: World
    ask: Ask
    command: Command
    pull: PullState
    active: list[RunView]

    @property
    def spelled(self) -> str:
        return spell(self.command)


def no(reply: Reply, check: CheckMark | None = None, **facts: object) -> Settlement:
    """A no in words."""
    return Settlement(state=AskState.REFUSED, reply=reply, facts=facts, answer=True, check=check)


def closed(scene: Scene) -> Settlement:
    return no(Reply.CLOSED, command=scene.spelled)


def head_gone(scene: Scene) -> Settlement:
    return no(Reply.HEAD_GONE, CheckMark(scene.pull.head, CheckNote.HEAD_GONE), head=scene.pull.head)


def bad_config(scene: Scene, error: ConfigError) -> Settlement:
    facts = {"line": error.line, "problem": error.problem, "suggestion": error.suggestion}
    return no(Reply.CONFIG_ERROR, CheckMark(scene.pull.head, CheckNote.CONFIG_ERROR, facts), **facts)

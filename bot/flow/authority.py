"""Who may: asked of GitHub at the moment of the command; any error means no."""

from __future__ import annotations

from bot.core.card import Reply
from bot.core.commands import Command, Name, spell
from bot.core.policy import can_write, head_allowed, may, needed_level
from bot.core.records import Ask, AskState, PullState, RunView, Settlement
from bot.flow.ports import GitHubError, World

QUIET_SECONDS = 3600.0


def permission(world: World, repository: str, login: str) -> str:
    """GitHub's word on a person now; "" if it has none."""
    if not login:
        return ""
    try:
        return world.github.permission(repository, login)
    except GitHubError:
        return ""


def not_allowed(world: World, ask: Ask, command: Command, pull: PullState, active: list[RunView]) -> Settlement | None:
    """The refusal of a command whose sender may not give it; None if they may."""
    sender = ask.new.sender
    word = permission(world, ask.new.repository, sender)
    is_asker = any(run.new.asker == sender for run in active)
    author = is_author(world, command, pull, sender)
    alone = command.name is Name.WAIVE and author and _writes_alone(world, pull.repository, sender)
    if may(command, word, is_author=author, is_asker=is_asker, sole_writer=alone):
        return None
    facts = {"command": spell(command), "level": needed_level(command).value, "who": sender, "permission": word}
    return refusal(world, ask, Reply.NOT_ALLOWED, **facts)


def is_author(world: World, command: Command, pull: PullState, login: str) -> bool:
    """Whether this is the author's command; who has another pull request on the same head is an author of what is waived, too."""
    others = world.store.asks.authors(pull.repository, pull.head) if command.name is Name.WAIVE else set()
    return login in {pull.author, *others}


def _writes_alone(world: World, repository: str, login: str) -> bool:
    """Whether this person and nobody else may write here, by GitHub's word."""
    try:
        return list(world.github.writers(repository)) == [login]
    except GitHubError:
        return False


def refusal(world: World, ask: Ask, reply: Reply, **facts: object) -> Settlement:
    """A no with its reason: one reply an hour to a person on a pull request, after that only the reaction."""
    told = world.store.asks.refused_since(ask, world.clock() - QUIET_SECONDS)
    return Settlement(state=AskState.REFUSED, reply=reply, facts=facts, answer=not told)


def trusted(world: World, pull: PullState) -> bool:
    """Whether the head's authors may write here anyway: a branch of this repository, or a writer's fork."""
    if pull.head_repository == pull.repository:
        return True
    return can_write(permission(world, pull.repository, pull.author))


def head_may_run(world: World, pull: PullState, is_trusted: bool) -> bool:
    """Whether this very commit may run."""
    approved = [pull.head] if world.store.asks.approved(pull.repository, pull.number, pull.head) else []
    return head_allowed(pull.head, "write" if is_trusted else "none", approved)

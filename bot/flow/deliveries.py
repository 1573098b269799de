"""Deliveries to asks: what each webhook wants of us, settled with the delivery in one transaction."""

from __future__ import annotations

from dataclasses import asdict

from bot.core.commands import Command, CommandError, Name, parse
from bot.core.errors import Refused
from bot.core.events import Event, EventKind, parse_event
from bot.core.records import Delivery, NewAsk, Origin
from bot.flow.edge import each
from bot.flow.marks import MARK
from bot.flow.ports import World

PULL_EVENTS = frozenset(
    {EventKind.PULL_OPENED, EventKind.PULL_PUSHED, EventKind.PULL_EDITED, EventKind.PULL_CLOSED, EventKind.PULL_DRAFTED}
)
BUTTONS = {"rerun": Name.RETEST, "cancel": Name.CANCEL}
ERRORS = "errors"
BUG_SECONDS = 60.0


def take_deliveries(world: World) -> None:
    """Open the asks of every delivery that came in."""
    deliveries = world.store.deliveries
    each(deliveries.due(), lambda one: _take(world, one), lambda one, why: deliveries.delay(one.id, BUG_SECONDS, why))


def _take(world: World, delivery: Delivery) -> None:
    try:
        asks, note = asks_of(world, parse_event(delivery.headers, delivery.body))
    except Refused as refused:  # nothing later can read it either
        asks, note = [], refused.reason
    world.store.deliveries.settle(delivery.id, asks, note)


def asks_of(world: World, event: Event) -> tuple[list[NewAsk], str]:
    """What an event asks for, or a note why it asks for nothing."""
    if event.kind in (EventKind.REPOSITORY, EventKind.INSTALLATION):
        return _places(world, event), ""
    if not world.serves(event.repository):
        return [], "the repository is not on the allow-list"
    if event.kind in (EventKind.RERUN, EventKind.BUTTON):
        return _pressed(world, event)
    if event.kind is EventKind.MERGE_GROUP:
        where = (event.base_ref, event.ref)
        return [NewAsk(event.repository, 0, Origin.EVENT, event.kind, event.sender, sha=event.sha, args=where)], ""
    if event.kind is EventKind.COMMENT_CHANGED:
        return [], f"comment {event.action}: only a new comment is read"
    if event.number is None:
        return [], "no pull request"
    if event.kind in PULL_EVENTS:
        return [NewAsk(event.repository, event.number, Origin.EVENT, event.kind, event.sender, sha=event.sha)], ""
    if event.kind is not EventKind.COMMENT or event.comment_id is None:
        return [], "not of interest"
    if event.sender_is_bot or MARK in event.text:
        return [], "a bot's comment"
    return _commands(world, event), ""


def _places(world: World, event: Event) -> list[NewAsk]:
    """A look at each repository that may have moved; under its former name too, as its runs still have that one."""
    names = {event.repository, event.former} if event.kind is EventKind.REPOSITORY else _held(world, event)
    return [NewAsk(name, 0, Origin.EVENT, event.kind, event.sender) for name in sorted(names) if world.serves(name)]


def _held(world: World, event: Event) -> set[str]:
    return {name for owner in (event.owner, event.former) if owner for name in world.store.runs.repositories(owner)}


def _pressed(world: World, event: Event) -> tuple[list[NewAsk], str]:
    """A button on a check is the command of whoever pressed it."""
    name = Name.RETEST if event.kind is EventKind.RERUN else BUTTONS.get(event.button)
    numbers = world.store.outbox.pulls_of_check(event.repository, event.sha)
    if name is None or not any(numbers):
        return [], "no button of ours" if name is None else "no pull request of this check"
    return [NewAsk(event.repository, numbers[0], Origin.BUTTON, name.value, event.sender)], ""


def _commands(world: World, event: Event) -> list[NewAsk]:
    parsed = parse(event.text, world.models)
    asks = [_command(event, ordinal, command) for ordinal, command in enumerate(parsed.commands)]
    return asks + ([_errors(event, len(asks), parsed.errors)] if parsed.errors else [])


def _command(event: Event, ordinal: int, command: Command) -> NewAsk:
    assert event.number is not None
    key = (event.repository, event.number, Origin.COMMENT, command.name.value, event.sender, event.comment_id, ordinal)
    return NewAsk(*key, options=command.options, args=command.args, reason=command.reason, line=command.line)


def _errors(event: Event, ordinal: int, errors: tuple[CommandError, ...]) -> NewAsk:
    assert event.number is not None
    key = (event.repository, event.number, Origin.COMMENT, ERRORS, event.sender, event.comment_id, ordinal)
    return NewAsk(*key, errors=tuple(asdict(error) for error in errors))

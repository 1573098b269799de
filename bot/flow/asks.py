"""Commands to runs: each ask is decided once, by what GitHub says at that moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bot.core.card import Reply
from bot.core.commands import Command, Name, spell
from bot.core.policy import Level, can_write
from bot.core.records import Ask, AskState, Origin, Settlement
from bot.flow.authority import not_allowed, permission, refusal
from bot.flow.deliveries import ERRORS
from bot.flow.edge import each
from bot.flow.place_events import PLACES
from bot.flow.ports import Gone, Unavailable, World
from bot.flow.pull_events import decide_event, not_started, others_wait, stale, trouble_mark, why_left
from bot.flow.room import still_waits
from bot.flow.scene import Scene
from bot.flow.starting import ok_to_test, retest, run_test
from bot.flow.waiving import waive

BUGS = 3
BUG_SECONDS = 2.0


def settle_asks(world: World) -> None:
    """Decide every ask."""
    each(world.store.asks.due(), lambda ask: _settle(world, ask, decide), lambda ask, _: _put_aside(world, ask))


def _settle(world: World, ask: Ask, decide: Callable[[World, Ask], Settlement]) -> None:
    """By what `decide` makes of it; an ask that GitHub can't be asked about waits."""
    try:
        settlement = decide(world, ask)
    except Unavailable as trouble:
        world.store.asks.delay(ask.id, trouble.wait)
    else:
        world.store.asks.settle(ask.id, settlement)


def _put_aside(world: World, ask: Ask) -> None:
    """A bug of ours: tried again a few times, then owned up to, in an answer or in the check."""
    if world.store.asks.failed(ask.id, BUG_SECONDS) < BUGS:
        return
    if ask.new.origin is Origin.EVENT:
        each([ask], lambda one: _settle(world, one, not_started), lambda one, _: _refuse(world, one, check=trouble_mark(one)))
    else:
        facts = {"command": f"/{ask.new.name}", "id": f"ask-{ask.id}"}
        _refuse(world, ask, reply=Reply.TROUBLE, facts=facts, answer=True)


def _refuse(world: World, ask: Ask, **more: Any) -> None:
    world.store.asks.settle(ask.id, Settlement(state=AskState.REFUSED, **more))


def decide(world: World, ask: Ask) -> Settlement:
    """What becomes of one ask."""
    if ask.new.name in PLACES:
        return PLACES[ask.new.name](world, ask)
    if waiting := still_waits(world, ask):
        return waiting
    try:
        pull = world.github.pull(ask.new.repository, ask.new.number)
    except Gone:
        return Settlement(state=AskState.REFUSED)
    if ask.new.origin is Origin.EVENT:
        return decide_event(world, ask, pull)
    if ask.new.name == ERRORS:
        return replace(refusal(world, ask, Reply.PARSE_ERRORS, errors=ask.new.errors), pull=pull)
    new = ask.new
    command = Command(Name(new.name), new.options, new.args, new.reason, new.line)
    active = world.store.runs.active(new.repository, new.number)
    scene = Scene(world, ask, command, pull, [run for run in active if not why_left(pull, run)])
    refused = not_allowed(world, ask, command, pull, scene.active)
    settlement = refused or HANDLERS[command.name](scene)
    return replace(settlement, pull=pull, cancel={**stale(world, pull, active), **settlement.cancel})


def _cancel(scene: Scene) -> Settlement:
    """A writer stops all runs of the pull request; the author and the asker those that no other pull request waits for."""
    who, world, pull = scene.ask.new.sender, scene.world, scene.pull
    word = permission(world, pull.repository, who)
    theirs = [run for run in scene.active if can_write(word) or who in (pull.author, run.new.asker)]
    runs = [run for run in theirs if can_write(word) or not others_wait(world, pull, run)]
    if theirs and not runs:
        return refusal(world, scene.ask, Reply.NOT_ALLOWED, command=spell(scene.command), level=Level.WRITE, who=who, permission=word)
    if not runs:
        return Settlement(reply=Reply.NOTHING_TO_CANCEL, answer=True)
    facts = {"who": who, "commands": [run.new.command for run in runs]}
    return Settlement(reply=Reply.CANCELLED, facts=facts, answer=True, cancel={run.id: f"/cancel by {who}" for run in runs})


def _told(reply: Reply) -> Callable[[Scene], Settlement]:
    return lambda scene: Settlement(reply=reply, facts={"command": spell(scene.command)}, answer=True)


HANDLERS: dict[Name, Callable[[Scene], Settlement]] = {
    Name.RUN_TEST: run_test,
    Name.CANCEL: _cancel,
    Name.OK_TO_TEST: ok_to_test,
    Name.STATUS: _told(Reply.STATUS),
    Name.HELP: _told(Reply.HELP),
    Name.RETEST: retest,
    Name.WAIVE: waive,
    Name.BISECT: _told(Reply.UNSUPPORTED),
}

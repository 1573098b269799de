"""What a moved pull request means: stale runs are called off, and a head that may run gets its gate run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.core.errors import ConfigError, PlanError
from bot.core.policy import can_write
from bot.core.records import Ask, AskState, CheckMark, CheckNote, Priority, PullState, RunView, Settlement
from bot.flow.authority import head_may_run, permission, trusted
from bot.flow.planning import CONFIG_FILE, Ground, HeadGone, ground, new_run
from bot.flow.ports import World
from bot.flow.room import room


def stale(world: World, pull: PullState, active: Sequence[RunView]) -> dict[str, str]:
    """The runs that the pull request has left behind and that no other one waits for, and why."""
    return {run.id: why for run in active if (why := why_left(pull, run)) and not others_wait(world, pull, run)}


def others_wait(world: World, pull: PullState, run: RunView) -> set[int]:
    """The other pull requests on the same head for which a run goes on."""
    return world.store.runs.waiters(run.id) - {pull.number}


def why_left(pull: PullState, run: RunView) -> str:
    """Why a run is no longer this pull request's; "" while its head and base branch are."""
    if not pull.open:
        return "the pull request was closed"
    if run.new.head != pull.head:
        return f"a push moved the head to {pull.head[:12]}"
    if pull.draft and run.new.priority is Priority.PUSH:
        return "the pull request is a draft now"
    return f"the base branch is now {pull.base_ref}" if run.new.base_ref != pull.base_ref else ""


def decide_event(world: World, ask: Ask, pull: PullState) -> Settlement:
    """The pull request's state is GitHub's, so events may come in any order and as often as they like."""
    cancel = stale(world, pull, world.store.runs.active(pull.repository, pull.number))
    moved_on = ask.new.sha != "" and ask.new.sha != pull.head  # the newer push has an event of its own
    if not pull.open or moved_on:
        return Settlement(pull=pull, cancel=cancel)
    return replace(_gate(world, ask, pull), pull=pull, cancel=cancel)


def not_started(world: World, ask: Ask) -> Settlement:
    """What an event comes to that bugs of ours kept from being decided: the check of its head says so, where the gate is adopted."""
    pull = world.github.pull(ask.new.repository, ask.new.number)
    adopted = world.github.file(pull.repository, CONFIG_FILE, pull.base_ref) is not None
    cancel = stale(world, pull, world.store.runs.active(pull.repository, pull.number))
    wanted = adopted and pull.open and pull.head == ask.new.sha
    return Settlement(state=AskState.REFUSED, pull=pull, cancel=cancel, check=trouble_mark(ask) if wanted else None)


def trouble_mark(ask: Ask) -> CheckMark | None:
    """The check that owns up to a bug of ours; None where the event names no head."""
    return CheckMark(ask.new.sha, CheckNote.TROUBLE, {"id": f"ask-{ask.id}"}) if ask.new.sha else None


def _gate(world: World, ask: Ask, pull: PullState) -> Settlement:
    """The automatic gate run of a head, or the check that says why there is none."""

    def decide(at: Ground) -> Settlement:
        if pull.draft:
            return Settlement(check=CheckMark(pull.head, CheckNote.DRAFT))
        is_trusted = trusted(world, pull)
        if not head_may_run(world, pull, is_trusted and _sender_writes(world, ask)):
            return Settlement(check=CheckMark(pull.head, CheckNote.NEEDS_OK_TO_TEST))
        run = new_run(world, pull, at, at.config.on_push, ask.new.sender, is_trusted, Priority.PUSH)
        return room(world, ask, CheckMark(pull.head, CheckNote.WAITS)) or Settlement(run=run)

    return or_why_not(world, pull, decide)


def or_why_not(world: World, pull: PullState, decide: Callable[[Ground], Settlement]) -> Settlement:
    """What is decided on the ground of an adopted head, or the check that says why nothing can be."""
    try:
        at = ground(world, pull)
        return decide(at) if at.config.adopted else Settlement()
    except HeadGone:
        return Settlement()
    except ConfigError as error:
        facts = {"line": error.line, "problem": error.problem, "suggestion": error.suggestion}
        return Settlement(check=CheckMark(pull.head, CheckNote.CONFIG_ERROR, facts))
    except PlanError as error:
        facts = {"problem": error.problem, "suggestion": error.suggestion}
        return Settlement(check=CheckMark(pull.head, CheckNote.PLAN_ERROR, facts))


def _sender_writes(world: World, ask: Ask) -> bool:
    return can_write(permission(world, ask.new.repository, ask.new.sender))

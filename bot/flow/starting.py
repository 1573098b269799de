"""The commands that make nodes work: a run, a stranger's head let in, a further round of the gate run."""

from __future__ import annotations

from dataclasses import replace

from bot.core.card import Reply
from bot.core.commands import Command
from bot.core.errors import ConfigError, PlanError
from bot.core.policy import approval_fits
from bot.core.records import Again, CheckMark, CheckNote, NewRun, Origin, Priority, RunStatus, RunView, Settlement
from bot.core.report import load
from bot.core.rounds import wanting
from bot.flow.authority import head_may_run, trusted
from bot.flow.planning import HeadGone, ground, new_run
from bot.flow.room import room
from bot.flow.scene import Scene, bad_config, closed, head_gone, no


def run_test(scene: Scene) -> Settlement:
    """A run. The gate run that is there already is joined; one that has ended is measured further, as by /retest."""
    return _allowed(scene, scene.command)


def retest(scene: Scene) -> Settlement:
    """A further round of the gate run of this head, base, judge and configuration; the check's button starts it if there is none."""
    return _allowed(scene, None, only_again=True)


def ok_to_test(scene: Scene) -> Settlement:
    """A maintainer lets exactly the pull request's head run."""
    head = scene.pull.head
    if not approval_fits(scene.command, head):
        return no(Reply.OK_TO_TEST_BAD_SHA, given=scene.command.args[0], head=head)
    started = _start(scene, None, trusted(scene.world, scene.pull)) if scene.pull.open else Settlement()
    if started.run or started.again or started.reply:
        return replace(started, approve=head)
    facts = {"head": head, "who": scene.ask.new.sender, "started": False}
    return Settlement(approve=head, reply=Reply.OK_TO_TEST_DONE, facts=facts, answer=True)


def _allowed(scene: Scene, command: Command | None, only_again: bool = False) -> Settlement:
    if not scene.pull.open:
        return closed(scene)
    is_trusted = trusted(scene.world, scene.pull)
    if not head_may_run(scene.world, scene.pull, is_trusted):
        return _needs_ok(scene)
    return _start(scene, command, is_trusted, only_again)


def _needs_ok(scene: Scene) -> Settlement:
    """A stranger's head: whoever asked gets the line that lets it run."""
    mark = CheckMark(scene.pull.head, CheckNote.NEEDS_OK_TO_TEST)
    return no(Reply.NEEDS_OK_TO_TEST, mark, head=scene.pull.head)


def _start(scene: Scene, command: Command | None, is_trusted: bool, only_again: bool = False) -> Settlement:
    """Start or join the run of `command`, or of what the configuration says of a push; else say why not."""
    world, pull = scene.world, scene.pull
    try:
        at = ground(world, pull)
        if command is None and not at.config.adopted:
            return no(Reply.NOTHING_TO_RETEST, verdict="") if only_again else Settlement()
        run = new_run(world, pull, at, command or at.config.on_push, scene.ask.new.sender, is_trusted, Priority.PERSON)
    except HeadGone:
        return head_gone(scene)
    except ConfigError as error:
        return bad_config(scene, error)
    except PlanError as error:
        return no(Reply.PLAN_ERROR, command=scene.spelled, message=error.problem, suggestion=error.suggestion)
    return _run_or_round(scene, run, only_again)


def _run_or_round(scene: Scene, run: NewRun, only_again: bool) -> Settlement:
    held = scene.world.store.runs.held(run.gate_key) if run.gate else None
    if held is None:
        commented = scene.ask.new.origin is Origin.COMMENT
        return no(Reply.NOTHING_TO_RETEST, verdict="") if only_again and commented else _if_room(scene, Settlement(run=run))
    left = _left(held)
    if left:
        return _if_room(scene, Settlement(again=Again(held.id, left)))
    if only_again and held.state is RunStatus.ENDED:
        return no(Reply.NOTHING_TO_RETEST, verdict=load(held.report or b"").verdict.value)
    return Settlement(run=run)


def _if_room(scene: Scene, start: Settlement) -> Settlement:
    return room(scene.world, scene.ask) or start


def _left(held: RunView) -> dict[str, tuple[str, ...]]:
    """What an ended gate run has left to measure; nothing while it is under way."""
    return dict(wanting(load(held.report), held.jobs)) if held.state is RunStatus.ENDED and held.report else {}

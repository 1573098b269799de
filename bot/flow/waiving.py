"""/waive: a finding of the gate run is accepted, by someone other than the author, for a time and for this code only."""

from __future__ import annotations

from dataclasses import asdict

from bot.core.card import Reply
from bot.core.errors import ConfigError, PlanError
from bot.core.records import RunStatus, Settlement
from bot.core.report import Run, load
from bot.core.waivers import Waiver, codes_of, told
from bot.flow.authority import is_author
from bot.flow.planning import HeadGone, ground
from bot.flow.scene import Scene, bad_config, closed, head_gone, no

DAY = 86_400.0


def waive(scene: Scene) -> Settlement:
    """Record a waiver and have the gate run judged again."""
    world, pull = scene.world, scene.pull
    if not pull.open:
        return closed(scene)
    run = world.store.runs.gate(pull.repository, pull.number, pull.head)
    if run is None or run.state is not RunStatus.ENDED or run.report is None:
        return no(Reply.NOTHING_TO_WAIVE, command=scene.spelled, message="", suggestion="")
    report = load(run.report)
    try:
        waiver = _waiver(scene, report, ground(world, pull).config.gate.waiver_days)
    except HeadGone:
        return head_gone(scene)
    except ConfigError as error:
        return bad_config(scene, error)
    except PlanError as error:
        return no(Reply.NOTHING_TO_WAIVE, command=scene.spelled, message=error.problem, suggestion=error.suggestion)
    return Settlement(reply=Reply.WAIVED, facts=asdict(told(waiver, report)), answer=True, waive=waiver, waived_run=run.id)


def _waiver(scene: Scene, report: Run, days: int) -> Waiver:
    """The waiver of this command, bound to what the gate run found; PlanError."""
    scope, now, who = scene.command.args[0], scene.world.clock(), scene.ask.new.sender
    own = is_author(scene.world, scene.command, scene.pull, who)
    return Waiver(scope, codes_of(scope, report), scene.command.reason, who, own, now, now + days * DAY)

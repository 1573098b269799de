"""What the database knows, as the values that card, check and replies are rendered from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from bot.core.card import Card, JobPhase, JobState, Reply, RunState, Waiting
from bot.core.commands import Command, Name, spell
from bot.core.enums import RunVerdict
from bot.core.quotas import Quota
from bot.core.records import Ask, CheckNote, CheckView, JobStatus, JobView, Origin, PullState, RunStatus, RunView
from bot.core.report import Run, load
from bot.core.verdict import conclusion
from bot.flow.ports import Annotation, World

PHASES = {JobStatus.QUEUED: JobPhase.WAITING, JobStatus.CLAIMED: JobPhase.RUNNING, JobStatus.ENDED: JobPhase.ENDED}
WORST_FIRST = list(RunVerdict)
# A gate run clears the note, so one of these is newer than every gate run of the head: its green would be out of date.
OVERRULING = (CheckNote.CONFIG_ERROR, CheckNote.PLAN_ERROR, CheckNote.HEAD_GONE, CheckNote.TROUBLE)


def run_url(world: World, run: RunView) -> str:
    return f"{world.url}/runs/{run.id}"


def check_url(world: World, view: CheckView) -> str:
    """The page of the run that decides; while it is under way it has none, so the list of runs."""
    runs = _deciding(view)
    return run_url(world, runs[0]) if runs and _report(runs[0]) else world.url


def card(world: World, pull: PullState, welcome: bool, check: CheckView | None, runs: Sequence[RunView], waiting: Sequence[Ask]) -> Card:
    """The sticky card of a pull request as of now."""
    note = check.note if check and not check.runs else None
    return Card(
        repo=pull.repository, number=pull.number, head=pull.head, runs=tuple(_run_state(world, run) for run in runs),
        welcome=welcome, adopted=bool(check) or not runs or runs[0].new.adopted,
        awaiting=pull.head if note is CheckNote.NEEDS_OK_TO_TEST else "",
        config_error=_config_error(check.facts) if check and note in (CheckNote.CONFIG_ERROR, CheckNote.PLAN_ERROR) else "",
        trouble=_trouble(check) if check else "",
        waiting=tuple(_waiting(world, ask) for ask in waiting),
        updated=datetime.fromtimestamp(world.clock(), UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


def _waiting(world: World, ask: Ask) -> Waiting:
    new, quota = ask.new, Quota(ask.facts["waits"])
    command = "" if new.origin is Origin.EVENT else spell(Command(Name(new.name), new.options, new.args, new.reason, new.line))
    return Waiting(command, new.sender, quota.value, world.limits.of(quota))


def _config_error(facts: Mapping[str, Any]) -> str:
    line = facts.get("line")
    return f"line {line}: {facts['problem']}" if line else str(facts.get("problem", ""))


def _trouble(check: CheckView) -> str:
    return str(check.facts["id"]) if check.note is CheckNote.TROUBLE else ""


def _run_state(world: World, run: RunView) -> RunState:
    report = _report(run)
    jobs = tuple(_job_state(job) for job in run.jobs)
    end = (report.verdict, run.cancelled or report.reason) if report else (RunVerdict.CANCELLED if run.cancelled else None, run.cancelled)
    key = (run.id, run.new.command, run.new.head, run.new.asker)
    return RunState(*key, jobs, *end, gate=run.new.gate, url=run_url(world, run) if report else "")


def _job_state(job: JobView) -> JobState:
    key = (job.pool, PHASES[job.state], job.phase, job.place, job.done, job.total or 0)
    return JobState(*key, reason=_why(job), minutes=0 if job.left is None else max(1, round(job.left / 60)))


def _why(job: JobView) -> str:
    """Why a job waits or has failed, in a few words."""
    if job.state is JobStatus.ENDED and job.outcome and job.outcome.failure:
        return job.outcome.failure.message
    if job.state is JobStatus.ENDED:
        return job.ending.value.replace("_", " ") if job.ending and job.ending.value != "done" else ""
    if job.state is JobStatus.QUEUED and job.live_nodes == 0:
        return _no_node(job)
    return "second attempt" if job.attempts > 1 or (job.attempts == 1 and job.state is JobStatus.QUEUED) else ""


def _no_node(job: JobView) -> str:
    if job.rests:
        return f"its card rests: {job.rests}"
    return f"its nodes are too old: upgrade them to kernelgate {version('kernelgate')}" if job.old_nodes else "no node connected"


def reply(world: World, ask: Ask) -> str:
    """The answer to a command that is no run."""
    kind = Reply(ask.reply)
    if kind is not Reply.STATUS:
        return world.words.reply(kind, **ask.facts)
    return world.words.reply(kind, card=pull_card(world, ask.new.repository, ask.new.number))


def pull_card(world: World, repository: str, number: int) -> Card:
    subject = world.store.outbox.card_subject(repository, number)
    return card(world, *world.store.outbox.card(subject))


def _deciding(view: CheckView) -> list[RunView]:
    """The newest gate run of each pull request on this head; under way first, then the worst."""
    newest: dict[int, RunView] = {}
    for run in view.runs:
        newest.setdefault(run.new.number, run)
    return sorted(newest.values(), key=lambda run: (run.state is RunStatus.ENDED, _rank(run)))


def _rank(run: RunView) -> int:
    report = _report(run)
    return WORST_FIRST.index(report.verdict) if report else 0


def _report(run: RunView) -> Run | None:
    """What an ended run came to; one that is in a further round has its verdict still to come."""
    return load(run.report) if run.report and run.state is RunStatus.ENDED else None


def check_state(view: CheckView) -> tuple[str, str]:
    """Status and conclusion of the check of a head."""
    runs = _deciding(view)
    if not runs or view.note in OVERRULING:
        return "completed", "action_required"
    report = _report(runs[0])
    if report is not None:
        return "completed", conclusion(report.verdict)
    return ("in_progress" if runs[0].started else "queued"), ""


def check_annotations(world: World, view: CheckView) -> tuple[Annotation, ...]:
    """What the check says at the lines of head's code, once its run has ended."""
    runs = [] if view.note in OVERRULING else _deciding(view)
    report = _report(runs[0]) if runs else None
    return world.words.annotations(report) if report else ()


def check_text(world: World, repository: str, number: int, view: CheckView) -> tuple[str, str]:
    """Title and summary of the check of a head."""
    runs = [] if view.note in OVERRULING else _deciding(view)
    report = _report(runs[0]) if runs else None
    if report is not None:
        return world.words.check_output(report)
    states = tuple(_run_state(world, run) for run in runs)
    awaiting = view.sha if view.note is CheckNote.NEEDS_OK_TO_TEST and not runs else ""
    error = _config_error(view.facts) if view.note in (CheckNote.CONFIG_ERROR, CheckNote.PLAN_ERROR) else ""
    card = Card(repository, number, view.sha, states, awaiting=awaiting, config_error=error, trouble=_trouble(view))
    return world.words.check_output(None, card)

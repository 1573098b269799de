"""Merge groups: a gate run of the group's head, of what no member's gate run has judged already."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from bot.core.commands import spell
from bot.core.records import Ask, NewRun, Priority, PullState, RunView, Settlement
from bot.core.report import dump, load
from bot.core.reuse import Changes, Judged, Layout, judged_before, together
from bot.flow.planning import CONFIG_FILE, Ground, new_run
from bot.flow.ports import Gone, World
from bot.flow.pull_events import or_why_not

MOST_KNOWN = 20
QUEUE = "refs/heads/"


def look_at_group(world: World, ask: Ask) -> Settlement:
    """By whether the queue's branch still has the group's head: while it has, it gets its gate run; then its runs are called off.

    Only who may write can queue, and only GitHub writes that branch, so the head may run.
    """
    repository, (base_ref, head_ref) = ask.new.repository, ask.new.args
    try:
        tip = world.github.branch_tip(repository, head_ref.removeprefix(QUEUE))
    except Gone:
        tip = ""
    if tip != ask.new.sha:
        runs = world.store.runs.active_in(repository)
        return Settlement(
            cancel={run.id: "the merge group was dissolved" for run in runs if run.new.head == ask.new.sha and not run.new.number}
        )
    group = _as_pull(world, ask, base_ref.removeprefix(QUEUE))
    return or_why_not(world, group, lambda at: _gate(world, ask, group, at))


def _as_pull(world: World, ask: Ask, base_ref: str) -> PullState:
    """The group as a pull request without a number."""
    place = world.github.repository(ask.new.repository)
    names = (ask.new.repository, 0, "merge group", ask.new.sender)
    return PullState(*names, True, ask.new.sha, ask.new.repository, base_ref, place.clone_url, place.private)


def _gate(world: World, ask: Ask, group: PullState, at: Ground) -> Settlement:
    run = new_run(world, group, at, at.config.on_push, ask.new.sender, True, Priority.MERGE_QUEUE)
    changes = _changes(world, group.repository, run.base, run.head)
    kernels = _kernels(world, run, changes)
    known = _judged(world, run, changes, kernels) if changes else {}
    left = tuple(kernel for kernel in kernels if kernel not in known)
    if known and not left:
        return Settlement(run=run, report=_told(world, run, known))
    return Settlement(run=_only(run, left, at) if known else run)


def _changes(world: World, repository: str, base: str, head: str) -> Changes:
    """What differs between two commits of one line; {} also where GitHub does not name it all, as nothing is known then."""
    return (world.github.changed_files(repository, base, head) if base != head else {}) or {}


def _kernels(world: World, run: NewRun, changes: Changes) -> tuple[str, ...]:
    """The kernels whose folders the group changed: those with a plan."""
    layout = Layout(run.suite, CONFIG_FILE, ())
    folders = sorted({folder for path in changes if (folder := layout.folder(path))})
    suite = "" if run.suite in ("", ".") else f"{run.suite.strip('/')}/"
    return tuple(one for one in folders if world.github.file(run.repository, f"{suite}{one}/plan.py", run.head) is not None)


def _judged(world: World, run: NewRun, changes: Changes, kernels: tuple[str, ...]) -> dict[str, RunView]:
    """Kernels of the group that a green gate run of a pull request has judged; none where one of them may include a neighbour's
    file, as its own folder is not all of it then."""
    if not all(_keeps_to_itself(world, run, one) for one in kernels):
        return {}
    layout = Layout(run.suite, CONFIG_FILE, kernels)
    green = [one for one in world.store.runs.green_gates(run.repository, MOST_KNOWN) if _alike(one.new, run)]
    known = [_known(world, one, run.base) for one in green]
    runs = {one.id: one for one in green}
    return {kernel: runs[name] for kernel, name in judged_before(changes, layout, [one for one in known if one]).items()}


def _alike(one: NewRun, run: NewRun) -> bool:
    """Whether both would be judged by the same rules, all else being equal."""
    return (one.base_ref, one.suite, one.trusted, one.pools, one.selection, one.harm) == (
        run.base_ref, run.suite, run.trusted, run.pools, run.selection, run.harm,
    )  # fmt: skip


def _known(world: World, one: RunView, base: str) -> Judged | None:
    """None where GitHub doesn't name all that differs."""
    changes = world.github.changed_files(one.new.repository, one.new.base, one.new.head)
    drift = world.github.changed_files(one.new.repository, one.new.base, base) if one.new.base != base else {}
    return None if changes is None or drift is None else Judged(one.id, changes, drift)


def _keeps_to_itself(world: World, run: NewRun, kernel: str) -> bool:
    """Whether no file of a kernel names another folder."""
    suite = "" if run.suite in ("", ".") else f"{run.suite.strip('/')}/"
    texts = world.github.folder(run.repository, f"{suite}{kernel}", run.head)
    return texts is not None and not any("../" in text for text in texts.values())


def _only(run: NewRun, kernels: tuple[str, ...], at: Ground) -> NewRun:
    """The run of these kernels alone; of the group's others nothing is new."""
    selection = replace(run.selection, kernels=kernels)
    command = replace(at.config.on_push, options={**at.config.on_push.options, "kernels": kernels})
    return replace(run, selection=selection, command=spell(command), gate_key=f"{run.gate_key}:{','.join(kernels)}")


def _told(world: World, run: NewRun, known: dict[str, RunView]) -> bytes:
    """The report of a group of which all is judged."""
    by_run: dict[str, list[str]] = {}
    for kernel, view in known.items():
        by_run.setdefault(view.id, []).append(kernel)
    views = {view.id: view for view in known.values()}
    parts = [(load(views[name].report or b""), kernels) for name, kernels in by_run.items()]
    started = datetime.fromtimestamp(world.clock(), UTC).isoformat(timespec="seconds")
    return dump(together(parts, run.base, run.head, run.command, started))

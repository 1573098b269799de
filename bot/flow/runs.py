"""Runs to jobs, and ended jobs to a verdict."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from bot.core.plan import PoolPlan
from bot.core.records import JobEnding, JobFacts, RunView
from bot.core.report import dump
from bot.core.rounds import joined
from bot.core.verdict import PoolFacts, RunFacts, RunVerdict, judge_run
from bot.core.waivers import Waiver
from bot.flow.edge import each
from bot.flow.ports import World

MISSING = {
    JobEnding.LOST: "the node was lost twice",
    JobEnding.WAITED_TOO_LONG: "no node took the job within 24 hours",
    JobEnding.CANCELLED: "cancelled",
}


def open_runs(world: World) -> None:
    """Give every new run its jobs."""
    for run in world.store.runs.without_jobs():
        world.store.runs.open_jobs(run)


def judge_runs(world: World) -> None:
    """Close every run whose jobs have all ended, and every cancelled one."""
    each(world.store.runs.judgeable(), lambda run: _judge(world, run), lambda run, why: _unjudged(world, run, why))


def _judge(world: World, run: str) -> None:
    view, jobs = world.store.runs.facts(run)
    report = judge_run(run_facts(view, jobs, world.clock(), world.store.waivers.of(view) if view.new.gate else ()))
    world.store.runs.finish(run, report.verdict, dump(report))


def _unjudged(world: World, run: str, why: str) -> None:
    """A bug of ours in judging: nobody's pull request is blamed, and the check is concluded all the same."""
    view, _ = world.store.runs.facts(run)
    report = replace(judge_run(run_facts(view, (), world.clock())), verdict=RunVerdict.INFRASTRUCTURE, reason=f"judging failed: {why}")
    world.store.runs.finish(run, report.verdict, dump(report))


def run_facts(view: RunView, jobs: tuple[JobFacts, ...], now: float, waivers: tuple[Waiver, ...] = ()) -> RunFacts:
    """All that a run's verdict may depend on."""
    new, start = view.new, view.started or view.created
    floors = {pool.pool: pool.floor for pool in new.pools}
    there = {pool: joined(mine, floor) for pool, floor in floors.items() if (mine := [job for job in jobs if job.view.pool == pool])}
    return RunFacts(
        repo=new.repository, base=new.base, head=new.head, command=new.command, seconds=round((view.ended or now) - start, 3),
        started=datetime.fromtimestamp(start, UTC).isoformat(timespec="seconds"), gate=new.gate, harm=new.harm,
        pools=tuple(_pool(pool, there.get(pool.pool)) for pool in new.pools), cancelled=bool(view.cancelled), trusted=new.trusted,
        waivers=waivers,
    )  # fmt: skip


def _pool(plan: PoolPlan, job: JobFacts | None) -> PoolFacts:
    key = {"required": plan.required, "floor": plan.floor, "timed": plan.timed}
    if job is None:
        return PoolFacts(plan.pool, **key, missing="no job")
    missing = MISSING.get(job.view.ending, "") if job.view.ending else ""
    found = {"node": job.view.node, "outcome": job.view.outcome, "enumeration": job.enumeration, "measurements": job.measurements}
    return PoolFacts(plan.pool, **key, **found, missing=missing)

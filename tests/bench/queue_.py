"""From enqueued to started, against a bare Celery task on the same broker; then many queued jobs over eight nodes: lost, doubled, memory.

    kernelgate bench queue [--jobs 1000] [--pings 100]

Everything is real but the work: forge, web process, control loop, Valkey, and nodes that claim, beat and end each job at once.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click
import psutil
from redis import Redis
from sqlalchemy import func, select
from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from bot.adapters.queue import Alarm, celery_app, sender
from bot.adapters.store import Store, open_store
from bot.adapters.store.starting import start_run
from bot.adapters.store.tables import AttemptRow, JobRow
from bot.cli.demo import stack
from bot.cli.demo.processes import Processes
from bot.core.plan import PoolPlan
from bot.core.records import AttemptState, JobStatus, NewRun, Priority
from runners.node import Node
from runners.node_client import NodeClient
from runners.node_process import make_app
from runners.node_settings import NodeSettings
from runners.protocol import Ending, NodeInfo, Outcome, Selection

NODES = 8
BARE = "bench-bare:"
WORKER = ["worker", "--pool=solo", "--loglevel=WARNING", "--without-gossip", "--without-mingle", "--without-heartbeat"]
PLAN = (PoolPlan("host", required=True, floor=0.1),)
RUN = NewRun(
    stack.REPOSITORY, 1, "", "", "", "main", "file:///nowhere", "/run-test", "mira", False, "", True, True, Selection(), PLAN,
    0.03, 60.0, "kernels", Priority.PERSON,
)  # fmt: skip
DONE = Outcome(Ending.COMPLETED, NodeInfo("n", "cpu", "host", "emulator", "none", "g++", "0.1.0"))


class Idle(Node):
    """A node whose jobs end as they begin."""

    def _fit(self) -> bool:
        return True

    def _execute(self, *_: object) -> Outcome:
        return DONE


def work_as_node() -> None:
    settings = NodeSettings()
    node = Idle(settings, NodeClient(settings.url, settings.key()))
    threading.Thread(target=node.poll, args=[settings.poll_seconds], daemon=True).start()
    make_app(settings, node).worker_main(WORKER)


def work_bare(broker: str) -> None:
    app, heard = celery_app("bare", broker, BARE), Redis.from_url(broker)
    app.conf.task_default_queue = "bare"

    @app.task(name="bare")
    def bare() -> None:
        heard.rpush("bench-heard", time.time())

    app.worker_main(WORKER)


@contextmanager
def town(folder: Path) -> Iterator[tuple[stack.Stack, Processes, Store]]:
    from test_control_processes import small_sample

    from bot.forge import sample_repository

    sample_repository.build, sample_repository.PULLS = small_sample, ()  # type: ignore[assignment]
    place = stack.plan(folder, 0)
    with Processes(folder) as processes:
        stack.start_broker(place, processes)
        stack.start_forge(place, processes)
        stack.start_service(place, processes)
        store = open_store(place.database)
        for number in range(NODES):
            key = store.nodes.add(f"n{number}", "host", [stack.REPOSITORY])
            settings = stack.environment(
                url=place.web, node_key=key, broker=place.broker, pool="host", device="host", node_name=f"n{number}", state=str(folder)
            )
            processes.start(f"n{number}", [sys.executable, __file__, "--as-node"], settings)
        processes.start("bare", [sys.executable, __file__, "--as-bare", place.broker], stack.environment())
        yield place, processes, store


def enqueue(store: Store, count: int) -> None:
    """Runs as a command makes them, in one transaction."""
    with store.db.write() as session:
        for number in range(count):
            sha = f"{number:040x}"
            new = replace(RUN, base=sha, head=sha, judge=sha)
            start_run(session, new, time.time())


def until(look: Callable[[], bool], seconds: float = 900.0) -> None:
    end = time.monotonic() + seconds
    while not look():
        if time.monotonic() > end:
            sys.exit("nothing came any more")
        time.sleep(0.005)


def ended(store: Store) -> int:
    with store.db.read() as session:
        return session.scalar(select(func.count()).select_from(JobRow).where(JobRow.state == JobStatus.ENDED)) or 0


def through_the_gate(place: stack.Stack, store: Store, pings: int) -> list[float]:
    """Seconds from the run's transaction to the claim, by one clock, each with nothing else to do."""
    alarm = Alarm(place.broker)
    for _ in range(pings):
        before = ended(store)
        enqueue(store, 1)
        alarm.wake()
        until(lambda before=before: ended(store) > before)  # type: ignore[misc]
    with store.db.read() as session:
        starts = session.execute(select(AttemptRow.claimed, JobRow.run_id).join(JobRow, JobRow.id == AttemptRow.job_id)).all()
    return [claimed - (view.created if (view := store.runs.get(run)) else 0.0) for claimed, run in starts]


def bare_celery(place: stack.Stack, pings: int) -> list[float]:
    app, heard, took = sender("bench", place.broker, BARE), Redis.from_url(place.broker), []
    for _ in range(pings):
        sent = time.time()
        app.send_task("bare", queue="bare")
        _, at = heard.blpop(["bench-heard"], 60)
        took.append(float(at) - sent)
    return took


def resident(processes: Processes) -> int:
    """Bytes of web process and control loop, what they share counted once for each."""
    family = psutil.Process(processes.running["serve"].pid)
    return sum(process.memory_info().rss for process in [family, *family.children(recursive=True)])


def flood(place: stack.Stack, processes: Processes, store: Store, jobs: int) -> tuple[float, list[int]]:
    """Seconds that the jobs took, and the control side's memory meanwhile."""
    before, memory, began = ended(store), [resident(processes)], time.monotonic()
    enqueue(store, jobs)
    Alarm(place.broker).wake()

    def over() -> bool:
        memory.append(resident(processes))
        time.sleep(0.5)
        return ended(store) >= before + jobs

    until(over)
    return time.monotonic() - began, memory


def percentiles(name: str, seconds: list[float]) -> tuple[str, int, float, float]:
    cuts = statistics.quantiles(seconds, n=100)
    return name, len(seconds), round(1000 * cuts[49], 1), round(1000 * cuts[98], 1)


@click.command()
@click.option("--jobs", default=1000, show_default=True)
@click.option("--pings", default=100, show_default=True)
@click.option("--as-node", is_flag=True, hidden=True)
@click.option("--as-bare", hidden=True)
def main(jobs: int, pings: int, as_node: bool, as_bare: str | None) -> None:
    """See the head of this file."""
    if as_node:
        return work_as_node()
    if as_bare:
        return work_bare(as_bare)
    with tempfile.TemporaryDirectory(prefix="kernelgate-bench-") as made, town(Path(made)) as (place, processes, store):
        until(lambda: all(node.seen for node in store.nodes.all()))
        bare_celery(place, 5)
        rows = [
            percentiles("bare Celery task", bare_celery(place, pings)),
            percentiles("kernelgate", through_the_gate(place, store, pings)),
        ]
        click.echo(tabulate(rows, ["enqueue to start", "n", "p50 ms", "p99 ms"]))
        took, memory = flood(place, processes, store, jobs)
        with store.db.read() as session:
            attempts = session.scalars(select(AttemptRow.job_id).where(AttemptRow.state == AttemptState.DONE)).all()
        lost, doubled = jobs + pings - len(set(attempts)), len(attempts) - len(set(attempts))
        click.echo(
            f"\n{jobs} jobs over {NODES} nodes in {took:.0f} s: {lost} lost, {doubled} doubled; load average {os.getloadavg()[0]:.1f}"
        )
        quarters = [max(memory[len(memory) * part // 4 : max(len(memory) * (part + 1) // 4, 1)] or memory[-1:]) >> 20 for part in range(4)]
        click.echo(f"control side, MiB resident: {memory[0] >> 20} before, {quarters} in the quarters of that time")
        sys.exit(1 if lost or doubled else 0)


if __name__ == "__main__":
    main()

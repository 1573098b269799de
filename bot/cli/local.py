"""A job without GitHub or broker: checkouts from a local repository, the worker in this process, the facts as a run."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import signal
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import click

from bot.core.commands import Command, run_test, spell
from bot.core.errors import ConfigError, PlanError, nearest
from bot.core.facts import PoolFacts, RunFacts
from bot.core.plan import RunPlan, plan_run
from bot.core.repo_config import RepoConfig, read_config
from bot.core.report import Run
from bot.core.verdict import judge_run
from kernels.models import MODELS
from runners import checkout, worker
from runners.protocol import Enumeration, Job, Measurement, Mode, Outcome, Phase, Selection
from runners.scratch import readable
from runners.trees import kernels_of

CONFIG_FILE = ".kernelgate.toml"


class CannotRun(click.ClickException):
    """Something is missing or broken, so that nothing can be told; exit code 2."""

    exit_code = 2


class Device(click.ParamType):
    """The device to run on; a card needs CuPy, which no installation brings by itself."""

    name = "device"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"host|(cuda|hip):\d{1,3}", value):
            self.fail(f"{value!r} is no device: host, cuda:N or hip:N", param, ctx)
        if value != "host" and importlib.util.find_spec("cupy") is None:
            self.fail(f"{value} needs CuPy: pip install -e '.[cuda13]' (cuda12 for Pascal, rocm for ROCm)", param, ctx)
        return value


@dataclass
class Collector:
    """Keeps a job's facts and says on stderr what it is doing. `folders` are the kernels there are to choose from."""

    quiet: bool = False
    selection: Selection = field(default_factory=Selection)
    folders: Sequence[str] = ()
    enumeration: Enumeration | None = None
    measurements: list[Measurement] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def phase(self, phase: Phase) -> None:
        self._say(phase.value)

    def enumerated(self, enumeration: Enumeration) -> None:
        self.enumeration = enumeration
        self._say(f"{len(enumeration.cases)} cases")
        self._require(enumeration)

    def measured(self, measurement: Measurement) -> None:
        self.measurements.append(measurement)

    def _require(self, found: Enumeration) -> None:
        """PlanError where what was asked for is not there: a kernel's name, or any case at all."""
        kernels = {*self.folders, *(case.kernel for case in found.cases), *(name.split("/")[0] for name in found.new)}
        for name in self.selection.kernels:
            if name not in kernels:
                raise PlanError(f"there is no kernel {name!r}, only {', '.join(sorted(kernels))}", nearest(name, kernels))
        if not found.cases and not found.new:
            raise PlanError("no case of any kernel is selected")

    def _say(self, text: str) -> None:
        if not self.quiet:
            click.echo(f"{time.monotonic() - self.began:6.1f} s  {text}", err=True)


@dataclass(frozen=True)
class Sides:
    """The full SHAs of a local run; `judge` is the merge-base with `tip`, whatever base was named."""

    base: str
    head: str
    judge: str
    tip: str


def command_of(words: Sequence[str], keys: Collection[str]) -> Command:
    """The /run-test that key=value words stand for, of which only `keys` mean something here; an empty selection means all models."""
    parsed = run_test(" ".join(words), {*MODELS, "edge"})
    if parsed.errors:
        first = parsed.errors[0]
        hint = f" (did you mean {first.suggestion}?)" if first.suggestion else ""
        raise CannotRun(f"{first.text!r}: {first.message}{hint}")
    (command,) = parsed.commands
    for key in sorted(set(command.options) - set(keys)):
        raise CannotRun(f"{key}= is for pull requests, this command takes {', '.join(keys)}")
    return command


def sides_of(repository: Path, base: str, head: str, command: Command) -> Sides:
    """Base is merge-base(base, head), unless the command names one."""
    tip, top = checkout.resolve(repository, base), checkout.resolve(repository, head)
    judge = checkout.merge_base(repository, tip, top)
    named = command.options.get("base", ("",))[0]
    chosen = {"": judge, "head": top}.get(named) or checkout.resolve(repository, named)
    return Sides(chosen, top, judge, tip)


def config_of(repository: Path, revision: str) -> RepoConfig:
    """The configuration at the tip of the base branch."""
    return _config(checkout.file_at(repository, checkout.resolve(repository, revision), CONFIG_FILE))


def config_in(tree: Path) -> RepoConfig:
    """The configuration as it lies in a working tree."""
    file = tree / CONFIG_FILE
    try:
        return _config(file.read_bytes().decode(errors="replace") if file.is_file() else None)
    except OSError as error:
        raise CannotRun(f"{file} can't be read: {error.strerror}") from error


def require_kernels(found: Sequence[str], suite: str) -> None:
    """CannotRun where there is nothing to look at: more likely a wrong folder than a suite without kernels."""
    if not found:
        raise CannotRun(f"no folder below {suite!r} holds a plan.py; {CONFIG_FILE} names the suite's folder under [suite] kernels")


def _config(text: str | None) -> RepoConfig:
    try:
        return RepoConfig.default() if text is None else read_config(text, {*MODELS, "edge"})
    except ConfigError as error:
        raise CannotRun(f"{CONFIG_FILE}: {error}") from error


def pool_of(device: str) -> str:
    """The name a local device goes by: `host`, or its own."""
    return device.replace(":", "")


def job_for(sides: Sides, plan: RunPlan, config: RepoConfig, device: str) -> Job:
    """The one job of a local run."""
    pool = plan.pools[0]
    static = device == "host" and not plan.selection.sweep
    return Job(
        schema=1,
        id="local",
        run="local",
        attempt="1",
        repository="local",
        clone_url="",
        base=sides.base,
        head=sides.head,
        judge=sides.judge,
        pool=pool.pool,
        selection=plan.selection,
        budget_seconds=plan.budget_seconds,
        floor=pool.floor,
        harm=plan.harm,
        suite=config.suite.kernels,
        static=static,
        tip=sides.tip,
    )


def plan_for(command: Command, config: RepoConfig, device: str) -> RunPlan:
    """What the command asks of the one device; which pools the repository requires does not matter here."""
    alone = Command(command.name, {**command.options, "nodes": (pool_of(device),)})
    return plan_run(alone, config, {pool_of(device)}, MODELS)


@contextlib.contextmanager
def stoppable() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set: what waits for it ends within 2 s, and then KeyboardInterrupt is raised."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if stop.is_set():
            raise KeyboardInterrupt


def execute(job: Job, repository: Path, device: str, report: Collector) -> Outcome:
    """Check out both sides and the judge, and do the job."""
    with readable(), tempfile.TemporaryDirectory(prefix="kernelgate-run-") as made:
        trees = checkout.trees(job, repository, Path(made))
        report.selection, report.folders = job.selection, kernels_of(trees.judge, job.suite) + kernels_of(trees.head, job.suite)
        require_kernels(report.folders, job.suite)
        with stoppable() as stop:
            return worker.execute(job, trees, device, report, stop)


def judged(job: Job, command: Command, outcome: Outcome, report: Collector, name: str) -> Run:
    """The run's facts as a run with its verdict; a local run is never the gate run."""
    pool = PoolFacts(
        pool=job.pool,
        required=True,
        node=outcome.node,
        outcome=outcome,
        enumeration=report.enumeration,
        measurements=tuple(report.measurements),
        floor=job.floor,
        timed=Mode.PERFORMANCE in job.selection.modes,
    )
    seconds = time.monotonic() - report.began
    started = datetime.fromtimestamp(time.time() - seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return judge_run(RunFacts(name, job.base, job.head, spell(command), started, round(seconds, 1), False, (pool,), harm=job.harm))

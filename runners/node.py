"""A node with one device: it claims jobs over HTTP until there are none, one at a time."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from runners import checkout, worker
from runners.answers import Probed
from runners.git_cache import GitCache
from runners.node_client import Claim, HttpReporter, NodeClient, NotCurrent, Refused, Unreachable, insist
from runners.node_settings import NodeSettings
from runners.probing import Prober
from runners.protocol import Ending, Failure, FailureKind, Job, NodeInfo, Outcome
from runners.quarantine import Quarantine
from runners.scratch import scratch
from runners.trees import Trees
from runners.vitals import Unfit

MOST_FAILURES = 2
log = logging.getLogger(__name__)


@dataclass
class Node:
    """Takes one job at a time for one device, which is looked at before each; a bad one rests, and the server hears why."""

    settings: NodeSettings
    client: NodeClient
    quarantine: Quarantine = field(default_factory=Quarantine)
    draining: threading.Event = field(default_factory=threading.Event)
    leaving: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)
    _wanted: threading.Event = field(default_factory=threading.Event)
    _busy: threading.Lock = field(default_factory=threading.Lock)
    _failures: int = 0
    _found: tuple[NodeInfo, Probed] | None = None

    def __post_init__(self) -> None:
        self.prober = Prober(self.settings.device, self.settings.node_name, self.settings.state.resolve())

    def work(self) -> None:
        """Claim and do jobs until there are none; returns at once when another thread is at it."""
        if not self._busy.acquire(blocking=False):
            return
        try:
            while not self.draining.is_set() and self._fit() and self._one():
                continue
        except Unreachable as error:
            log.warning("%s", error)
        except Refused as error:
            log.error("the server refuses this node: %s", error)
        finally:
            self._busy.release()

    def poll(self, seconds: float) -> None:
        """Look for work every so often, and when woken, until the node drains; a hint that got lost costs at most one round."""
        while not self.draining.is_set():
            self._wanted.clear()
            try:
                self.work()
            except Exception:  # the edge of the thread: a node that stopped to look would never work again
                log.exception("looking for work")
            self._wanted.wait(seconds)

    def wake(self) -> None:
        """Have the thread that polls look at once, or once more where it is at it."""
        self._wanted.set()

    def stop_looking(self) -> None:
        """Take no new job."""
        self.draining.set()
        self._wanted.set()

    def told_to_stop(self) -> None:
        """Once: take no new job. Again: give the one in hand back, for another node to do."""
        if self.draining.is_set():
            self.leaving.set()
            self.stop.set()
        self.stop_looking()

    def drain(self) -> None:
        """Take no new job and wait for the one in hand."""
        self.stop_looking()
        with self._busy:
            return

    def _one(self) -> bool:
        claim = None if self.draining.is_set() else self.client.claim(self._facts())
        if claim is None:
            return False
        log.info("job %s of %s, head %s", claim.job.id, claim.job.repository, claim.job.head)
        self.stop = threading.Event()
        if self.leaving.is_set():
            self.stop.set()
        with HttpReporter(self.client, claim.job.attempt, self.stop) as reporter:
            outcome = self._told(self._do(claim, reporter))
            self._finish(claim.job, outcome)
        return self._still_good(outcome)

    def _still_good(self, outcome: Outcome) -> bool:
        """After a job: trouble that names no file is the machine's, and two such jobs in a row are one too many."""
        failure = outcome.failure
        if failure is None or failure.kind is not FailureKind.INFRASTRUCTURE or failure.file:
            self._failures = 0
            return True
        self._failures += 1
        return self._failures < MOST_FAILURES or self._rest(f"two jobs in a row failed here, the last one so: {failure.message}")

    def _told(self, outcome: Outcome) -> Outcome:
        """The outcome as the server hears it: only a job that it cancelled itself is cancelled."""
        if outcome.ending is not Ending.CANCELLED or not self.leaving.is_set():
            return outcome
        return Outcome(Ending.FAILED, failure=Failure(FailureKind.INFRASTRUCTURE, "the node was stopped while it was at the job"))

    def _finish(self, job: Job, outcome: Outcome) -> None:
        log.info("job %s %s%s", job.id, outcome.ending.value, f": {outcome.failure.message}" if outcome.failure else "")
        try:
            insist(lambda: self.client.done(job.attempt, outcome), self.leaving)
        except NotCurrent:
            log.info("job %s was another's by then", job.id)

    def _do(self, claim: Claim, reporter: HttpReporter) -> Outcome:
        """The job's end, whatever happens: an error nobody foresaw is the machine's trouble, never the kernel's."""
        try:
            return self._execute(claim, reporter)
        except (checkout.CheckoutError, Refused, Unreachable) as error:
            return _ended(self.stop, str(error), claim.job.clone_url)
        except Exception as error:  # the edge of the process: the attempt must end, whatever it was
            log.exception("job %s", claim.job.id)
            return _ended(self.stop, f"the node failed: {type(error).__name__}")

    def _execute(self, claim: Claim, reporter: HttpReporter) -> Outcome:
        job = claim.job
        served = self.settings.node_repositories
        if served and job.repository.lower() not in served:
            return _ended(self.stop, f"this node does not serve {job.repository}")
        with scratch("kernelgate-trees-") as made:
            trees = self._trees(claim, made)
            return worker.execute(job, trees, self.settings.device, reporter, self.stop, self.settings.node_name)

    def _trees(self, claim: Claim, into: Path) -> Trees:
        """The job's checkouts; what made trouble is fetched anew the next time."""
        job, kept = claim.job, GitCache(self.settings.state.resolve() / "git")
        cache = kept.place(job.clone_url)
        try:
            checkout.fetch(cache, job.clone_url, checkout.commits(job), claim.token, stop=self.stop)
            return checkout.trees(job, cache, into, self.stop)
        except checkout.CheckoutError:
            if not self.stop.is_set():
                kept.drop(cache)
            raise

    def _fit(self) -> bool:
        """Whether the device may take a job; the server hears of one that rests each time it would have asked for work."""
        if self.quarantine.left():
            return self._say_resting()
        try:
            self._found = self.prober.check(threading.Event())
        except Unfit as error:
            return self._rest(str(error))
        if not self._failures:
            self.quarantine.end()
        return True

    def _rest(self, reason: str) -> bool:
        self.quarantine.begin(reason)
        log.error("no work for %.0f s: %s", self.quarantine.left(), reason)
        return self._say_resting()

    def _say_resting(self) -> bool:
        self.client.rest(self._facts(), self.quarantine.reason[:300], self.quarantine.left())
        return False

    def _facts(self) -> dict[str, object]:
        said = {"pool": self.settings.pool, "devices": [self.settings.device], "toolchains": [], "harness": version("kernelgate")}
        if self._found is None:
            return said
        info, probed = self._found
        card = {"name": info.device, "target": info.target, "driver": info.driver, "memory_bytes": probed.memory_bytes}
        return {**said, "toolchains": [info.toolchain], "card": card}


def _ended(stop: threading.Event, message: str, place: str = "") -> Outcome:
    if stop.is_set():
        return Outcome(Ending.CANCELLED)
    return Outcome(Ending.FAILED, failure=Failure(FailureKind.INFRASTRUCTURE, message[:1000], file=place))

"""A node's processes, one for each device: woken by a Celery message that only says that there is work.

`python -m runners.node_process` is one such process of several; a node with one device has no other.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from celery import Celery, Task
from celery.signals import worker_shutting_down

from runners import machine
from runners.node import Node
from runners.node_client import Myself, NodeClient, Refused, insist
from runners.node_settings import NodeSettings
from runners.parent import ends_with_me
from runners.quarantine import Quarantine

TASK = "kernelgate.execute"
PREFIX = "kernelgate-nodes:"
log = logging.getLogger(__name__)


def run(settings: NodeSettings) -> None:
    """Work until SIGTERM on every device that is named or, where none is, found."""
    os.umask(0o022)  # sandboxed processes are other users, who have to read a job's checkouts
    devices = settings.device.split(",") if settings.device else found()
    if len(devices) == 1:
        serve(settings.model_copy(update={"device": devices[0]}))
    else:
        Fleet(settings, devices).run()


def found() -> list[str]:
    """The cards of this machine, the host where there are none; Refused where they are unlike, since a pool's are not."""
    cards = machine.cards()
    if len({card.kind for card in cards}) > 1:
        listed = ", ".join(f"{card.device} ({card.kind})" for card in cards)
        raise Refused(f"the cards are unlike: {listed}. Start one runner for each pool, with its key and its cards in KERNELGATE_DEVICE")
    return [card.device for card in cards] or ["host"]


def make_app(settings: NodeSettings, node: Node | None = None) -> Celery:
    """The Celery app of this node: early ack, one job at a time, JSON only, no results, no remote control."""
    app = Celery("kernelgate-node", broker=settings.broker)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,
        task_default_queue=f"kernelgate.{settings.pool}",
        task_create_missing_queues=True,
        worker_concurrency=1,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        broker_use_ssl=_verified(settings.broker),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={"global_keyprefix": PREFIX, **_unacked(settings.node_name)},
    )
    worked = node or Node(settings, NodeClient(settings.url, settings.key()))

    @app.task(name=TASK, bind=True)
    def execute(task: Task, job_id: str) -> None:
        """A hint that there is work; which job it is, the server says. It returns at once, so no broker's time-out is a job's."""
        worked.wake()

    return app


def _verified(broker: str) -> dict[str, object] | None:
    """Have a broker behind TLS show its certificate, as kombu by itself takes any; an address that says otherwise is obeyed."""
    return {"ssl_cert_reqs": ssl.CERT_REQUIRED} if broker.startswith("rediss:") and "ssl_cert_reqs=" not in broker else None


def _unacked(name: str) -> dict[str, str]:
    """Keys of what this node has taken in hand: its own, since its broker user reaches no other node's."""
    return {f"{key}_key": f"{key}.{name}" for key in ("unacked", "unacked_index", "unacked_mutex")}


def serve(settings: NodeSettings) -> None:
    """Work until SIGTERM, which lets the job in hand end, a second one gives it back; a lost message costs at most one poll."""
    settings = _known(settings)
    settings.state.mkdir(parents=True, exist_ok=True)
    if shutil.which("git") is None:
        raise Refused("git is missing: apt-get install git")
    with _alone(settings.device):
        node = Node(settings, NodeClient(settings.url, settings.key()))
        app = make_app(settings, node)
        threading.Thread(target=node.poll, args=[settings.poll_seconds], name="poll", daemon=True).start()  # also without a broker
        worker_shutting_down.connect(lambda **_: node.told_to_stop(), weak=False)
        app.worker_main(["worker", "--pool=solo", "--loglevel=INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"])
        node.drain()


@contextmanager
def _alone(device: str) -> Iterator[None]:
    """Two processes on one card would disturb each other's times; the host is shared anyway."""
    if device == "host":
        yield
        return
    with Path(tempfile.gettempdir(), f"kernelgate-{device.replace(':', '-')}.lock").open("a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refused(f"another runner of this machine has {device}") from error
        yield


def _known(settings: NodeSettings) -> NodeSettings:
    """The settings with name and pool, which the server knows by the key."""
    if settings.pool and settings.node_name:
        return settings
    me: list[Myself] = []
    insist(lambda: me.append(NodeClient(settings.url, settings.key()).myself()), threading.Event(), seconds=float("inf"))
    return settings.model_copy(update={"pool": settings.pool or me[0].pool, "node_name": settings.node_name or me[0].name})


@dataclass
class Fleet:
    """Starts a process for each device, and starts one that died again: at once is too soon, so it rests as a bad card does."""

    settings: NodeSettings
    devices: Sequence[str]
    stop: threading.Event = field(default_factory=threading.Event)
    again: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: (self.again if self.stop.is_set() else self.stop).set())
        keepers = [threading.Thread(target=self._keep, args=[device], name=device) for device in self.devices]
        for keeper in keepers:
            keeper.start()
        for keeper in keepers:
            keeper.join()

    def _keep(self, device: str) -> None:
        rest = Quarantine()
        while not self.stop.is_set():
            words = [sys.executable, "-m", "runners.node_process"]
            # A session of its own, as a terminal's Ctrl-C would reach it beside what it is sent below, and so twice.
            process = subprocess.Popen(words, env=self._environment(device), preexec_fn=ends_with_me(), start_new_session=True)
            while process.poll() is None and not self.stop.wait(0.2):
                continue
            if process.poll() is None:
                self._end(process)
                return
            rest.begin(f"{device} ended with {process.returncode}")
            log.error("%s; again in %.0f s", rest.reason, rest.left())
            self.stop.wait(rest.left())

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """It ends its job first, or gives it back when it is told again."""
        process.terminate()
        while process.poll() is None and not self.again.wait(0.2):
            continue
        process.terminate()
        process.wait()

    def _environment(self, device: str) -> dict[str, str]:
        own = {"KERNELGATE_DEVICE": device, "KERNELGATE_STATE": str(self.settings.state / device.replace(":", "-"))}
        return {**os.environ, **own}


def main() -> None:
    """One of a fleet; what its settings lack, the first process has said already."""
    try:
        run(NodeSettings())
    except (Refused, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

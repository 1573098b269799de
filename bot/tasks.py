"""The control loop's process: it runs each second, and at once when a Celery message says so."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from celery import Celery

from bot.adapters.queue import CONTROL_QUEUE, LOOK, control_app
from bot.flow.loop import safely, tick
from bot.flow.ports import World
from bot.flow.reconcile import Reconciler
from bot.settings import Settings
from bot.wiring import world_of

INTERVAL = 1.0
log = logging.getLogger(__name__)


class Loop(threading.Thread):
    """The one loop; `wake` makes it run now, `stop` lets it finish the round it is in."""

    def __init__(self, world: World) -> None:
        super().__init__(name="control-loop", daemon=True)
        self._world = world
        self._reconciler = Reconciler()
        self._wanted = threading.Event()
        self._stopping = threading.Event()

    def wake(self) -> None:
        self._wanted.set()

    def stop(self) -> None:
        self._stopping.set()
        self._wanted.set()
        self.join(timeout=30)

    def run(self) -> None:
        while not self._stopping.is_set():
            self._wanted.clear()
            safely(self._reconciler.turn, self._world)
            tick(self._world)
            self._wanted.wait(INTERVAL)


def bell_app(broker: str, wake: Callable[[], None]) -> Celery:
    """A Celery app whose only task wakes the loop."""
    app = control_app(broker)

    @app.task(name=LOOK, ignore_result=True)
    def look() -> None:
        wake()

    return app


def main() -> None:
    """Run the loop until SIGTERM; the broker may be down when it starts and may go and come."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    settings = Settings()
    loop = Loop(world_of(settings))
    loop.start()
    worker = bell_app(settings.broker, loop.wake).Worker(
        pool="solo", queues=[CONTROL_QUEUE], without_gossip=True, without_mingle=True, without_heartbeat=True, quiet=True
    )
    try:
        worker.start()
    finally:
        loop.stop()


if __name__ == "__main__":
    main()

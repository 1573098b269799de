"""Celery as a doorbell: one app for the control side, a second that speaks with the nodes' key prefix; no message holds work."""

from __future__ import annotations

import ssl
import time
from typing import Any

from celery import Celery
from kombu.exceptions import OperationalError

from bot.core.records import Hint
from bot.flow.ports import BrokerDown

CONTROL_PREFIX = "kernelgate-control:"
NODES_PREFIX = "kernelgate-nodes:"
CONTROL_QUEUE = "kernelgate.control"
LOOK = "kernelgate.look"
EXECUTE = "kernelgate.execute"
PATIENCE = 1.0
PAUSE = 5.0
# With an address that it can't make sense of (an option nobody knows), kombu raises the last three.
NOT_THERE = (OperationalError, OSError, KeyError, TypeError, ValueError)


def celery_app(name: str, broker: str, prefix: str) -> Celery:
    """An app that takes JSON only, keeps no results and obeys no remote control."""
    app = Celery(name, broker=broker, set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        result_backend=None,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        task_create_missing_queues=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_use_ssl=verified(broker),
        broker_connection_timeout=PATIENCE,
        broker_transport_options={"global_keyprefix": prefix, "socket_connect_timeout": PATIENCE},
    )
    return app


def verified(broker: str) -> dict[str, object] | None:
    """What has a broker behind TLS show its certificate, as kombu by itself takes any; an address that says otherwise is obeyed."""
    return {"ssl_cert_reqs": ssl.CERT_REQUIRED} if broker.startswith("rediss:") and "ssl_cert_reqs=" not in broker else None


def sender(name: str, broker: str, prefix: str) -> Celery:
    """An app that only sends, and gives up at once when the broker is not there."""
    app = celery_app(name, broker, prefix)
    app.conf.broker_transport_options = {**app.conf.broker_transport_options, "max_retries": 0, "socket_timeout": PATIENCE}
    return app


def control_app(broker: str) -> Celery:
    """The app of the control loop and of those who wake it."""
    app = celery_app("kernelgate-control", broker, CONTROL_PREFIX)
    app.conf.task_default_queue = CONTROL_QUEUE
    return app


class NodeBell:
    """The port `bot.flow.ports.Bell`: tells the nodes of a pool that there is work."""

    def __init__(self, broker: str) -> None:
        self._app = sender("kernelgate-hints", broker, NODES_PREFIX)

    def ring(self, hint: Hint) -> None:
        _send(self._app, EXECUTE, f"kernelgate.{hint.pool}", hint.job)


class Alarm:
    """Wakes the control loop; if it can't, the loop looks by itself within a second, and no webhook waits for a broker."""

    def __init__(self, broker: str) -> None:
        self._app = sender("kernelgate-alarm", broker, CONTROL_PREFIX)
        self._again = 0.0

    def wake(self) -> bool:
        if time.monotonic() < self._again:
            return False
        try:
            _send(self._app, LOOK, CONTROL_QUEUE)
        except BrokerDown:
            self._again = time.monotonic() + PAUSE
            return False
        return True


def ping(broker: str) -> None:
    """BrokerDown unless the broker answers."""
    try:
        with sender("kernelgate-ping", broker, CONTROL_PREFIX).connection_for_write() as connection:
            connection.ensure_connection(max_retries=0, timeout=PATIENCE)
    except NOT_THERE as error:
        raise BrokerDown(str(error)) from error


def _send(app: Celery, task: str, queue: str, *args: Any) -> None:
    try:
        app.send_task(task, args=args, queue=queue, retry=False)
    except NOT_THERE as error:
        raise BrokerDown(str(error)) from error

"""Webhooks: signed as GitHub signs them, sent in order by one thread, and kept in a delivery log."""

from __future__ import annotations

import hashlib
import hmac
import json
import queue
import threading
import time
import uuid
from typing import Any

import requests

from bot.forge.description import Description
from bot.forge.world import Delivery, Hook, World

PATIENCE = 10.0  # GitHub's own limit for an answer
CONTENT = "application/json"


def signature(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


class Courier:
    """Takes events in order, delivers them on a thread of its own; GitHub never retries, so neither does it."""

    def __init__(self, world: World, description: Description) -> None:
        self.world = world
        self.description = description
        self.waiting: queue.Queue[tuple[Delivery, Hook] | None] = queue.Queue()
        self.thread = threading.Thread(target=self._work, daemon=True, name="courier")
        self.thread.start()

    def announce(self, event: str, payload: dict[str, Any]) -> None:
        """Queue one event for every hook; `payload` needs only what the description cannot fill."""
        name = "-".join([event, payload.get("action", "")]).strip("-").replace("_", "-")
        whole = self.description.complete(self.description.payload_schema(name), payload, self.world.url + "/api/v3")
        if self.world.app and event != "ping" and "installation" not in payload:
            whole["installation"] = {"id": self.world.app.installation, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9u"}
        if fault := self.description.payload_fault(name, whole):
            self.world.violations.append(fault)
        body = json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()
        for hook in self.world.hooks:
            self.waiting.put((self._delivery(hook, event, whole, body), hook))

    def again(self, delivery: Delivery) -> None:
        """Deliver once more, under the same guid and with the same bytes."""
        copy = Delivery(
            self.world.next_id(),
            delivery.guid,
            delivery.event,
            delivery.action,
            delivery.repository,
            delivery.body,
            delivery.headers,
            redelivery=True,
        )
        self.world.deliveries[copy.id] = copy
        hook = next(hook for hook in self.world.hooks if str(hook.id) == copy.headers["X-GitHub-Hook-ID"])
        self.waiting.put((copy, hook))

    def _delivery(self, hook: Hook, event: str, payload: dict[str, Any], body: bytes) -> Delivery:
        guid = str(uuid.uuid4())
        headers = {
            "User-Agent": "GitHub-Hookshot/f0f0f0f",
            "Accept": "*/*",
            "Content-Type": CONTENT,
            "X-GitHub-Delivery": guid,
            "X-GitHub-Event": event,
            "X-GitHub-Hook-ID": str(hook.id),
            "X-GitHub-Hook-Installation-Target-ID": str(self.world.app.id if self.world.app else 0),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature-256": signature(hook.secret, body),
        }
        repository = (payload.get("repository") or {}).get("id")
        delivery = Delivery(self.world.next_id(), guid, event, payload.get("action"), repository, body, headers)
        self.world.deliveries[delivery.id] = delivery
        return delivery

    def _work(self) -> None:
        while (item := self.waiting.get()) is not None:
            self._send(*item)
            self.waiting.task_done()

    def _send(self, delivery: Delivery, hook: Hook) -> None:
        start = time.monotonic()
        try:
            response = requests.post(hook.url, data=delivery.body, headers=delivery.headers, timeout=PATIENCE, allow_redirects=False)
            delivery.status_code, delivery.answer = response.status_code, response.text[:65536]
            delivery.status = "OK" if response.ok else f"Invalid HTTP Response: {response.status_code}"
        except requests.RequestException as error:
            delivery.status_code, delivery.status = 502, f"failed to connect to host: {type(error).__name__}"
        delivery.duration = round(time.monotonic() - start, 3)

    def close(self) -> None:
        self.waiting.put(None)

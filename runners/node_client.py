"""What a node says to the server (contracts §3): claim, beat, cases, results, done; retried while the attempt is its own."""

from __future__ import annotations

import gzip
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import getloadavg
from typing import TypeVar
from urllib.parse import quote, urlsplit

import requests
from pydantic.dataclasses import dataclass as checked
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_any, wait_exponential

from runners.protocol import PROTOCOL, TOLERANT, Enumeration, Job, Measurement, Outcome, Phase, ProtocolError, dump, load

TIMEOUT = (5, 30)
LEASE = 45.0
PATIENCE = 120.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
OK, EMPTY = 200, 204
T = TypeVar("T")
log = logging.getLogger(__name__)


class NotCurrent(Exception):
    """The server no longer takes anything of this attempt."""


class Refused(Exception):
    """The server will not work with this node: its key, its pool, or its version."""


class Unreachable(Exception):
    """The server gave no answer, one of its own trouble, or what came is none of the server's; worth another try."""


@dataclass(frozen=True)
class Claim:
    """A job and the token that fetches a private repository, which is kept nowhere."""

    job: Job
    token: str = field(default="", repr=False)


@checked(frozen=True, config=TOLERANT)
class _Claimed:
    """What is read of a claim's answer before the job itself."""

    schema: int
    token: str = ""


@checked(frozen=True, config=TOLERANT)
class Myself:
    """What the server says a key is."""

    name: str
    pool: str


@checked(frozen=True, config=TOLERANT)
class _Beaten:
    cancel: bool


class NodeClient:
    """One node's calls; plain HTTP is spoken on the loopback only, since the key travels with each call."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise Refused(f"{url} is neither HTTPS nor plain HTTP on the loopback")
        self._url, self._key = url.rstrip("/"), key

    def myself(self) -> Myself:
        """Whose the key is; raises Refused, Unreachable."""
        return _read(Myself, self._send("GET", "self", b"", OK))

    def rest(self, facts: Mapping[str, object], reason: str, seconds: float) -> None:
        """Say that a device takes nothing for a while, and why."""
        said = {**facts, "protocol": PROTOCOL, "reason": reason, "seconds": seconds}
        self._send("POST", "rest", json.dumps(said).encode(), EMPTY)

    def claim(self, facts: Mapping[str, object]) -> Claim | None:
        """The next job, or None; raises Refused, Unreachable."""
        answer = self._send("POST", "claim", json.dumps({**facts, "protocol": PROTOCOL}).encode(), OK, EMPTY)
        if answer.status_code == EMPTY:
            return None
        claimed = _read(_Claimed, answer)
        if claimed.schema != PROTOCOL:
            raise Refused(f"claim: the job is of protocol {claimed.schema}, and this node reads {PROTOCOL}: upgrade the older of the two")
        return Claim(_read(Job, answer), claimed.token)

    def beat(self, attempt: str, phase: Phase, telemetry: Mapping[str, float]) -> bool:
        """Renew the lease; whether to stop."""
        body = json.dumps({"phase": phase.value, "telemetry": dict(telemetry)}).encode()
        return _read(_Beaten, self._send("POST", f"attempts/{attempt}/beat", body, OK)).cancel

    def put(self, attempt: str, path: str, body: bytes) -> None:
        """One upload, gzipped; the server takes the same one twice."""
        self._send("PUT", f"attempts/{attempt}/{path}", gzip.compress(body), EMPTY)

    def done(self, attempt: str, outcome: Outcome) -> None:
        self._send("POST", f"attempts/{attempt}/done", b'{"outcome":' + dump(outcome) + b"}", EMPTY)

    def _send(self, method: str, path: str, body: bytes, *good: int) -> requests.Response:
        """The answer, its status being one of `good`: anything else below 400 is not the server's, but a proxy's."""
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            answer = requests.request(
                method, f"{self._url}/node/v1/{path}", data=body, headers=headers, timeout=TIMEOUT, allow_redirects=False
            )
        except requests.RequestException as error:
            raise Unreachable(f"no answer from {self._url}: {type(error).__name__}") from error
        if answer.status_code == 409:
            raise NotCurrent
        if 400 <= answer.status_code < 500 and answer.status_code != 429:
            raise Refused(f"{path.rpartition('/')[2]}: {answer.status_code} {answer.text[:300]}")
        if answer.status_code not in good:
            raise Unreachable(f"the server answered {answer.status_code}")
        return answer


def _read(kind: type[T], answer: requests.Response) -> T:
    try:
        return load(kind, answer.content)
    except ProtocolError as error:
        raise Unreachable(f"the server's answer can't be read: {str(error).removeprefix(kind.__name__).lstrip('.: ')}") from error


def insist(call: Callable[[], None], stop: threading.Event, seconds: float = PATIENCE) -> None:
    """`call` until it is answered; Unreachable when `seconds` are over or the attempt was stopped meanwhile."""
    began = time.monotonic()

    def over(_: RetryCallState) -> bool:
        return time.monotonic() - began > seconds

    def stopped(_: RetryCallState) -> bool:
        return stop.is_set()

    waits = wait_exponential(multiplier=0.25, max=10)
    for attempt in Retrying(
        retry=retry_if_exception_type(Unreachable), wait=waits, stop=stop_any(over, stopped), sleep=stop.wait, reraise=True
    ):
        with attempt:
            call()


class HttpReporter:
    """Sends a job's facts as they come; while it is open a thread beats each second and sets `stop` when told to."""

    def __init__(self, client: NodeClient, attempt: str, stop: threading.Event, every: float = 1.0) -> None:
        self._client, self._attempt, self._stop, self._every = client, attempt, stop, every
        self._phase, self._closed = Phase.FETCH, threading.Event()
        self._thread = threading.Thread(target=self._beat, name="beat", daemon=True)

    def __enter__(self) -> HttpReporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join(timeout=sum(TIMEOUT))

    def phase(self, phase: Phase) -> None:
        self._phase = phase

    def enumerated(self, enumeration: Enumeration) -> None:
        self._put("cases", dump(enumeration))

    def measured(self, measurement: Measurement) -> None:
        self._put(f"cases/{quote(measurement.case.id, safe='/')}", dump(measurement))

    def _put(self, path: str, body: bytes) -> None:
        try:
            insist(lambda: self._client.put(self._attempt, path, body), self._stop)
        except NotCurrent:
            self._stop.set()

    def _beat(self) -> None:
        """A beat that failed is made good by the next; a lease that no beat renewed in time is another node's by now."""
        renewed = time.monotonic()
        while not self._closed.wait(self._every):
            try:
                if self._client.beat(self._attempt, self._phase, _telemetry()):
                    self._stop.set()
                renewed = time.monotonic()
            except NotCurrent:
                self._stop.set()
            except (Refused, Unreachable) as error:
                log.warning("no beat: %s", error)
                if time.monotonic() - renewed > LEASE:
                    self._stop.set()


def _telemetry() -> dict[str, float]:
    try:
        return {"load1": getloadavg()[0]}
    except OSError:
        return {}

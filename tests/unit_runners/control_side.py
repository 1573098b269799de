"""The node API (contracts §3) on the loopback, spoken as the server does, but for the answers a test puts in its way."""

from __future__ import annotations

import gzip
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from runners.protocol import Job, dump

ANSWERS = {"beat": b'{"cancel": false}', "self": b'{"name": "n", "pool": "host"}'}
PAGE = b"<html><body>a proxy is restarting</body></html>"


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes = b""
    missing: int = 0  # bytes that are promised and never come


@dataclass(frozen=True)
class Call:
    """`kind` is self, claim, rest, beat, cases, result or done."""

    kind: str
    path: str
    key: str
    said: Any


@dataclass
class ControlSide:
    """`odd` answers go out first, by kind of call; `when` may answer any call its own way."""

    jobs: list[Job] = field(default_factory=list)
    odd: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    when: Callable[[Call], Answer | None] = lambda call: None
    calls: list[Call] = field(default_factory=list)
    url: str = ""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def answer(self, call: Call) -> Answer:
        with self.changed:
            self.calls.append(call)
            self.changed.notify_all()
            if told := self.when(call):
                return told
            if self.odd[call.kind]:
                return self.odd[call.kind].pop(0)
            if call.kind in ANSWERS:
                return Answer(200, ANSWERS[call.kind])
            return Answer(200, dump(self.jobs.pop(0))) if call.kind == "claim" and self.jobs else Answer(204)

    def of(self, kind: str) -> list[Call]:
        return [call for call in self.calls if call.kind == kind]

    def wait_for(self, kind: str, count: int = 1, seconds: float = 60) -> list[Call]:
        """The calls of a kind, once there are so many."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.of(kind)) >= count, seconds), f"no {kind} in {self.calls}"
            return self.of(kind)


@contextmanager
def control_side(**how: Any) -> Iterator[ControlSide]:
    side = ControlSide(**how)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            body = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
            _, _, path = self.path.partition("/node/v1/")
            answer = side.answer(Call(_kind(path), path, self.headers["Authorization"], json.loads(body or b"null")))
            self.send_response(answer.status)
            if answer.status != 204:
                self.send_header("Content-Length", str(len(answer.body) + answer.missing))
            self.end_headers()
            self.wfile.write(answer.body)

        do_PUT = do_GET = do_POST

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
        thread.start()
        side.url = f"http://127.0.0.1:{server.server_port}"
        yield side
        server.shutdown()
        thread.join()


def _kind(path: str) -> str:
    last = path.rpartition("/")[2]
    return "result" if "/cases/" in path else last

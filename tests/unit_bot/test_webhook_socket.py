"""The hook under real gunicorn, spoken to byte by byte: what a client library would never send."""

from __future__ import annotations

import hashlib
import hmac
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.adapters.store import Store, migrate, open_store
from bot.web import MOST_WEBHOOK_BYTES

SECRET = b"s3cret"
BODY = b'{"action": "created"}'


@dataclass
class Port:
    number: int
    store: Store

    def say(self, *parts: bytes) -> int:
        """Send these bytes, then no more; the status that is answered, 0 if none is."""
        with socket.create_connection(("127.0.0.1", self.number), timeout=30) as line, suppress(ConnectionError):
            with suppress(ConnectionError):  # it may have answered before the end
                for part in parts:
                    line.sendall(part)
                line.shutdown(socket.SHUT_WR)
            answer = line.makefile("rb").readline().split()
            return int(answer[1]) if len(answer) > 1 else 0
        return 0


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    folder = tmp_path_factory.mktemp("socket")
    database = f"sqlite:///{folder}/gate.db"
    store = open_store(database)
    migrate(store.db.engine)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.getsockname()[1]
        named = {"WEBHOOK_SECRETS": SECRET.decode(), "DATABASE": database, "BROKER": "redis://127.0.0.1:9/0"}
        env = {**os.environ, **{f"KERNELGATE_{name}": value for name, value in named.items()}}
        argv = ["--worker-class", "gthread", "--threads", "2", "--bind", f"fd://{listener.fileno()}", "--log-level", "error"]
        command = [sys.executable, "-m", "gunicorn", *argv, "bot.web:create_app()"]
        server = subprocess.Popen(command, env=env, cwd=Path(__file__).parents[2], pass_fds=[listener.fileno()])
    yield Port(number, store)
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0
    store.db.engine.dispose()


def head(body: bytes, *lines: bytes, delivery: bytes = b"d", signature: bytes = b"") -> bytes:
    """A request up to its body; GitHub's own headers are all there, its signature is right unless one is given."""
    right = b"sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest().encode()
    own = [b"POST /webhook HTTP/1.1", b"Host: gate", b"Connection: close", b"X-GitHub-Event: issue_comment"]
    own += [b"X-GitHub-Delivery: " + delivery, b"X-Hub-Signature-256: " + (signature or right), *lines]
    return b"\r\n".join(own) + b"\r\n\r\n"


def length(body: bytes) -> bytes:
    return b"Content-Length: %d" % len(body)


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


CHUNKED = b"Transfer-Encoding: chunked"


def test_a_body_in_chunks_without_a_length_is_taken(port: Port) -> None:
    before = port.store.deliveries.count()
    assert port.say(head(BODY, CHUNKED, delivery=b"chunks"), chunk(BODY[:5]), chunk(BODY[5:]), chunk(b"")) == 202
    assert [one.body for one in port.store.deliveries.due()][before:] == [BODY]


def test_a_body_above_the_limit_is_refused_whether_its_length_is_told_or_not(port: Port) -> None:
    before = port.store.deliveries.count()
    big = bytes(MOST_WEBHOOK_BYTES + 1)
    assert port.say(head(big, length(big), delivery=b"long")) == 413
    pieces = [chunk(big[at : at + 2**20]) for at in range(0, len(big), 2**20)]
    assert port.say(head(big, CHUNKED, delivery=b"long chunks"), *pieces, chunk(b"")) == 413
    assert port.store.deliveries.count() == before


@pytest.mark.parametrize("body", [b"", BODY], ids=["no body", "half a body"])
def test_a_body_that_ends_early_is_not_stored(port: Port, body: bytes) -> None:
    before = port.store.deliveries.count()
    assert port.say(head(BODY, length(BODY), delivery=b"early"), body[:5]) in (0, 400, 401)
    assert port.store.deliveries.count() == before


@pytest.mark.parametrize(
    ("signature", "lines"),
    [
        (b"sha256=\xff\xe9", []),
        (b"sha256=" + b"\xc3\xa9" * 32, []),
        (b"sha256=", []),
        (b"x", [b"X-Hub-Signature-256: x"]),
        (b"sha1=" + hmac.new(SECRET, BODY, hashlib.sha1).hexdigest().encode(), []),
        (b"sha512=" + hmac.new(SECRET, BODY, hashlib.sha512).hexdigest().encode(), []),
    ],
    ids=["latin-1", "utf-8", "empty", "twice", "sha1", "sha512"],
)
def test_a_wrong_signature_is_a_401(port: Port, signature: bytes, lines: list[bytes]) -> None:
    before = port.store.deliveries.count()
    assert port.say(head(BODY, length(BODY), *lines, delivery=b"wrong", signature=signature), BODY) == 401
    assert port.store.deliveries.count() == before


@pytest.mark.parametrize("line", [b"X-Odd: a\0b", b"Content-Length: 3", CHUNKED], ids=["NUL", "two lengths", "length and chunks"])
def test_a_request_that_two_servers_could_read_differently_is_a_400(port: Port, line: bytes) -> None:
    before = port.store.deliveries.count()
    assert port.say(head(BODY, length(BODY), line, delivery=b"odd"), BODY) == 400
    assert port.store.deliveries.count() == before


def test_it_still_serves_after_all_that(port: Port) -> None:
    assert port.say(head(BODY, length(BODY), delivery=b"\xe9"), BODY) == 202
    assert port.say(head(BODY, length(BODY), delivery=b"\xe9"), BODY) == 202

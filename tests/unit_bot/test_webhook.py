"""The hook's door: only what is signed, sized and new gets a row."""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event, text

from bot.adapters.store import Store, migrate, open_store
from bot.settings import Settings
from bot.web import create_app

OFFICIAL = "It's a Secret to Everybody"
OFFICIAL_SIGNATURE = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
PING = b'{"zen": "Keep it logically awesome."}'


@pytest.fixture
def door(tmp_path: Path) -> Iterator[tuple[FlaskClient, Store]]:
    where = f"sqlite:///{tmp_path}/gate.db"
    settings = Settings(webhook_secrets=f"new one,{OFFICIAL}", database=where, broker="redis://127.0.0.1:9/0")
    store = open_store(where)
    migrate(store.db.engine)
    yield create_app(settings, store).test_client(), store
    store.db.engine.dispose()


def headers(body: bytes, delivery: str = "d-1", event: str = "issue_comment", secret: str = OFFICIAL) -> dict[str, str]:
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": signature, "X-GitHub-Delivery": delivery, "X-GitHub-Event": event}


def test_the_official_vector_passes_the_signature(door: tuple[FlaskClient, Store]) -> None:
    client, store = door
    given = {"X-Hub-Signature-256": OFFICIAL_SIGNATURE, "X-GitHub-Delivery": "d-1", "X-GitHub-Event": "ping"}
    answer = client.post("/webhook", data=b"Hello, World!", headers=given)
    assert (answer.status_code, answer.get_json()) == (400, {"error": "the body is not JSON"})
    assert client.post("/webhook", data=b"Hello, World?", headers=given).status_code == 401
    assert store.deliveries.count() == 0


def test_either_of_two_secrets_serves_while_one_replaces_the_other(door: tuple[FlaskClient, Store]) -> None:
    client, _ = door
    for secret, status in ((OFFICIAL, 200), ("new one", 200), ("another", 401)):
        assert client.post("/webhook", data=PING, headers=headers(PING, event="ping", secret=secret)).status_code == status


@pytest.mark.parametrize("signature", ["", "sha1=abc", "sha256", "sha256=zz", "sha256=" + "é" * 9, "x" * 10_240])
def test_a_bad_signature_leaves_no_row(door: tuple[FlaskClient, Store], signature: str) -> None:
    client, store = door
    given = headers(PING) | {"X-Hub-Signature-256": signature}
    assert client.post("/webhook", data=PING, headers=given).status_code == 401
    assert store.deliveries.count() == 0


def test_an_oversized_body_is_refused_unread(door: tuple[FlaskClient, Store]) -> None:
    client, store = door
    length = {"CONTENT_LENGTH": str(26 * 1024 * 1024)}
    assert client.post("/webhook", headers=headers(b""), environ_overrides=length).status_code == 413
    assert store.deliveries.count() == 0


@pytest.mark.parametrize("missing", ["X-GitHub-Delivery", "X-GitHub-Event"])
def test_a_delivery_without_its_headers_is_refused(door: tuple[FlaskClient, Store], missing: str) -> None:
    client, store = door
    given = {name: value for name, value in headers(PING).items() if name != missing}
    assert client.post("/webhook", data=PING, headers=given).status_code == 400
    assert store.deliveries.count() == 0


@pytest.mark.parametrize("payload", [{}, {"action": "new"}, {"sender": None, "repository": None}, {"issue": [], "comment": 1}])
@pytest.mark.parametrize("event", ["issue_comment", "pull_request", "push", "no_such_event"])
def test_events_nobody_foresaw_are_taken_and_ask_for_nothing(door: tuple[FlaskClient, Store], event: str, payload: object) -> None:
    client, store = door
    body = json.dumps(payload).encode()
    assert client.post("/webhook", data=body, headers=headers(body, event=event)).status_code == 202
    assert store.deliveries.count() == 1


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b"null", b"\xff", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000], ids=lambda b: b[:5]
)
def test_a_signed_body_that_is_no_json_object_is_a_400(door: tuple[FlaskClient, Store], body: bytes) -> None:
    client, store = door
    assert client.post("/webhook", data=body, headers=headers(body)).status_code == 400
    assert store.deliveries.count() == 0


@pytest.mark.parametrize("name", ["X-Hub-Signature-256", "X-GitHub-Delivery"])
def test_what_is_not_ascii_in_a_header_harms_nothing(door: tuple[FlaskClient, Store], name: str) -> None:
    client, store = door
    given = headers(PING, event="push") | {name: "sha256=\u00e9"}
    assert client.post("/webhook", data=PING, headers=given).status_code == (401 if "Signature" in name else 202)
    assert [one.guid for one in store.deliveries.due()] == ([] if "Signature" in name else [given["X-GitHub-Delivery"]])


def test_a_hundred_duplicates_from_twenty_threads_are_one_row(door: tuple[FlaskClient, Store]) -> None:
    client, store = door
    app = client.application
    body = json.dumps({"action": "created"}).encode()

    def post(_: int) -> int:
        return app.test_client().post("/webhook", data=body, headers=headers(body)).status_code

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(post, range(100))) == {202}
    assert store.deliveries.count() == 1


@pytest.mark.parametrize("broker", ["redis://127.0.0.1:9/0", "redis://127.0.0.1:9/0?nobody=knows"])
def test_no_broker_keeps_a_webhook_out(door: tuple[FlaskClient, Store], broker: str) -> None:
    _, store = door
    client = create_app(Settings(webhook_secrets=OFFICIAL, broker=broker), store).test_client()
    assert client.post("/webhook", data=b"{}", headers=headers(b"{}")).status_code == 202
    assert client.get("/ready").get_json() == {"broker": False, "database": True}


@pytest.mark.parametrize("pragma", ["max_page_count = 1", "query_only = 1"])
def test_a_disk_that_is_full_or_read_only_is_a_503_until_it_is_not(door: tuple[FlaskClient, Store], pragma: str) -> None:
    client, store = door
    body = json.dumps({"padding": "x" * 100_000}).encode()

    def troubled(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(f"PRAGMA {pragma}")

    event.listen(store.db.engine, "checkout", troubled)
    answer = client.post("/webhook", data=body, headers=headers(body))
    assert (answer.status_code, answer.get_json()) == (503, {"error": "the database is not available"})
    event.remove(store.db.engine, "checkout", troubled)
    store.db.engine.dispose()
    assert client.post("/webhook", data=body, headers=headers(body)).status_code == 202 and store.deliveries.count() == 1


def test_a_database_that_another_holds_for_four_seconds_loses_nothing(door: tuple[FlaskClient, Store]) -> None:
    client, store = door
    held = threading.Event()

    def hold() -> None:
        with store.db.write() as session:
            session.execute(text("SELECT 1"))  # it begins with its first statement
            held.set()
            time.sleep(4.0)

    holder, began = threading.Thread(target=hold), time.monotonic()
    holder.start()
    assert held.wait(30)
    assert client.post("/webhook", data=PING, headers=headers(PING)).status_code == 202
    assert time.monotonic() - began > 3.9 and store.deliveries.count() == 1
    holder.join()


def test_ready_needs_the_database_not_the_broker(door: tuple[FlaskClient, Store]) -> None:
    client, _ = door
    assert client.get("/health").get_json() == {"ok": True}
    answer = client.get("/ready")
    assert (answer.status_code, answer.get_json()) == (200, {"broker": False, "database": True})


def test_without_tables_nothing_is_ready(tmp_path: Path) -> None:
    app = create_app(Settings(database=f"sqlite:///{tmp_path}/empty.db", broker="redis://127.0.0.1:9/0"))
    assert app.test_client().get("/ready").status_code == 503
    body = b"{}"
    assert app.test_client().post("/webhook", data=body, headers=headers(body)).status_code == 401  # no secret: nothing is taken

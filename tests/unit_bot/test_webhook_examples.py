"""GitHub's own example payloads, posted signed to the real application: none is a 5xx, and those we take do the right thing."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from control_house import SECRET
from test_webhook import headers

from bot.adapters.store import Store, migrate, open_store
from bot.core.events import EventKind, parse_event
from bot.flow.deliveries import asks_of
from bot.settings import Settings
from bot.web import create_app

EXAMPLES = json.loads(lzma.decompress((Path(__file__).parents[1] / "data" / "webhooks" / "payloads.json.xz").read_bytes()))
PAYLOADS: list[tuple[str, dict[str, Any]]] = [(one["event"], one["payload"]) for one in EXAMPLES["payloads"]]
OTHERS: dict[str, int] = EXAMPLES["others"]  # how many of each event that we don't take
ALL = [*PAYLOADS, *((name, {"action": "created", "sender": {"login": "x"}}) for name, count in OTHERS.items() for _ in range(count))]

# What becomes of each: on a pull request's comments, heads, buttons, places; nothing else.
TAKEN = {
    ("issue_comment", "edited"): EventKind.COMMENT_CHANGED,
    ("issue_comment", "deleted"): EventKind.COMMENT_CHANGED,
    ("check_run", "rerequested"): EventKind.RERUN,
    ("check_run", "requested_action"): EventKind.BUTTON,
    ("check_suite", "rerequested"): EventKind.RERUN,
    ("pull_request", "opened"): EventKind.PULL_OPENED,
    ("pull_request", "reopened"): EventKind.PULL_OPENED,
    ("pull_request", "ready_for_review"): EventKind.PULL_OPENED,
    ("pull_request", "synchronize"): EventKind.PULL_PUSHED,
    ("pull_request", "closed"): EventKind.PULL_CLOSED,
    ("pull_request", "converted_to_draft"): EventKind.PULL_DRAFTED,
    ("merge_group", "checks_requested"): EventKind.MERGE_GROUP,
    ("repository", "privatized"): EventKind.REPOSITORY,
    ("repository", "publicized"): EventKind.REPOSITORY,
    ("repository", "renamed"): EventKind.REPOSITORY,
    ("repository", "transferred"): EventKind.REPOSITORY,
}
WHOLE = {"push": EventKind.PUSH, "ping": EventKind.PING} | dict.fromkeys(
    ("installation", "installation_repositories"), EventKind.INSTALLATION
)  # fmt: skip


def event_of(name: str, payload: dict[str, Any]) -> Any:
    return parse_event({"X-GitHub-Delivery": "d", "X-GitHub-Event": name}, json.dumps(payload).encode())


@pytest.fixture(scope="module")
def posted(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Status of each of the examples, and the deliveries that the store then holds."""
    where = f"sqlite:///{tmp_path_factory.mktemp('door')}/gate.db"
    store: Store = open_store(where)
    migrate(store.db.engine)
    client = create_app(Settings(webhook_secrets=SECRET, database=where, broker="redis://127.0.0.1:9/0"), store).test_client()
    bodies = [(name, json.dumps(payload).encode()) for name, payload in ALL]
    given = [headers(body, f"d-{place}", name, SECRET) for place, (name, body) in enumerate(bodies)]
    answers = [client.post("/webhook", data=body, headers=sent) for (_, body), sent in zip(bodies, given, strict=True)]
    yield [answer.status_code for answer in answers], store
    store.db.engine.dispose()


def test_all_329_are_taken_and_none_is_a_5xx(posted: Any) -> None:
    statuses, store = posted
    pings = sum(name == "ping" for name, _ in ALL)
    assert len(ALL) == 329 and len({name for name, _ in ALL}) == 58
    assert Counter(statuses) == {200: pings, 202: len(ALL) - pings}
    assert store.deliveries.count() == len(ALL) - pings


def test_each_is_what_github_says_it_is() -> None:
    for name, payload in PAYLOADS:
        expected = WHOLE.get(name) or TAKEN.get((name, payload.get("action", "")), EventKind.IGNORED)
        if name == "issue_comment" and payload["action"] == "created":
            expected = EventKind.COMMENT if "pull_request" in payload["issue"] else EventKind.IGNORED
        assert event_of(name, payload).kind is expected, (name, payload.get("action"))
    assert all(event_of(name, {}).kind is EventKind.IGNORED for name in OTHERS)


def test_each_names_its_place_and_its_sender() -> None:
    """Repository, number, sender and SHA are where the payload has them."""
    for name, payload in PAYLOADS:
        event = event_of(name, payload)
        assert event.repository == payload.get("repository", {}).get("full_name", "")
        assert event.sender == payload.get("sender", {}).get("login", "")
        thing = payload.get("pull_request") or payload.get("issue") or {}
        assert event.number == thing.get("number")
        if name == "pull_request":
            assert event.sha == payload["pull_request"]["head"]["sha"]
        if name in ("check_run", "check_suite", "merge_group"):
            assert event.sha == payload[name]["head_sha"]
        if name in ("installation", "installation_repositories"):
            assert event.owner == payload["installation"]["account"]["login"]


def test_a_repository_not_on_the_list_gets_nothing_from_any_of_them(posted: Any) -> None:
    class World:
        class store:
            class runs:
                @staticmethod
                def repositories(owner: str) -> list[str]:
                    return [f"{owner}/elsewhere"]

        @staticmethod
        def serves(repository: str) -> bool:
            return False

    for name, payload in PAYLOADS:
        assert asks_of(World, event_of(name, payload))[0] == []  # type: ignore[arg-type]

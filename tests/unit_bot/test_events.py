"""The webhook's edge: signature before anything else, then as little of the payload as possible."""

import hashlib
import hmac
import json

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import Refused
from bot.core.events import EventKind, read_event, verify

SECRET = b"It's a Secret to Everybody"


def signed(body: bytes, event: str = "issue_comment", secret: bytes = SECRET) -> dict[str, str]:
    digest = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return {"X-GitHub-Event": event, "X-GitHub-Delivery": "d-1", "X-Hub-Signature-256": f"sha256={digest}"}


def read(payload: object, event: str = "issue_comment"):
    body = json.dumps(payload).encode()
    return read_event(signed(body, event), body, [SECRET])


def comment(action: str = "created", pull: bool = True) -> dict[str, object]:
    return {
        "action": action,
        "issue": {"number": 7, **({"pull_request": {"url": "x"}} if pull else {})},
        "comment": {"id": 99, "body": "/run-test"},
        "repository": {"full_name": "o/r"},
        "sender": {"login": "mira", "type": "User"},
    }


def test_github_s_own_example_is_accepted():
    verify("sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", b"Hello, World!", [SECRET])


def test_a_comment_on_a_pull_request_is_a_comment():
    event = read(comment())
    assert (event.kind, event.repository, event.number, event.sender, event.comment_id, event.text) == (
        EventKind.COMMENT, "o/r", 7, "mira", 99, "/run-test",
    )  # fmt: skip


@pytest.mark.parametrize("payload", [comment(pull=False), {}, {"issue": None, "comment": 3}])
def test_issues_and_odd_payloads_are_noted_and_ignored(payload):
    assert read(payload).kind is EventKind.IGNORED


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_a_comment_that_changed_is_no_command(action):
    assert read(comment(action)).kind is EventKind.COMMENT_CHANGED


@pytest.mark.parametrize(
    ("repository", "changes", "former"),
    [
        ("o/new", {"repository": {"name": {"from": "old"}}}, "o/old"),
        ("new/r", {"owner": {"from": {"user": {"login": "old"}}}}, "old/r"),
        ("new/r", {"owner": {"from": {"organization": {"login": "old"}}}}, "old/r"),
        ("o/r", {}, ""),
        ("o/r", {"owner": 3, "repository": []}, ""),
    ],
)
def test_a_repository_that_moved_is_known_by_its_former_name(repository, changes, former):
    event = read({"action": "renamed", "repository": {"full_name": repository}, "changes": changes}, "repository")
    assert (event.kind, event.repository, event.former) == (EventKind.REPOSITORY, repository, former)


def test_a_button_names_its_check_and_itself():
    event = read({"action": "requested_action", "check_run": {"head_sha": "d" * 40}, "requested_action": {"identifier": "x"}}, "check_run")
    assert (event.kind, event.sha, event.button) == (EventKind.BUTTON, "d" * 40, "x")


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("opened", EventKind.PULL_OPENED),
        ("reopened", EventKind.PULL_OPENED),
        ("synchronize", EventKind.PULL_PUSHED),
        ("closed", EventKind.PULL_CLOSED),
        ("labeled", EventKind.IGNORED),
        ("edited", EventKind.IGNORED),
    ],
)
def test_what_happens_to_a_pull_request(action, kind):
    event = read({"action": action, "pull_request": {"number": 3, "head": {"sha": "a" * 40}}}, "pull_request")
    assert (event.kind, event.number, event.sha) == (kind, 3, "a" * 40)


def test_a_retargeted_pull_request_is_edited():
    payload = {"action": "edited", "changes": {"base": {"ref": {"from": "main"}}}, "pull_request": {"number": 3}}
    assert read(payload, "pull_request").kind is EventKind.PULL_EDITED


def test_a_deleted_fork_does_not_matter():
    payload = {"action": "opened", "pull_request": {"number": 3, "head": {"sha": "b" * 40, "repo": None}}}
    assert read(payload, "pull_request").sha == "b" * 40


def test_push_ping_and_unknown_events():
    push = read({"ref": "refs/heads/main", "after": "c" * 40}, "push")
    assert (push.kind, push.ref, push.sha) == (EventKind.PUSH, "refs/heads/main", "c" * 40)
    assert read({"zen": "x"}, "ping").kind is EventKind.PING
    assert read({}, "star").kind is EventKind.IGNORED


def test_a_bot_is_known_as_one():
    assert read({**comment(), "sender": {"login": "x[bot]", "type": "Bot"}}).sender_is_bot


def test_the_second_secret_serves_while_secrets_rotate():
    body = b"{}"
    assert read_event(signed(body, "ping", b"new"), body, [b"old", b"new"]).kind is EventKind.PING


@pytest.mark.parametrize(
    ("headers", "secrets", "status"),
    [
        ({"X-Hub-Signature-256": ""}, [SECRET], 401),
        ({"X-Hub-Signature-256": "sha256=é"}, [SECRET], 401),
        ({}, [b"other"], 401),
        ({}, [], 401),
        ({}, [b""], 401),
        ({"X-GitHub-Delivery": ""}, [SECRET], 400),
        ({"X-GitHub-Delivery": "x" * 200}, [SECRET], 400),
        ({"X-GitHub-Event": ""}, [SECRET], 400),
    ],
)
def test_what_is_refused(headers, secrets, status):
    with pytest.raises(Refused) as refused:
        read_event({**signed(b"{}"), **headers}, b"{}", secrets)
    assert refused.value.status == status


def test_an_empty_secret_never_fits():
    body = b"{}"
    with pytest.raises(Refused):
        read_event(signed(body, secret=b""), body, [b""])


def test_the_old_sha1_header_is_no_signature():
    body = b"{}"
    digest = hmac.new(SECRET, body, hashlib.sha1).hexdigest()
    with pytest.raises(Refused):
        read_event({"X-GitHub-Event": "ping", "X-GitHub-Delivery": "d", "X-Hub-Signature": f"sha1={digest}"}, body, [SECRET])


@pytest.mark.parametrize("body", [b"not json", b"[1]", b"\xff\xfe", b"[" * 5000])
def test_a_signed_body_that_is_no_object_is_a_400(body):
    with pytest.raises(Refused) as refused:
        read_event(signed(body), body, [SECRET])
    assert refused.value.status == 400


def test_an_unsigned_body_is_never_parsed():
    with pytest.raises(Refused) as refused:
        read_event({"X-GitHub-Event": "ping"}, b"not json", [SECRET])
    assert refused.value.status == 401


@examples(300)
@given(st.integers(0, 70), st.characters())
def test_no_mutated_signature_is_accepted(place, letter):
    good = signed(b"{}")["X-Hub-Signature-256"]
    bad = good[:place] + letter + good[place + 1 :]
    if bad != good:
        with pytest.raises(Refused):
            verify(bad, b"{}", [SECRET])

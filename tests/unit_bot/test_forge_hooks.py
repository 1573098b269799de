"""Deliveries: GitHub's headers, signature and payload shape; a push over git reaches its pulls; the log and redelivery."""

from __future__ import annotations

import hashlib
import hmac
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from forged_github import TOKENS, Forged, run_git

from bot.forge.hooks import signature

SAMPLE = "/repos/kernelgate/sample"


def heard(forged: Forged) -> list[tuple[str, str | None, dict[str, Any]]]:
    """Event, action and payload of every delivery so far."""
    forged.settle()
    return [(one.event, one.action, json.loads(one.body)) for one in forged.world.deliveries.values()]


@pytest.fixture
def pulled(hooked: Forged) -> Forged:
    assert hooked.call("POST", f"{SAMPLE}/pulls", title="A change", head="change", base="main").status_code == 201
    assert hooked.call("POST", f"{SAMPLE}/pulls", who="sam", title="From a fork", head="sam:other", base="main").status_code == 201
    return hooked


def test_githubs_own_example_of_a_signature() -> None:
    digest = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert signature("It's a Secret to Everybody", b"Hello, World!") == digest


def test_a_comment_is_delivered_signed(pulled: Forged) -> None:
    pulled.call("POST", f"{SAMPLE}/issues/1/comments", who="noor", body="/run-test models=all")
    event, action, payload = heard(pulled)[-1]
    assert (event, action) == ("issue_comment", "created")
    assert payload["comment"]["body"] == "/run-test models=all"
    assert (payload["sender"]["login"], payload["repository"]["full_name"]) == ("noor", "kernelgate/sample")
    assert payload["issue"]["number"] == 1 and payload["issue"]["pull_request"]["url"].endswith(f"{SAMPLE}/pulls/1")
    assert payload["installation"]["id"] == 11
    delivery = list(pulled.world.deliveries.values())[-1]
    expected = hmac.new(b"s3cret", delivery.body, hashlib.sha256).hexdigest()
    assert delivery.headers["X-Hub-Signature-256"] == f"sha256={expected}"
    assert delivery.headers["X-GitHub-Event"] == "issue_comment" and delivery.headers["X-GitHub-Delivery"] == delivery.guid
    assert (delivery.status_code, delivery.status) == (502, "failed to connect to host: ConnectionError")
    assert pulled.world.violations == []


def test_edits_and_deletions_are_told_with_their_sender(pulled: Forged) -> None:
    comment = pulled.call("POST", f"{SAMPLE}/issues/1/comments", who="sam", body="one").json()
    path = f"{SAMPLE}/issues/comments/{comment['id']}"
    pulled.call("PATCH", path, who="mira", body="two")
    pulled.call("DELETE", path, who="mira")
    (_, edited, payload), (_, deleted, _) = heard(pulled)[-2:]
    assert (edited, deleted) == ("edited", "deleted")
    assert payload["changes"]["body"]["from"] == "one"
    assert (payload["sender"]["login"], payload["comment"]["user"]["login"]) == ("mira", "sam")
    assert pulled.world.violations == []


def test_pulls_opened_retargeted_closed(pulled: Forged) -> None:
    pulled.call("PATCH", f"{SAMPLE}/pulls/1", base="change", title="Renamed")
    pulled.call("PATCH", f"{SAMPLE}/pulls/1", state="closed")
    pulled.call("PATCH", f"{SAMPLE}/pulls/1", state="open")
    events = heard(pulled)
    assert [(event, action) for event, action, _ in events] == [
        ("pull_request", action) for action in ("opened", "opened", "edited", "closed", "reopened")
    ]
    assert events[2][2]["changes"]["base"]["ref"]["from"] == "main"
    assert pulled.world.violations == []


def clone(forged: Forged, folder: Path, owner: str, login: str) -> Path:
    url = forged.url.replace("http://", f"http://{login}:{TOKENS[login]}@")
    subprocess.run(["git", "clone", "-q", f"{url}/{owner}/sample.git", str(folder)], check=True, capture_output=True)
    return folder


def advance(work: Path, branch: str) -> str:
    run_git(work, "checkout", "-q", branch)
    (work / "README.md").write_text("words\n")
    run_git(work, "add", ".")
    run_git(work, "commit", "-q", "-m", "words")
    run_git(work, "push", "-q", "origin", branch)
    return run_git(work, "rev-parse", "HEAD")


def test_a_push_synchronizes_the_pull_of_its_branch(pulled: Forged, tmp_path: Path) -> None:
    head = advance(clone(pulled, tmp_path / "clone", "kernelgate", "noor"), "change")
    (push, _, pushed), (event, action, payload) = heard(pulled)[-2:]
    assert (push, pushed["ref"], pushed["after"]) == ("push", "refs/heads/change", head)
    assert pushed["head_commit"]["added"] == ["README.md"] and pushed["pusher"]["name"] == "noor"
    assert (event, action, payload["after"], payload["pull_request"]["head"]["sha"]) == ("pull_request", "synchronize", head, head)
    assert pulled.world.violations == []


def test_a_push_to_a_fork_synchronizes_and_is_else_unheard(pulled: Forged, tmp_path: Path) -> None:
    head = advance(clone(pulled, tmp_path / "clone", "sam", "sam"), "other")
    assert [(event, action) for event, action, _ in heard(pulled)][2:] == [("pull_request", "synchronize")]
    fetched = tmp_path / "node"
    run_git(tmp_path, "init", "-q", str(fetched))
    run_git(fetched, "fetch", "-q", f"{pulled.url}/kernelgate/sample.git", head)
    assert run_git(fetched, "rev-parse", "FETCH_HEAD") == head


def test_a_stranger_cannot_push(pulled: Forged, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="403"):
        advance(clone(pulled, tmp_path / "clone", "kernelgate", "sam"), "change")


def test_ping_and_buttons_have_githubs_shape(pulled: Forged) -> None:
    herald = pulled.forge.service.herald
    herald.ping(pulled.world.repositories["kernelgate/sample"], "mira")
    assert heard(pulled)[-1][0] == "ping" and heard(pulled)[-1][2]["hook"]["config"]["content_type"] == "json"
    assert pulled.world.violations == []


def test_the_log_and_a_redelivery(pulled: Forged) -> None:
    listed = pulled.signed("GET", "/app/hook/deliveries").json()
    assert [one["action"] for one in listed] == ["opened", "opened"]
    detail = pulled.signed("GET", f"/app/hook/deliveries/{listed[0]['id']}").json()
    assert detail["request"]["payload"]["number"] == 2
    assert pulled.signed("POST", f"/app/hook/deliveries/{listed[0]['id']}/attempts").status_code == 202
    pulled.settle()
    again = pulled.signed("GET", "/app/hook/deliveries").json()[0]
    assert again["redelivery"] and again["guid"] == listed[0]["guid"]
    assert pulled.world.violations == []

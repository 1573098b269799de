"""The forge refuses exactly what GitHub would, and records every departure from its description."""

from __future__ import annotations

import time

import pytest
import requests
from flask import Response
from forged_github import Forged

SAMPLE = "/repos/kernelgate/sample"


@pytest.fixture
def pulled(forged: Forged) -> Forged:
    """The forge with pull 1 open."""
    assert forged.call("POST", f"{SAMPLE}/pulls", title="A change", head="change", base="main").status_code == 201
    return forged


def installation_token(forged: Forged) -> str:
    return str(forged.signed("POST", "/app/installations/11/access_tokens").json()["token"])


@pytest.mark.parametrize(
    ("verb", "path", "body", "named"),
    [
        ("POST", "/issues/1/comments", {"text": "no body key"}, "'body' is a required property"),
        ("POST", "/issues/1/comments", {"body": 7}, "body: 7 is not"),
        ("POST", "/check-runs", {"name": "kernelgate"}, "'head_sha' is a required property"),
        ("POST", "/check-runs", {"name": "kernelgate", "head_sha": "x", "conclusion": "green"}, "conclusion: 'green' is not one of"),
        ("POST", "/check-runs", {"name": "k", "head_sha": "x", "output": {"title": "t", "summary": "s" * 65536}}, "output/summary"),
    ],
)
def test_a_body_the_description_refuses(pulled: Forged, verb: str, path: str, body: dict[str, object], named: str) -> None:
    response = pulled.call(verb, SAMPLE + path, **body)
    assert response.status_code == 422 and named in response.json()["message"]
    assert len(pulled.world.violations) == 1 and named in pulled.world.violations[0]


def test_a_reaction_github_does_not_have(pulled: Forged) -> None:
    comment = pulled.call("POST", f"{SAMPLE}/issues/1/comments", body="hello").json()
    response = pulled.call("POST", f"{SAMPLE}/issues/comments/{comment['id']}/reactions", content="shrug")
    assert response.status_code == 422 and "'shrug' is not one of" in response.json()["message"]


def test_a_call_the_forge_does_not_know_is_recorded(forged: Forged) -> None:
    assert forged.call("GET", f"{SAMPLE}/milestones").status_code == 404
    assert forged.world.violations == [f"request GET /api/v3{SAMPLE}/milestones: not a call the forge knows"]


def test_json_that_is_none(pulled: Forged) -> None:
    headers = {"Authorization": "Bearer token-mira", "Content-Type": "application/json"}
    response = requests.post(f"{pulled.api}{SAMPLE}/issues/1/comments", data=b"{", headers=headers, timeout=20)
    assert (response.status_code, response.json()["message"]) == (400, "Problems parsing JSON")


def test_an_answer_that_is_not_githubs_becomes_an_error(forged: Forged, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = lambda: Response('{"login": 7}', mimetype="application/json")  # noqa: E731
    monkeypatch.setitem(forged.forge.app.view_functions, "repositories.me", wrong)
    assert forged.call("GET", "/user").status_code == 500
    assert forged.world.violations[0].startswith("answer GET /api/v3/user 200:")


@pytest.mark.parametrize(("body", "code"), [(" \n", "missing_field"), ("x" * 65537, "unprocessable")])
def test_bodies_of_comments(pulled: Forged, body: str, code: str) -> None:
    response = pulled.call("POST", f"{SAMPLE}/issues/1/comments", body=body)
    assert response.status_code == 422 and response.json()["errors"][0]["code"] == code
    assert pulled.world.violations == []


def test_bad_credentials(forged: Forged) -> None:
    assert forged.call("GET", "/user", who="stolen").status_code == 401
    assert forged.call("GET", "/user", who="").status_code == 401
    assert forged.call("POST", f"{SAMPLE}/pulls", who="", title="t", head="change", base="main").status_code == 401


@pytest.mark.parametrize("claims", [{"iss": "8"}, {"exp": int(time.time()) - 100}, {"exp": int(time.time()) + 3600}])
def test_json_web_tokens_that_are_wrong(forged: Forged, claims: dict[str, object]) -> None:
    assert forged.signed("GET", "/app", claims=claims).status_code == 401


def test_the_apps_own_token_is_no_installation(pulled: Forged) -> None:
    assert pulled.signed("GET", "/app").status_code == 200
    assert pulled.signed("POST", f"{SAMPLE}/issues/1/comments", body="hello").status_code == 403
    assert pulled.call("GET", "/app").status_code == 401


def test_only_writers_change_what_is_not_theirs(pulled: Forged) -> None:
    comment = pulled.call("POST", f"{SAMPLE}/issues/1/comments", body="mine").json()
    path = f"{SAMPLE}/issues/comments/{comment['id']}"
    assert pulled.call("PATCH", path, who="sam", body="yours").status_code == 403
    assert pulled.call("PATCH", path, who="noor", body="edited").status_code == 200
    assert pulled.call("PATCH", f"{SAMPLE}/pulls/1", who="sam", state="closed").status_code == 403


def test_pulls_that_cannot_be_opened(forged: Forged) -> None:
    for head, base in (("absent", "main"), ("change", "absent"), ("main", "main"), ("stranger:main", "main")):
        assert forged.call("POST", f"{SAMPLE}/pulls", title="t", head=head, base=base).status_code == 422
    assert forged.world.pulls == {}


def test_a_completed_check_needs_a_conclusion(pulled: Forged) -> None:
    head = pulled.call("GET", f"{SAMPLE}/pulls/1").json()["head"]["sha"]
    response = pulled.call("POST", f"{SAMPLE}/check-runs", who=installation_token(pulled), name="k", head_sha=head, status="completed")
    assert response.status_code == 422 and response.json()["errors"][0]["field"] == "conclusion"


def test_a_private_repository_is_hidden(forged: Forged) -> None:
    forged.world.repositories["kernelgate/sample"].private = True
    assert forged.call("GET", SAMPLE, who="sam").status_code == 404
    assert forged.call("GET", SAMPLE, who="mira").status_code == 200
    collaborator = forged.call("GET", f"{SAMPLE}/collaborators/sam/permission").json()
    assert collaborator["permission"] == "none"


def test_only_loopback_names_and_no_foreign_page(forged: Forged) -> None:
    for headers in ({"Host": "forge.example"}, {"Origin": "http://elsewhere.example"}):
        assert requests.get(f"{forged.url}/", headers=headers, timeout=20).status_code == 403

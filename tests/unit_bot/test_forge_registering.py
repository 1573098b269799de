"""An App made from a manifest on the forge's pages: what GitHub would refuse, a code good for once, and its installation."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from forged_github import Forged

from bot.cli.setup.manifest import manifest

AWAY = {"Origin": "http://127.0.0.1:9"}
TOLD = manifest("https://gate.example", "http://127.0.0.1:9/made", "kernelgate")


@pytest.fixture
def bare(forged: Forged) -> Forged:
    """The forge without an App."""
    forged.world.app = None
    return forged


def offer(forged: Forged, told: Any = TOLD, owner: str = "/organizations/kernelgate") -> requests.Response:
    """Send a manifest as another site's page does."""
    data = {"manifest": json.dumps(told)}
    return requests.post(f"{forged.url}{owner}/settings/apps/new?state=s", data=data, headers=AWAY, timeout=20)


def create(forged: Forged, headers: dict[str, str] | None = None, **owner: str) -> requests.Response:
    """Press the button."""
    data = {"manifest": json.dumps(TOLD), "state": "s", "name": "Gate of ours"} | (owner or {"organization": "kernelgate"})
    return requests.post(f"{forged.url}/settings/apps", data=data, headers=headers, timeout=20, allow_redirects=False)


def code(forged: Forged, **owner: str) -> str:
    back = urlsplit(create(forged, **owner).headers["Location"])
    query = parse_qs(back.query)
    assert (back.netloc, back.path, query["state"]) == ("127.0.0.1:9", "/made", ["s"])
    return query["code"][0]


@pytest.mark.parametrize("owner", ["", "/organizations/kernelgate"])
def test_a_manifest_may_come_from_another_page_and_makes_nothing(bare: Forged, owner: str) -> None:
    shown = offer(bare, owner=owner)
    assert shown.status_code == 200 and "https://gate.example/webhook" in shown.text and bare.world.app is None


def test_the_button_is_out_of_another_pages_reach(bare: Forged) -> None:
    assert create(bare, headers=AWAY).status_code == 403 and bare.world.app is None
    assert requests.post(f"{bare.url}/apps/x/installations/new", headers=AWAY, timeout=20).status_code == 403


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("url", None, "an address is none"),
        ("hook_attributes", {"active": False}, "KeyError 'url'"),
        ("default_permissions", {"merge_queue": "read"}, "merge_queue: read is no permission"),
        ("default_permissions", {"checks": "admin"}, "checks: admin is no permission"),
        ("default_permissions", {"metadata": "read"}, "default events unsupported: check_run, check_suite, issue_comment, merge_group"),
        ("default_events", ["comments"], "default events unsupported: comments"),
    ],
)
def test_manifests_that_github_would_refuse(bare: Forged, key: str, value: Any, named: str) -> None:
    refused = offer(bare, {**TOLD, key: value})
    assert refused.status_code == 422 and named in refused.json()["message"]


def test_an_organization_nobody_knows(bare: Forged) -> None:
    assert offer(bare, owner="/organizations/mira").status_code == 404
    assert create(bare, organization="mira").status_code == 404 and create(bare, login="ghost").status_code == 404


def test_a_code_is_good_for_once(bare: Forged) -> None:
    path = f"/app-manifests/{code(bare)}/conversions"
    made = bare.call("POST", path, who="")
    assert made.status_code == 201, made.text
    told = made.json()
    assert (told["name"], told["slug"], told["owner"]["login"]) == ("Gate of ours", "gate-of-ours", "kernelgate")
    assert told["permissions"] == TOLD["default_permissions"] and told["events"] == TOLD["default_events"]
    assert told["webhook_secret"] == bare.world.hooks[-1].secret and bare.world.hooks[-1].url == "https://gate.example/webhook"
    assert bare.call("POST", path, who="").status_code == 404
    assert bare.world.violations == []


def test_a_code_is_good_for_an_hour(bare: Forged, monkeypatch: pytest.MonkeyPatch) -> None:
    path, now = f"/app-manifests/{code(bare)}/conversions", time.time()
    monkeypatch.setattr("bot.forge.routes.apps.time.time", lambda: now + 3601)
    assert bare.call("POST", path, who="").status_code == 404


def test_an_app_speaks_for_repositories_once_it_is_installed(bare: Forged) -> None:
    told = bare.call("POST", f"/app-manifests/{code(bare)}/conversions", who="").json()
    claims = {"iat": int(time.time()) - 30, "exp": int(time.time()) + 300, "iss": str(told["id"])}
    word = jwt.encode(claims, told["pem"], algorithm="RS256")
    assert bare.call("GET", "/repos/kernelgate/sample/installation", who=word).status_code == 404
    assert bare.call("GET", "/app/installations", who=word).json() == []
    assert bare.call("POST", "/app/installations/0/access_tokens", who=word).status_code == 404
    page = urlsplit(told["html_url"]).path + "/installations/new"
    assert "kernelgate" in requests.get(bare.url + page, timeout=20).text
    assert requests.post(bare.url + page, timeout=20).status_code == 200
    found = bare.call("GET", "/repos/kernelgate/sample/installation", who=word).json()
    assert found["app_slug"] == "gate-of-ours" and found["permissions"] == TOLD["default_permissions"]
    bare.settle()
    assert [(one.event, one.action) for one in bare.world.deliveries.values()] == [("installation", "created")]
    assert bare.world.violations == []


def test_an_app_of_a_person(bare: Forged) -> None:
    told = bare.call("POST", f"/app-manifests/{code(bare, login='mira')}/conversions", who="").json()
    assert told["owner"]["login"] == "mira"


def test_an_app_hears_of_what_it_subscribed_to(hooked: Forged) -> None:
    assert hooked.world.app is not None
    hooked.world.app.events.remove("pull_request")
    hooked.call("POST", "/repos/kernelgate/sample/pulls", title="A change", head="change", base="main")
    hooked.call("POST", "/repos/kernelgate/sample/issues/1/comments", body="hello")
    hooked.settle()
    assert [one.event for one in hooked.world.deliveries.values()] == ["issue_comment"]

"""The fault plan and the limits: each in GitHub's words, and what the adapter makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from control_house import REPO, settings_for
from forged_github import Forged

from bot.adapters import github_clients
from bot.adapters.github import GitHubApi
from bot.flow.ports import GitHubError, Unavailable
from bot.forge.faults import Fault, Kind
from bot.forge.limits import Meter
from bot.forge.world import World

SAMPLE = f"/repos/{REPO}"


@dataclass
class Caller:
    """The adapter over a forge with one pull request."""

    forged: Forged
    world: World
    github: GitHubApi


@pytest.fixture
def caller(forged: Forged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """It pauses before no retry."""
    monkeypatch.setattr(github_clients, "RETRY", github_clients.RETRY.new(backoff_factor=0))
    forged.call("POST", f"{SAMPLE}/pulls", title="t", head="change", base="main")
    github = GitHubApi(settings_for(forged, tmp_path))
    github.pull(REPO, 1)
    return Caller(forged, forged.world, github)


@pytest.mark.parametrize("kind", [Kind.LOST, Kind.CUT])
def test_what_was_done_and_then_lost_is_there_and_found_again(caller: Caller, kind: Kind) -> None:
    caller.world.faults.add([Fault(kind)])
    with pytest.raises(Unavailable):
        caller.github.create_comment(REPO, 1, "<!-- mark -->")
    found = caller.github.find_comment(REPO, 1, "<!-- mark -->")
    assert [str(one.id) for one in caller.world.comments_of(REPO, 1)] == [found]


def test_an_answer_that_comes_too_late_is_like_none(caller: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github_clients, "TIMEOUT", 2)
    hasty = GitHubApi(settings_for(caller.forged, tmp_path))
    hasty.pull(REPO, 1)
    caller.world.faults.add([Fault(Kind.DELAY, 4)])
    with pytest.raises(Unavailable, match="Timeout"):
        hasty.create_comment(REPO, 1, "late")


@pytest.mark.parametrize(
    ("fault", "waits"),
    [(Fault(Kind.ABUSE, 90), 90), (Fault(Kind.TOO_MANY, 7), 7), (Fault(Kind.SPENT, 600), 600), (Fault(Kind.DOWN), 10)],
    ids=lambda value: str(getattr(value, "kind", value)),
)
def test_githubs_own_wait_is_kept(caller: Caller, fault: Fault, waits: float) -> None:
    caller.world.faults.add([fault])
    with pytest.raises(Unavailable) as refused:
        caller.github.create_comment(REPO, 1, "x")
    assert refused.value.wait == pytest.approx(waits, abs=5)
    assert caller.world.comments_of(REPO, 1) == []


def test_credentials_that_were_taken_back_are_renewed_once(caller: Caller) -> None:
    github, plan = caller.github, caller.world.faults
    plan.add([Fault(Kind.UNAUTHORIZED)])
    github.create_comment(REPO, 1, "after one refusal")
    plan.add([Fault(Kind.UNAUTHORIZED), Fault(Kind.NONE), Fault(Kind.UNAUTHORIZED)])  # the new token is refused, too
    with pytest.raises(GitHubError):
        github.create_comment(REPO, 1, "never")
    assert [one.body for one in caller.world.comments_of(REPO, 1)] == ["after one refusal"] and plan.met == 3


def test_reading_is_tried_again_at_once(caller: Caller) -> None:
    caller.world.faults.add([Fault(Kind.DOWN), Fault(Kind.LOST)])
    assert caller.github.pull(REPO, 1).open


def test_peoples_calls_take_no_fault(forged: Forged) -> None:
    forged.world.faults.add([Fault(Kind.DOWN)])
    assert forged.call("GET", SAMPLE).status_code == 200 and forged.world.faults.met == 0


def test_every_refusal_has_githubs_shape(caller: Caller) -> None:
    caller.world.faults.add(Fault(kind) for kind in Kind if kind not in (Kind.NONE, Kind.DELAY))
    while caller.world.faults.coming:
        with pytest.raises(GitHubError):
            caller.github.create_comment(REPO, 1, "x")
    assert caller.world.violations == []


def test_the_hours_calls_are_counted_and_told(forged: Forged) -> None:
    forged.world.meter = Meter(calls=2)
    told = [forged.call("GET", SAMPLE) for _ in range(3)]
    assert [one.headers["X-RateLimit-Remaining"] for one in told] == ["1", "0", "0"]
    assert told[2].status_code == 403 and told[2].json()["message"].startswith("API rate limit exceeded")
    assert forged.call("GET", "/rate_limit", "noor").json()["rate"]["remaining"] == 1


def test_the_minutes_writes_are_limited_and_reading_goes_on(forged: Forged) -> None:
    forged.call("POST", f"{SAMPLE}/pulls", title="t", head="change", base="main")
    forged.world.meter = Meter(writes=1)
    first, second = (forged.call("POST", f"{SAMPLE}/issues/1/comments", body="x") for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 403)
    assert 0 < int(second.headers["Retry-After"]) <= 61 and "secondary" in second.json()["message"]
    assert forged.call("GET", SAMPLE).status_code == 200
    assert forged.world.violations == []

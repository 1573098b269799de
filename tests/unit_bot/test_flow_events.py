"""What happens around a pull request: buttons, drafts, repositories that move; in whatever order it is told."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import pytest
from control_house import REPO, House, house
from paper_github import PaperGitHub
from paper_scene import Scene
from test_flow_commands import asked, head, opened

from bot.core.records import PullState, RunStatus
from bot.flow.loop import tick

__all__ = ["house"]


@pytest.fixture
def gated(house: House) -> House:
    """Pull request 1 by noor, its gate run queued."""
    house.open_pull()
    house.turn()
    assert [run.state for run in house.store.runs.recent()] == [RunStatus.OPEN]
    return house


def press(house: House, who: str, button: str = "") -> None:
    check = house.forged.world.checks_on(REPO, head(house))[0]
    house.forged.forge.service.actions.press(check, who, button)
    house.turn()


def cancelled(house: House) -> list[str]:
    return [run.cancelled for run in house.store.runs.recent()]


def test_the_cancel_button_is_its_senders_cancel(gated: House) -> None:
    press(gated, "tess", "cancel")
    assert cancelled(gated) == [""] and "tess" in gated.answers()[0]
    press(gated, "mira", "cancel")
    assert cancelled(gated) == ["/cancel by mira"] and gated.checks()[0]["conclusion"] == "cancelled"


@pytest.mark.parametrize("button", ["", "rerun"], ids=["GitHub's own", "ours"])
def test_a_rerun_is_its_senders_retest(gated: House, button: str) -> None:
    press(gated, "sam", button)
    assert "sam" in gated.answers()[0] and "/retest" in gated.answers()[0]
    press(gated, "mira", "cancel")
    press(gated, "mira", button)
    assert [run.state for run in gated.store.runs.recent()] == [RunStatus.OPEN, RunStatus.ENDED]
    assert len(gated.checks()) == 1


def test_a_running_check_can_be_cancelled_and_an_ended_one_rerun(gated: House) -> None:
    assert [one["identifier"] for one in gated.checks()[0]["actions"]] == ["cancel"]
    gated.work()
    gated.turn()
    assert [one["identifier"] for one in gated.checks()[0]["actions"]] == ["rerun"]


def test_a_button_that_is_not_ours_is_noted(gated: House) -> None:
    press(gated, "mira", "fix")
    assert len(gated.store.runs.recent()) == 1 and gated.answers() == []


def test_edited_and_deleted_comments_are_noted_and_never_run(house: House) -> None:
    opened(house)
    comment = house.comment("fine by me")
    path = f"/repos/{REPO}/issues/comments/{comment}"
    house.forged.call("PATCH", path, "mira", body="/run-test models=all")
    house.forged.call("DELETE", path, "mira")
    house.turn()
    assert house.store.runs.recent() == [] and house.bot_comments() == []
    assert [note for note in house.store.deliveries.notes() if note.startswith("comment ")] == [
        "comment edited: only a new comment is read",
        "comment deleted: only a new comment is read",
    ]


def test_a_draft_is_not_run_of_itself_but_when_asked(gated: House) -> None:
    actions, pull = gated.forged.forge.service.actions, gated.forged.world.pulls[REPO, 1]
    actions.draft(pull, "noor", True)
    gated.turn()
    assert cancelled(gated) == ["the pull request is a draft now"]
    assert gated.checks()[0]["status"] == "completed"
    asked(gated, "/run-test models=all")
    actions.edit_pull(pull, "noor", pull.title, "more words", pull.base_ref)
    gated.turn()
    assert cancelled(gated) == ["", "the pull request is a draft now"]
    actions.draft(pull, "noor", False)
    gated.turn()
    assert len(gated.store.runs.recent()) == 2


def test_a_repository_made_private_takes_its_pages_with_it(gated: House) -> None:
    run = gated.work()
    gated.turn()
    assert gated.client.get(f"/runs/{run}").status_code == 200
    gated.forged.forge.service.actions.hide(gated.forged.world.repositories[REPO], "mira")
    gated.turn()
    assert gated.client.get(f"/runs/{run}").status_code == 404 and REPO not in gated.client.get("/").text


def test_runs_under_a_former_name_are_called_off(gated: House) -> None:
    gated.forged.forge.service.actions.rename(gated.forged.world.repositories[REPO], "mira", "renamed")
    gated.turn()
    assert cancelled(gated) == ["the repository is now kernelgate/renamed"]


def test_a_suspended_app_stops_and_takes_up_its_posts_again(gated: House) -> None:
    actions = gated.forged.forge.service.actions
    actions.suspend("mira", True)
    gated.forged.forge.service.keys.installed.clear()
    gated.turn()
    assert cancelled(gated) == ["kernelgate has no access to the repository any more"]
    assert gated.checks()[0]["status"] == "queued"
    actions.suspend("mira", False)
    gated.clock.now += 601
    gated.turn()
    assert gated.checks()[0]["conclusion"] == "cancelled" and len(gated.cards()) == 1


@dataclass
class ManyPulls(PaperGitHub):
    """Each pull request has a head of its own: its number in digits."""

    base_ref: str = "main"
    open: bool = True

    def pull(self, repository: str, number: int) -> PullState:
        return replace(super().pull(repository, number), number=number, head=f"{number:040d}", base_ref=self.base_ref, open=self.open)


def four_events(number: int, end: str) -> list[tuple[str, dict[str, object]]]:
    """Opened at another head, pushed to, commented on, and at last retargeted or closed."""
    pull = {"number": number, "head": {"sha": f"{number:040d}"}}
    changes = {"changes": {"base": {"ref": {"from": "old"}}}} if end == "edited" else {}
    comment = {"id": number, "body": "/run-test models=all"}
    return [
        ("pull_request", {"action": "opened", "pull_request": {**pull, "head": {"sha": "e" * 40}}}),
        ("pull_request", {"action": "synchronize", "pull_request": pull}),
        ("issue_comment", {"action": "created", "issue": {"number": number, "pull_request": {"url": "x"}}, "comment": comment}),
        ("pull_request", {"action": end, "pull_request": pull, **changes}),
    ]


@pytest.mark.parametrize("end", ["edited", "closed"])
def test_four_events_in_any_order_end_in_the_same_state(tmp_path: Path, end: str) -> None:
    github = ManyPulls(base_ref="next", open=end != "closed")
    scene, orders = Scene(tmp_path, github), list(permutations(range(4)))
    for number, order in enumerate(orders, start=1):
        events = four_events(number, end)
        for place in order:
            name, payload = events[place]
            who = {"sender": {"login": "mira", "type": "User"}, "repository": {"full_name": REPO}}
            headers = {"X-GitHub-Delivery": f"d-{number}-{place}", "X-GitHub-Event": name}
            assert scene.store.deliveries.add(headers["X-GitHub-Delivery"], headers, json.dumps(payload | who).encode())
    while scene.store.deliveries.due() or scene.store.asks.due() or scene.store.outbox.due(0.0):
        assert tick(scene.world) == 0
    seen = {number: [] for number in range(1, 25)}
    for run in scene.store.runs.recent(100):
        seen[run.new.number].append((run.state, run.cancelled, run.new.base_ref, run.new.head == f"{run.new.number:040d}"))
    assert len({json.dumps(one) for one in seen.values()}) == 1
    assert len(seen[1]) == (end == "edited")
    assert len(github.reactions) == len(orders) and len(github.starting("card")) == len(orders) * (end == "edited")
    scene.store.db.engine.dispose()

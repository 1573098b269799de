"""What people complain of in bots they talk to, where no other test is named after the symptom."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from control_house import REPO, SECRET, House, house
from github.PullRequest import PullRequest
from github.Requester import Requester
from paper_github import HEAD, PaperGitHub
from paper_scene import Scene
from test_flow_commands import asked, head, opened, push
from test_webhook import headers

from bot.adapters.github import _pull_state
from bot.core.records import PullState
from bot.flow.ports import Declined
from bot.forge import git

__all__ = ["house"]

RUN = "/run-test models=all"
MIRA = {"login": "mira", "type": "User"}


def told(house: House, event: str, sender: dict[str, str], **payload: object) -> str:
    """The note that is left of a delivery which asks for nothing."""
    body = json.dumps({**payload, "sender": sender, "repository": {"full_name": REPO}}).encode()
    assert house.client.post("/webhook", data=body, headers=headers(body, "told", event, SECRET)).status_code == 202
    house.turn()
    assert house.store.runs.recent() == [] and house.bot_comments() == []
    return house.store.deliveries.notes()[-1]


def test_a_comment_that_is_all_quote_gets_no_answer(house: House) -> None:
    opened(house)
    assert asked(house, f"> {RUN}") == "" and asked(house, f"> Thanks!\n{RUN}") == ""
    assert "quote" in asked(house, "/help")


@pytest.mark.parametrize("event", ["pull_request_review", "pull_request_review_comment"])
def test_a_command_in_a_review_or_at_a_line_is_not_run(house: House, event: str) -> None:
    opened(house)
    words = {"id": 99, "body": RUN}
    said = {"action": "submitted", "review": words} if event == "pull_request_review" else {"action": "created", "comment": words}
    assert told(house, event, MIRA, pull_request={"number": 1}, **said) == "not of interest"
    assert "review" in asked(house, "/help")


def test_two_bots_do_not_answer_each_other(house: House) -> None:
    opened(house)
    other = {"login": "other[bot]", "type": "Bot"}
    comment = {"id": 99, "body": "/run-tets"}
    issue = {"number": 1, "pull_request": {"url": "x"}}
    assert told(house, "issue_comment", other, action="created", issue=issue, comment=comment) == "a bot's comment"


def test_a_comment_deleted_before_it_was_read_does_no_harm(house: House) -> None:
    opened(house)
    comment = house.comment(RUN)
    house.forged.call("DELETE", f"/repos/{REPO}/issues/comments/{comment}", "mira")
    house.turn()
    house.work()
    house.turn()
    assert len(house.answers()) == 1 and [check["conclusion"] for check in house.checks()] == ["success"]
    assert house.store.outbox.due(0.0) == [] and house.store.asks.due() == []


def test_a_card_that_somebody_deleted_is_made_anew(house: House) -> None:
    opened(house)
    asked(house, RUN)
    (card,) = (one for one in house.forged.world.comments_of(REPO, 1) if "kernelgate:card" in one.body)
    house.forged.call("DELETE", f"/repos/{REPO}/issues/comments/{card.id}", "mira")
    house.work()
    house.turn()
    assert len(house.cards()) == 1 and "**pass**" in house.cards()[0]


@dataclass
class Locked(PaperGitHub):
    """Takes no comment and no reaction."""

    def create_comment(self, repository: str, number: int, body: str) -> str:
        raise Declined("403 Unable to create comment because issue is locked.")

    def react(self, repository: str, number: int, comment: int, content: str) -> str:
        raise Declined("403 This issue is locked.")


def test_on_a_locked_pull_request_the_check_says_how_it_ended(tmp_path: Path) -> None:
    scene = Scene(tmp_path, Locked())
    scene.push()
    scene.comment(RUN)
    for _ in range(3):
        scene.play()
    assert [check.conclusion for check in scene.github.checks.values()] == ["success"]
    assert scene.store.outbox.due(0.0) == []


@dataclass
class ForkGone(PaperGitHub):
    """The pull request as GitHub tells of it once its fork was deleted: the head has no repository."""

    def pull(self, repository: str, number: int) -> PullState:
        base = {"ref": "main", "repo": {"clone_url": "http://127.0.0.1/x.git", "private": False}}
        said = {
            "number": number,
            "title": "t",
            "state": "open",
            "user": {"login": "sam"},
            "head": {"sha": HEAD, "repo": None},
            "base": base,
        }
        requester = Requester(None, "http://127.0.0.1:9", 1, "t", 1, False, None, None)
        return _pull_state(repository, PullRequest(requester, {}, said, completed=True))


def test_a_deleted_fork_is_still_a_strangers(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ForkGone())
    scene.push()
    scene.comment(RUN)
    scene.play()
    assert [check.conclusion for check in scene.github.checks.values()] == ["action_required"]
    scene.comment(f"/ok-to-test {HEAD}", 2)
    scene.play()
    assert [check.conclusion for check in scene.github.checks.values()] == ["success"]


def test_what_others_merged_since_is_not_charged_to_the_pull_request(house: House) -> None:
    opened(house)
    fork_point = head(house) + "^"
    push(house, "main", {"kernels/scale/scale.cu": "// faster by others\n"})
    house.forget_deliveries()
    house.comment(RUN)
    house.turn()
    (run,) = house.store.runs.recent()
    assert run.new.base == git.resolve(house.forged.world.repositories[REPO].path, fork_point)


def test_the_backlog_is_told_to_whoever_asks(house: House) -> None:
    opened(house)
    house.comment(f"{RUN}\n/run-test kernels=gemm")
    house.turn()
    answer = asked(house, "/status", "sam")
    assert "waiting, place 1 in its queue" in answer and "waiting, place 2 in its queue" in answer


def test_progress_without_end_edits_a_card_once_a_minute(house: House) -> None:
    house.world = replace(house.world, card_seconds=60.0)
    house.open_pull()
    house.turn()
    attempt = house.claim().get_json()["attempt"]
    for number in range(60):
        house.node("POST", f"/attempts/{attempt}/beat", {"phase": ("build", "accuracy")[number % 2]})
        house.turn()  # three seconds
    actions = [one.action for one in house.forged.world.deliveries.values() if one.event == "issue_comment"]
    assert 2 <= actions.count("edited") <= 3

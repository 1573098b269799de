"""What becomes of each command, asked of a real forge at the moment it is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from control_house import REPO, SECRET, House, house
from forged_github import run_git
from test_webhook import headers

from bot.core.records import RunStatus
from bot.core.report import load
from bot.flow.ports import Ancestry, Gone

__all__ = ["house"]


def head(house: House, number: int = 1) -> str:
    return house.forged.world.pulls[REPO, number].head_sha


def push(house: House, branch: str, files: dict[str, str], repository: str = REPO, who: str = "noor") -> None:
    """A commit on top of a branch, pushed over HTTP as a person would."""
    bare = house.forged.world.repositories[repository].path
    work = bare.parent / f"push-{len(list(bare.parent.iterdir()))}"
    run_git(bare.parent, "clone", "-q", "-b", branch, str(bare), str(work))
    for name, text in files.items():
        place = Path(work) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    run_git(work, "add", ".")
    run_git(work, "commit", "-q", "-m", "more")
    before = _refs(house, repository)
    run_git(work, "push", "-q", "origin", branch)
    actions = house.forged.forge.service.actions
    actions.pushed(house.forged.world.repositories[repository], before, who)


def _refs(house: House, repository: str) -> dict[str, str]:
    from bot.forge import git

    return dict(git.refs(house.forged.world.repositories[repository].path))


def asked(house: House, text: str, who: str = "mira", number: int = 1) -> str:
    """The answer to a command that needs no node."""
    house.comment(text, who, number)
    house.turn()
    return house.answers(number)[-1] if house.answers(number) else ""


def opened(house: House, who: str = "noor", branch: str = "change") -> House:
    """A pull request from before the bot was there."""
    house.open_pull(who, branch)
    house.forget_deliveries()
    return house


def test_help_and_status_are_everybodys(house: House) -> None:
    opened(house)
    assert "/ok-to-test SHA" in asked(house, "/help", "sam")
    assert "No run yet" in asked(house, "/status", "sam")


def test_reading_is_not_enough_to_run(house: House) -> None:
    opened(house)
    answer = asked(house, "/run-test models=all", "tess")
    assert "tess" in answer and "Nothing ran" in answer
    assert house.store.runs.recent() == [] and house.checks() == []


def test_a_second_refusal_within_the_hour_is_a_reaction_only(house: House) -> None:
    opened(house)
    asked(house, "/run-test models=all", "tess")
    again = house.comment("/run-test models=all", "tess")
    house.turn()
    assert len(house.answers()) == 1 and house.reactions(again) == ["confused"]


def test_refusals_by_reaction_do_not_prolong_the_quiet_hour(house: House) -> None:
    opened(house)
    for _ in range(3):
        asked(house, "/run-test models=all", "tess")
        house.clock.now += 1700
    assert len(house.answers()) == 1
    house.clock.now += 300
    asked(house, "/run-test models=all", "tess")
    assert len(house.answers()) == 2


def test_a_malformed_command_is_told_where_and_what(house: House) -> None:
    opened(house)
    comment = house.comment("/run-test modles=all")
    house.turn()
    assert house.reactions(comment) == ["confused"]
    assert "models" in house.answers()[0] and "line 1, column 11" in house.answers()[0]


def test_an_unknown_model_is_named(house: House) -> None:
    assert "llama-1b" in asked(opened(house), "/run-test models=lama-1b")


def test_an_unknown_pool_is_a_plan_error(house: House) -> None:
    assert "hots" in asked(opened(house), "/run-test nodes=hots")


def test_two_commands_in_one_comment_are_both_done(house: House) -> None:
    opened(house)
    house.comment("/help\n/status")
    house.turn()
    assert len(house.answers()) == 2


def test_our_own_answers_are_never_commands(house: House) -> None:
    opened(house)
    asked(house, "/help")
    house.turn(4)
    assert len(house.answers()) == 1


def test_a_comment_delivered_by_two_hooks_is_one_run(house: House) -> None:
    opened(house)
    house.comment("/run-test models=all")
    house.forged.settle()
    delivery = list(house.forged.world.deliveries.values())[-1]
    for guid in ("one", "two"):
        assert house.client.post("/webhook", data=delivery.body, headers={**delivery.headers, "X-GitHub-Delivery": guid}).status_code == 202
    house.turn()
    assert len(house.store.runs.recent()) == 1


def test_a_second_gate_run_of_the_same_head_joins_the_first(house: House) -> None:
    opened(house)
    house.comment("/run-test models=all")
    house.comment("/run-test models=all", "noor")
    house.turn()
    assert len(house.store.runs.recent()) == 1
    house.work()
    house.turn()
    assert len(house.answers()) == 2
    asked(house, "/run-test models=all")
    assert len(house.answers()) == 3 and len(house.store.runs.recent()) == 1
    assert len(house.checks()) == 1


def test_a_run_that_is_not_the_gate_touches_no_check(house: House) -> None:
    opened(house)
    house.comment("/run-test models=llama-1b mode=accuracy")
    house.turn()
    house.work()
    house.turn()
    assert house.checks() == [] and len(house.answers()) == 1


def test_base_must_be_of_this_repositorys_history(house: House) -> None:
    opened(house)
    assert "history" in asked(house, f"/run-test base={'a' * 40}")
    assert "history" in asked(house, f"/run-test base={head(house)}")
    house.comment("/run-test base=head mode=performance")
    house.turn()
    run = house.store.runs.recent()[0]
    assert run.new.base == run.new.head == head(house)


def test_cancel_ends_the_run_and_the_check(house: House) -> None:
    opened(house)
    house.comment("/run-test models=all")
    house.turn()
    job = house.claim().get_json()
    house.comment("/cancel", "noor")
    house.turn()
    assert house.node("POST", f"/attempts/{job['attempt']}/beat", {"phase": "build"}).get_json() == {"cancel": True}
    run = house.store.runs.recent()[0]
    assert run.state is RunStatus.ENDED and load(run.report or b"").verdict == "cancelled"
    assert [check["conclusion"] for check in house.checks()] == ["cancelled"]
    assert len(house.answers()) == 2
    assert house.node("POST", f"/attempts/{job['attempt']}/done", {"outcome": {"ending": "cancelled"}}).status_code == 204
    house.comment("/run-test models=all")
    house.turn()
    assert [check["status"] for check in house.checks()] == ["queued"]


def test_a_stranger_cancels_nothing_but_their_own(house: House) -> None:
    opened(house)
    house.comment("/run-test models=all")
    house.turn()
    assert "the author" in asked(house, "/cancel", "sam")
    assert house.store.runs.active(REPO, 1) != []


def test_a_push_cancels_what_it_made_stale_and_starts_anew(house: House) -> None:
    house.open_pull()
    house.turn()
    assert [run.new.head for run in house.store.runs.active(REPO, 1)] == [head(house)]
    old = head(house)
    push(house, "change", {"more.md": "more\n"})
    house.turn()
    active = house.store.runs.active(REPO, 1)
    assert [run.new.head for run in active] == [head(house)] and head(house) != old
    ended = [check.fields["conclusion"] for check in house.forged.world.checks_on(REPO, old)]
    assert ended == ["cancelled"] and [check["status"] for check in house.checks()] == ["queued"]
    assert house.answers() == [] and len(house.cards()) == 1


def test_closing_cancels(house: House) -> None:
    house.open_pull()
    house.turn()
    house.forged.call("PATCH", f"/repos/{REPO}/pulls/1", "noor", state="closed")
    house.turn()
    assert house.store.runs.active(REPO, 1) == []
    assert [check["conclusion"] for check in house.checks()] == ["cancelled"]
    assert "open pull requests" in asked(house, "/run-test models=all")


def test_a_stranger_waits_for_a_maintainer(house: House) -> None:
    house.open_pull("sam", "sam:other")
    house.turn()
    assert [check["conclusion"] for check in house.checks()] == ["action_required"]
    assert house.store.runs.recent() == [] and f"/ok-to-test {head(house)}" in house.cards()[0]
    assert f"/ok-to-test {head(house)}" in asked(house, "/run-test models=all", "mira")
    assert house.store.runs.recent() == []
    assert "not the head" in asked(house, f"/ok-to-test {'b' * 40}")
    asked(house, f"/ok-to-test {head(house)}", "sam")
    assert house.store.runs.recent() == []
    house.comment(f"/ok-to-test {head(house)}")
    house.turn()
    run = house.store.runs.recent()[0]
    assert run.new.trusted is False and run.new.gate
    house.work()
    house.turn()
    assert [check["conclusion"] for check in house.checks()] == ["success"]


def test_a_push_after_approval_needs_a_new_one(house: House) -> None:
    house.open_pull("sam", "sam:other")
    house.comment(f"/ok-to-test {head(house)}")
    house.turn()
    push(house, "other", {"more.md": "more\n"}, "sam/sample", "sam")
    house.turn()
    assert house.store.runs.active(REPO, 1) == []
    assert [check["conclusion"] for check in house.checks()] == ["action_required"]


def test_without_a_configuration_there_is_an_answer_and_no_check(house: House) -> None:
    push(house, "main", {".kernelgate.toml": ""})
    work = house.forged.world.repositories[REPO].path
    _drop_config(work)
    house.open_pull()
    house.turn()
    assert house.store.runs.recent() == [] and house.checks() == []
    house.comment("/run-test models=all")
    house.turn()
    house.work()
    house.turn()
    assert len(house.answers()) == 1 and house.checks() == []


def _drop_config(bare: Path) -> None:
    work = bare.parent / "drop"
    run_git(bare.parent, "clone", "-q", "-b", "main", str(bare), str(work))
    run_git(work, "rm", "-q", ".kernelgate.toml")
    run_git(work, "commit", "-q", "-m", "no gate")
    run_git(work, "push", "-q", "origin", "main")


def test_a_broken_configuration_is_shown_with_its_line(house: House) -> None:
    push(house, "main", {".kernelgate.toml": "version = 1\n[gate]\nharmm = 0.03\n"})
    house.open_pull()
    house.turn()
    assert [check["conclusion"] for check in house.checks()] == ["action_required"]
    answer = asked(house, "/run-test models=all")
    assert "line 3" in answer and "harm" in answer


def test_heads_own_configuration_decides_nothing_however_broken(house: House) -> None:
    push(house, "change", {".kernelgate.toml": "version = 1\n[gate\nharm = 9\n"})
    house.open_pull()
    house.turn()
    (run,) = house.store.runs.recent()
    assert run.new.gate and run.new.harm < 9 and [check["status"] for check in house.checks()] == ["queued"]


def test_the_head_that_vanished_is_said(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(house)

    def gone(repository: str, base_ref: str, sha: str) -> Ancestry:
        raise Gone("404 No common ancestor")

    monkeypatch.setattr(house.world.github, "ancestry", gone)
    assert f"`{head(house)}` of this pull request can't be found" in asked(house, "/run-test models=all")
    assert house.store.runs.recent() == []
    assert [check["conclusion"] for check in house.checks()] == ["action_required"]


def test_a_repository_not_on_the_allow_list_is_passed_over(house: House) -> None:
    opened(house)
    stranger = house.settings.model_copy(update={"repositories": frozenset()})
    world = house.world.__class__(**{**house.world.__dict__, "serves": stranger.serves})
    house.world = world
    comment = house.comment("/run-test models=all")
    house.turn()
    assert house.store.runs.recent() == [] and house.reactions(comment) == []


def test_a_required_pool_without_a_node_waits_and_says_so(house: House) -> None:
    push(house, "main", {".kernelgate.toml": 'version = 1\n[gate]\nrequired = ["mi50"]\n'})
    house.open_pull()
    house.turn()
    assert "no node connected" in house.cards()[0]
    house.clock.now += 24 * 3600
    house.turn()
    run = house.store.runs.recent()[0]
    assert run.state is RunStatus.ENDED and "24 hours" in load(run.report or b"").reason
    assert [check["conclusion"] for check in house.checks()] == ["action_required"]


ODD = "\\u0000\\ud800\\udfff"  # in JSON: a NUL and two halves of characters
READ = {'"/help"': f'"/help {ODD}\\n/help"', '"sam"': f'"sa{ODD}m"'}
PASSED_OVER = [
    ('"kernelgate/sample"', f'"kernelgate/{ODD}"'), ('"number": 1', f'"number": {2**64}'), ('"number": 1', f'"number": {"9" * 4000}'),
    ('"number": 1', '"number": -1'), ('"id": 99', f'"id": {2**63}'), ('"id": 99', '"id": 1e300'),
]  # fmt: skip


def test_strings_and_numbers_that_no_table_holds_are_read_all_the_same(house: House) -> None:
    opened(house)
    comment = json.dumps({
        "action": "created", "issue": {"number": 1, "pull_request": {"url": "x"}}, "comment": {"id": 99, "body": "/help"},
        "sender": {"login": "sam", "type": "User"}, "repository": {"full_name": REPO},
    })  # fmt: skip
    for n, (old, new) in enumerate([*READ.items(), *PASSED_OVER]):
        body = comment.replace(old, new).replace('"id": 99', f'"id": {n + 1}').encode()
        assert house.client.post("/webhook", data=body, headers=headers(body, f"odd {n}", secret=SECRET)).status_code == 202
    house.turn()
    house.clock.now += 3600  # what failed would be due again
    assert house.store.deliveries.due() == [] and house.store.asks.due() == []
    assert len(house.answers()) == 3  # the first comment has one command for each line

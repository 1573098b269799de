"""/retest: further rounds inside the gate run, from the comment to the check."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from control_house import CASE, House, good, house
from facts_for_verdicts import both, session
from test_flow_commands import asked, opened

from bot.core.report import CaseReport, Run, load
from runners.protocol import Failure, FailureKind, Measurement

__all__ = ["house"]

PLAIN = replace(good(), identical=False)
SLOWER = replace(PLAIN, sessions=both(0.5))
VAGUE = replace(PLAIN, sessions=(session(0.5), session(1.9)))
LOST = replace(PLAIN, accuracy=replace(PLAIN.accuracy, head=None), failures=(Failure(FailureKind.INFRASTRUCTURE, "the card fell off"),))
OTHER = replace(good(), case=replace(CASE, id="gemm/llama-1b/attn_q/m16/f32", role="attn_q"))


def gated(house: House, *found: Measurement) -> House:
    """A gate run that ended with these."""
    opened(house)
    house.comment("/run-test models=all")
    house.turn()
    house.work(found)
    house.turn()
    return house


def conclusion(house: House) -> str:
    (check,) = house.checks()
    return str(check.get("conclusion") or check["status"])


def report(house: House) -> Run:
    (run,) = house.store.runs.recent()
    return load(run.report or b"")


def only(run: Run) -> CaseReport:
    return next(case for case in run.cases if case.id == CASE.id)


def test_sessions_are_added_to_the_undecided_case_alone(house: House) -> None:
    gated(house, VAGUE, OTHER)
    assert conclusion(house) == "action_required"
    comment = house.comment("/retest", "noor")
    house.turn()
    assert house.reactions(comment) == ["eyes"] and conclusion(house) == "in_progress"
    run = house.work([replace(PLAIN, sessions=tuple(session(1.0) for _ in range(4)))])
    house.turn()
    assert (only(report(house)).sessions, len(report(house).cases)) == (6, 2)
    assert [view.id for view in house.store.runs.recent()] == [run] and len(house.answers()) == 2


def test_the_node_hears_which_cases_are_left(house: House) -> None:
    gated(house, VAGUE, OTHER)
    house.comment("/retest")
    house.turn()
    assert house.claim().get_json()["only"] == [CASE.id]


@pytest.mark.parametrize("text", ["/retest", "/run-test models=all"])
def test_nobody_rolls_until_green(house: House, text: str) -> None:
    gated(house, SLOWER)
    assert conclusion(house) == "failure"
    for n in range(1, 6):
        house.clock.now += 3600
        house.comment(text)
        house.turn()
        house.work([replace(PLAIN, sessions=(session(1.0), session(1.0)))])
        house.turn()
        assert conclusion(house) != "success" and only(report(house)).sessions == 4 + 2 * n
    assert len(house.store.runs.recent()) == 1


def test_what_the_machines_failed_is_repeated_and_made_good(house: House) -> None:
    gated(house, LOST, OTHER)
    assert conclusion(house) == "action_required"
    house.comment("/retest")
    house.turn()
    house.work([good()])
    house.turn()
    assert conclusion(house) == "success" and len(report(house).cases) == 2


def test_a_node_that_never_came_is_waited_for_again(house: House) -> None:
    opened(house)
    house.comment("/run-test models=all")
    house.turn()
    house.clock.now += 24 * 3600
    house.turn()
    assert report(house).verdict == "incomplete"
    house.comment("/run-test models=all")
    house.turn()
    house.work()
    house.turn()
    assert conclusion(house) == "success" and len(house.store.runs.recent()) == 1


def test_a_cancelled_round_leaves_the_verdict_of_before(house: House) -> None:
    gated(house, SLOWER)
    house.comment("/retest")
    house.turn()
    job = house.claim().get_json()
    house.comment("/cancel", "noor")
    house.turn()
    assert house.node("POST", f"/attempts/{job['attempt']}/beat", {"phase": "build"}).get_json() == {"cancel": True}
    assert conclusion(house) == "failure" and report(house).verdict == "regressed"
    assert house.node("POST", f"/attempts/{job['attempt']}/done", {"outcome": {"ending": "cancelled"}}).status_code == 204
    assert house.store.runs.active("kernelgate/sample", 1) == []


def test_a_round_that_fails_leaves_the_verdict_of_before(house: House) -> None:
    gated(house, VAGUE)
    house.comment("/retest")
    house.turn()
    for _ in range(2):
        attempt = house.claim().get_json()["attempt"]
        failed = {"ending": "failed", "failure": {"kind": "infrastructure", "message": "no git"}}
        assert house.node("POST", f"/attempts/{attempt}/done", {"outcome": failed}).status_code == 204
        house.turn()
    assert (report(house).verdict, only(report(house)).sessions) == ("inconclusive", 2)


def test_where_all_is_decided_the_reply_says_so(house: House) -> None:
    gated(house, good())
    assert "ended **pass**" in asked(house, "/retest") and conclusion(house) == "success"


def test_without_a_gate_run_there_is_nothing_to_retest(house: House) -> None:
    assert "no ended gate run" in asked(opened(house), "/retest")
    assert house.checks() == [] and house.store.runs.recent() == []


def test_while_the_gate_run_is_under_way_a_retest_waits_for_its_end(house: House) -> None:
    opened(house)
    house.comment("/run-test models=all")
    house.comment("/retest", "noor")
    house.turn()
    house.work()
    house.turn()
    assert len(house.answers()) == 2 and len(house.store.runs.recent()) == 1


def test_who_may_only_read_adds_nothing(house: House) -> None:
    gated(house, SLOWER)
    assert "Nothing ran" in asked(house, "/retest", "tess")
    assert conclusion(house) == "failure"


def test_rounds_are_told_in_the_runs_json(house: House) -> None:
    gated(house, VAGUE)
    house.comment("/retest")
    house.turn()
    house.work([replace(PLAIN, sessions=(session(1.0), session(1.0)))])
    house.turn()
    (run,) = house.store.runs.recent()
    assert json.loads(run.report or b"")["cases"][0]["sessions"] == 4 and [job.round for job in run.jobs] == [1]

"""/waive: who may, how long, and what becomes of check, answer and the Run's JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from control_house import CASE, REPO, House, house
from forged_github import run_git
from test_flow_commands import asked, head, opened, push
from test_flow_retest import PLAIN, SLOWER, conclusion, gated, report

from runners.protocol import BuildRecord, Builds

__all__ = ["house"]

WAIVE = f"/waive {CASE.id} reason=known, see the notes"
DAY = 86_400
NEW_CODE = replace(SLOWER, build=Builds(BuildRecord(True, "a" * 64), BuildRecord(True, "b" * 64)))


def test_a_waiver_turns_the_check_and_is_told_everywhere(house: House) -> None:
    gated(house, SLOWER)
    assert conclusion(house) == "failure"
    reply = asked(house, WAIVE)
    assert "until 2027-02-14" in reply and "known, see the notes" in reply
    assert conclusion(house) == "success" and "`mira`: `known, see the notes`" in house.checks()[0]["output"]["summary"]
    assert "is accepted until 2027-02-14" in house.answers()[0] and len(house.answers()) == 2
    (run,) = house.store.runs.recent()
    found = json.loads(run.report or b"")
    assert found["waived"] == [f"{CASE.id}@host"] and found["waivers"][0]["by"] == "mira"
    assert found["seconds"] < 60


def test_it_lapses_after_its_days(house: House) -> None:
    push(house, "main", {".kernelgate.toml": 'version = 1\n[gate]\nrequired = ["host"]\nwaiver_days = 7\n'})
    gated(house, SLOWER)
    asked(house, WAIVE)
    house.clock.now += 7 * DAY - 60
    house.turn()
    assert conclusion(house) == "success"
    house.clock.now += 120
    house.turn()
    assert conclusion(house) == "failure" and report(house).waivers == ()


def test_a_push_that_changes_the_code_lifts_it_and_one_that_does_not_keeps_it(house: House) -> None:
    gated(house, SLOWER)
    asked(house, WAIVE)
    for n, (found, expected) in enumerate([(SLOWER, "success"), (NEW_CODE, "failure"), (SLOWER, "success")]):
        push(house, "change", {"more.md": f"{n}\n"})
        house.turn()
        house.work([found])
        house.turn()
        assert conclusion(house) == expected


def test_the_author_does_not_accept_their_own_finding(house: House) -> None:
    gated(house, SLOWER)
    assert "someone other than the author" in asked(house, WAIVE, "noor")
    assert conclusion(house) == "failure"


def test_nor_does_the_author_of_another_pull_request_on_the_same_head(house: House) -> None:
    gated(house, SLOWER)
    run_git(house.forged.world.repositories[REPO].path, "branch", "twin", "change")
    house.open_pull("tess", "twin")
    house.comment("/run-test models=all", "mira", 2)
    house.turn()
    house.work([SLOWER])
    house.turn()
    assert "someone other than the author" in asked(house, WAIVE, "noor", 2)
    assert conclusion(house) == "failure"
    asked(house, WAIVE, "mira", 2)
    assert conclusion(house) == "success"


def test_where_one_person_alone_may_write_their_own_word_counts_and_is_labelled(house: House) -> None:
    gated(house, SLOWER)
    house.forged.world.repositories[REPO].roles.update(mira="triage", noor="write")
    assert "nobody else may write here" in asked(house, WAIVE, "noor")
    assert conclusion(house) == "success" and report(house).waivers[0].own
    assert house.forged.world.violations == []


def test_an_unknown_case_is_answered_with_the_nearest(house: House) -> None:
    gated(house, SLOWER)
    answer = asked(house, f"/waive {CASE.id.replace('down', 'dwon')} reason=x")
    assert f"did you mean `{CASE.id}`?" in answer and conclusion(house) == "failure"


def test_before_a_gate_run_has_ended_there_is_nothing_to_accept(house: House) -> None:
    opened(house)
    assert "no gate run of this head has ended" in asked(house, WAIVE)
    house.comment("/run-test models=all")
    house.turn()
    assert "no gate run of this head has ended" in asked(house, WAIVE)


def test_a_cancel_after_a_waiver_takes_nothing_back(house: House) -> None:
    gated(house, SLOWER)
    house.comment(f"{WAIVE}\n\n/cancel")
    house.turn()
    assert conclusion(house) == "success"


def test_a_retest_keeps_the_waiver(house: House) -> None:
    gated(house, SLOWER)
    asked(house, WAIVE)
    house.comment("/retest")
    house.turn()
    house.work([replace(PLAIN, sessions=SLOWER.sessions[:2])])
    house.turn()
    assert report(house).cases[0].sessions == 6 and conclusion(house) == "success"
    assert head(house) == report(house).head

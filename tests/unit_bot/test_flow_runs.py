"""From a comment to its answer, over a real forge."""

from control_house import House, house

from bot.core.report import load

__all__ = ["house"]


def test_a_comment_becomes_a_judged_and_written_answer(house: House) -> None:
    house.open_pull()
    house.forget_deliveries()
    comment = house.comment("/run-test models=all")
    house.turn()
    assert house.reactions(comment) == ["eyes"]
    assert [check["status"] for check in house.checks()] == ["queued"]
    assert [hint.pool for hint in house.bell.rung] == ["host"]
    run = house.work()
    house.turn()
    view = house.store.runs.get(run)
    assert view is not None and view.report is not None
    report = load(view.report)
    assert report.verdict == "pass" and report.nodes[0].name == "node-1"
    assert [check["conclusion"] for check in house.checks()] == ["success"]
    assert len(house.answers()) == 1 and len(house.cards()) == 1
    assert house.forged.world.violations == []


def test_a_pull_request_older_than_the_bot_is_run_by_its_comment_only(house: House) -> None:
    house.open_pull()
    house.forget_deliveries()
    house.turn()
    assert house.bot_comments() == [] and house.checks() == []

"""Limits: a command beyond one waits in sight of everybody, starts when there is room, and is refused only in words."""

from __future__ import annotations

from dataclasses import replace

from control_house import House, house
from test_flow_commands import opened

from bot.core.quotas import DAY, HOUR, Limits

__all__ = ["house"]

OTHER = "/run-test kernels=gemm mode=accuracy"


def limited(house: House, **limits: int) -> House:
    """A house with limits, and one run under way that a person asked for."""
    opened(house)
    house.comment("/run-test models=all")
    house.turn()
    house.world = replace(house.world, limits=replace(Limits(), **limits))
    return house


def later(house: House, seconds: float) -> None:
    house.clock.now += seconds
    house.turn()


def test_a_run_more_than_a_pull_may_have_waits_until_one_has_ended(house: House) -> None:
    limited(house, pull=1)
    comment = house.comment(OTHER)
    house.turn()
    later(house, 70.0)  # a card is rewritten once a minute
    assert len(house.store.runs.recent(5)) == 1
    assert "waits: the limit is 1 runs at a time for one pull request" in house.cards()[0] and OTHER in house.cards()[0]
    assert house.reactions(comment) and house.answers() == []
    house.work()
    later(house, 20.0)
    later(house, 20.0)
    assert house.store.runs.recent(1)[0].new.command == OTHER
    later(house, 70.0)
    assert "waits:" not in house.cards()[0]
    assert house.forged.world.violations == []


def test_a_person_who_asked_often_waits_for_the_hour_to_pass(house: House) -> None:
    limited(house, person=1)
    house.comment(OTHER)
    later(house, 70.0)
    assert len(house.store.runs.recent(5)) == 1 and "1 runs an hour for one person" in house.cards()[0]
    later(house, HOUR)
    assert len(house.store.runs.recent(5)) == 2


def test_more_waiting_commands_than_a_person_may_give_are_refused_in_words(house: House) -> None:
    limited(house, person=1)
    for text in (OTHER, "/run-test kernels=gemm"):
        house.comment(text)
        house.turn()
    assert "did not start" in house.answers()[0] and "1 runs an hour for one person" in house.answers()[0]


def test_what_found_no_room_for_a_day_is_refused_in_words(house: House) -> None:
    limited(house, pull=1)
    house.comment(OTHER)
    house.turn()
    house.world = replace(house.world, limits=replace(Limits(), pull=0))
    later(house, DAY + 20.0)
    assert any("did not start" in answer for answer in house.answers())


def test_a_push_beyond_the_limits_has_a_check_until_its_run_starts(house: House) -> None:
    house.world = replace(house.world, limits=replace(Limits(), repository=0))
    house.open_pull()
    house.turn()
    assert house.store.runs.recent(5) == [] and house.checks()[0]["conclusion"] == "action_required"
    assert "The run of this head waits" in house.cards()[0]
    house.world = replace(house.world, limits=Limits())
    later(house, 20.0)
    assert house.checks()[0]["status"] == "queued"

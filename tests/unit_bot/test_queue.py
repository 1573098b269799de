"""Who is served first, and when one's turn is likely to end."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from control_house import REPO, House, house, outcome

from bot.adapters.store.starting import start_run
from bot.core.plan import PoolPlan
from bot.core.records import NewRun, Priority
from bot.core.waiting import seconds_left
from runners.protocol import Job, Selection, dump, load

__all__ = ["house"]
RUN = NewRun(
    REPO, 1, "", "", "", "main", "file:///nowhere", "/run-test", "mira", False, "", True, True, Selection(),
    (PoolPlan("host", required=True, floor=0.1),), 0.03, 60.0, "kernels", Priority.PERSON,
)  # fmt: skip


def asked(house: House, *runs: tuple[int, Priority]) -> dict[str, str]:
    """Runs as commands make them, one after the other; what each is called, by its id."""
    names = {}
    for at, (number, priority) in enumerate(runs):
        sha = f"{len(house.store.runs.recent(1000)):040x}"
        with house.store.db.write() as session:
            row = start_run(session, replace(RUN, number=number, priority=priority, base=sha, head=sha, judge=sha), house.clock.now)
            names[row.id] = f"{number}{priority.value}{at}"
        house.turn(1)
    return names


def claimed(house: House) -> Job:
    return load(Job, house.claim().data)


def test_merge_queue_people_pushes_history(house: House) -> None:
    names = asked(house, *((number, priority) for number, priority in enumerate(reversed(Priority), start=1)))
    assert [names[claimed(house).run][1] for _ in names] == ["a", "b", "c", "d"]


def test_each_pull_requests_first_comes_before_anybodys_second(house: House) -> None:
    names = asked(house, *((number, Priority.PERSON) for number in (1, 1, 1, 2, 2, 3)))
    places = {names[run.id]: run.jobs[0].place for run in house.store.runs.active_in(REPO)}
    order = [names[claimed(house).run] for _ in names]
    assert order == ["1b0", "2b3", "3b5", "1b1", "2b4", "1b2"] == sorted(places, key=lambda name: places[name])


def test_who_has_a_job_running_is_served_after_who_has_none(house: House) -> None:
    names = asked(house, (1, Priority.PERSON))
    claimed(house)
    names |= asked(house, (1, Priority.PERSON), (2, Priority.PERSON))
    assert [names[claimed(house).run][0] for _ in range(2)] == ["2", "1"]


def test_a_card_foretells_an_end_by_what_took_as_long_before(house: House) -> None:
    for _ in range(3):
        asked(house, (9, Priority.PERSON))
        attempt = claimed(house).attempt
        for _ in range(15):
            house.clock.now += 40
            house.node("POST", f"/attempts/{attempt}/beat", {"phase": "timing"})
        assert house.node("POST", f"/attempts/{attempt}/done", {"outcome": json.loads(dump(outcome()))}).status_code == 204
    house.open_pull()
    house.turn()
    assert "waiting, place 1 in its queue, done in about 10 min" in house.cards()[0]
    claimed(house)
    house.clock.now += 40
    house.turn(1)
    assert "done in about 9 min" in house.cards()[0]


@pytest.mark.parametrize(
    ("took", "place", "running", "nodes", "since", "left"),
    [
        ((60, 90), 1, (), 1, None, None),  # too few
        ((60, 90, 600), 1, (), 1, None, 90.0),
        ((60, 90, 600), 3, (30.0,), 1, None, 90 + 60 + 2 * 90.0),
        ((60, 90, 600), 3, (30.0, 100.0), 2, None, 90 + (60 + 2 * 90.0) / 2),
        ((60, 90, 600), 1, (30.0,), 2, None, 90.0),  # a node is idle
        ((60, 90, 600), 1, (), 0, None, None),
        ((60, 90, 600), 0, (), 1, 80.0, 10.0),
        ((60, 90, 600), 0, (), 1, 91.0, None),  # longer than any clue
    ],
)
def test_an_end_is_foretold_where_there_is_a_clue(
    took: tuple[float, ...], place: int, running: tuple[float, ...], nodes: int, since: float | None, left: float | None
) -> None:
    assert seconds_left(took, place, running, nodes, since) == left

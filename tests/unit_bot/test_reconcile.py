"""What the hook missed is found in GitHub's list and asked for again, with patience and an end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from control_house import REPO, House, house
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.serving import make_server

from bot.core.missed import FIRST_WAIT, MOST_TRIES, Attempt, to_ask_again
from bot.flow.loop import tick
from bot.flow.ports import Unavailable
from bot.flow.reconcile import EVERY, Reconciler

__all__ = ["house"]
NOW = 1_800_000_000.0


def failures(*ages: float, guid: str = "a", event: str = "issue_comment") -> list[Attempt]:
    return [Attempt(number, guid, event, NOW - age) for number, age in enumerate(ages, start=1)]


def ids(found: list[Attempt]) -> list[int]:
    return [one.id for one in found]


def test_only_what_never_came_in_is_asked_for() -> None:
    failed = failures(100, guid="a") + failures(100, guid="b") + failures(100, guid="c", event="ping")
    assert [one.guid for one in to_ask_again(failed, {"a"}, {}, NOW)] == ["b"]


def test_the_newest_attempt_is_repeated_once_its_wait_is_over() -> None:
    assert ids(to_ask_again(failures(9_000, 21), (), {}, NOW)) == [2]
    assert to_ask_again(failures(9_000, 19), (), {}, NOW) == []
    assert to_ask_again(failures(FIRST_WAIT - 1), (), {}, NOW) == []


def test_a_delivery_that_was_just_asked_for_is_left_alone() -> None:
    assert to_ask_again(failures(100), (), {"a": NOW - 1}, NOW) == []


@examples()
@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1e6)), max_size=40))
def test_each_delivery_once_oldest_first_and_never_without_end(listed: list[tuple[str, float]]) -> None:
    failed = [Attempt(number, guid, "push", NOW - age) for number, (guid, age) in enumerate(listed)]
    found = to_ask_again(failed, (), {}, NOW)
    assert len({one.guid for one in found}) == len(found)
    assert all(earlier.at <= later.at for earlier, later in pairwise(found))
    assert all(sum(one.guid == other.guid for other in failed) < MOST_TRIES for one in found)


@pytest.fixture
def late(house: House) -> Iterator[House]:
    """Nobody listened to seven comments; a minute later the web process is there."""
    house.open_pull()
    for _ in range(7):
        house.comment("/help")
    house.forget_deliveries()
    house.clock.now = time.time() + 60
    server = make_server("127.0.0.1", 0, house.client.application, threaded=True)
    house.forged.world.hooks[0].url = f"http://127.0.0.1:{server.server_port}/webhook"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield house
    server.shutdown()
    server.server_close()


def redelivered(house: House) -> int:
    return sum(one.redelivery for one in house.forged.world.deliveries.values())


def test_what_came_while_nobody_listened_is_done_once(late: House) -> None:
    reconciler = Reconciler()
    for _ in range(4):
        reconciler.turn(late.world)
        late.forged.settle()
        assert tick(late.world) == 0
    assert len(late.answers()) == 7 and redelivered(late) == 8
    late.clock.now += EVERY
    reconciler.turn(late.world)
    late.forged.settle()
    assert redelivered(late) == 8
    assert late.forged.world.violations == []


def test_the_list_is_looked_at_at_once_and_then_now_and_then(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    monkeypatch.setattr(type(house.world.github), "failed_deliveries", lambda _, since: looks.append(since) or ())
    reconciler = Reconciler()
    for _ in range(50):
        reconciler.turn(house.world)
        house.clock.now += 1
    assert len(looks) == 3


def test_a_list_that_cannot_be_had_is_asked_for_later(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object) -> None:
        raise Unavailable("503")

    monkeypatch.setattr(type(house.world.github), "failed_deliveries", down)
    reconciler = Reconciler()
    reconciler.turn(house.world)
    assert reconciler.next_look == house.clock.now + EVERY


def test_a_long_list_is_read_to_its_end(house: House) -> None:
    herald = house.forged.forge.service.herald
    for _ in range(130):
        herald.ping(house.forged.world.repositories[REPO], "mira")
    house.forged.settle()
    found = house.world.github.failed_deliveries(0.0)
    assert len(found) == 130 and [one.id for one in found] == sorted((one.id for one in found), reverse=True)
    assert house.world.github.failed_deliveries(time.time() + 60) == ()

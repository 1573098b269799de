"""The alarm for a pool without a good baseline for a day: on the nodes page and in doctor, by the server's clock."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from control_house import REPO, House, house, outcome
from facts_for_verdicts import session

from bot.adapters.store import migrate
from bot.cli import doctor as module
from bot.cli.doctor import doctor
from bot.core.baselines import DAY, Barren, is_good
from runners.protocol import Control, Ending, Failure, FailureKind, Outcome, Stage, dump

__all__ = ["house"]

HOUR = 3600.0
STAGES = (Stage.SCREEN, Stage.SCREEN, Stage.CONFIRM, Stage.CONFIRM)
FAILED = Outcome(Ending.FAILED, failure=Failure(FailureKind.INFRASTRUCTURE, "the card is gone"))


def alarms(house: House) -> list[Barren]:
    """The pools, the page saying the same."""
    found, page = house.store.baselines.missing(), house.client.get("/nodes").text
    assert ("no good baseline for a day" in page) == bool(found) and all(f"Pool {one.pool} " in page for one in found)
    return found


def fail_twice(house: House) -> None:
    """A job whose both attempts end by the machine."""
    for _ in range(2):
        attempt = house.claim().get_json()["attempt"]
        assert house.node("POST", f"/attempts/{attempt}/done", b'{"outcome":' + dump(FAILED) + b"}").status_code == 204


def test_the_alarm_comes_a_day_after_the_last_good_baseline_and_goes_with_the_next(house: House) -> None:
    house.open_pull()
    house.turn()
    house.work()
    house.clock.now += DAY - HOUR
    assert not alarms(house)
    house.clock.now += 2 * HOUR
    assert alarms(house) == [Barren("host", 0)]
    house.comment("/run-test models=all nodes=host mode=accuracy")
    house.turn()
    fail_twice(house)
    assert alarms(house) == [Barren("host", 1)]
    house.comment("/run-test models=edge nodes=host mode=accuracy")
    house.turn()
    house.work()
    assert not alarms(house)


def test_a_pool_that_is_young_or_has_no_node_left_gives_no_alarm(house: House) -> None:
    house.clock.now += DAY + HOUR
    house.store.nodes.add("new", "mi50", [REPO])
    assert alarms(house) == [Barren("host", 0)]
    house.store.nodes.revoke("node-1", None)
    assert not alarms(house)
    house.clock.now += DAY
    assert alarms(house) == [Barren("mi50", 0)]


def test_times_of_a_machine_on_which_equal_code_differs_are_no_good_baseline() -> None:
    near, far = (Control("c", True, tuple(session(speedup, stage) for stage in STAGES)) for speedup in (1.0001, 1.02))
    assert is_good(outcome()) and is_good(Outcome(Ending.COMPLETED, controls=(near,)))
    assert not any(map(is_good, (None, FAILED, Outcome(Ending.CANCELLED), Outcome(Ending.COMPLETED, controls=(near, far)))))


def test_doctor_names_the_pool_and_where_to_look(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "machine", lambda: iter(()))
    monkeypatch.setattr(module, "open_store", lambda _: house.store)
    house.clock.now += DAY + HOUR
    migrate(house.store.db.engine)
    done = CliRunner().invoke(doctor, env={"KERNELGATE_URL": "https://gate.example"})
    assert done.exit_code == 2
    assert "pool host: no good baseline for a day" in done.output and "look at https://gate.example/nodes" in done.output

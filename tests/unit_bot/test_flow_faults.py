"""Faults of GitHub, drawn at random with a fixed seed: nothing is lost and nothing is doubled."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest
from control_house import House, house
from sqlalchemy import select

from bot.adapters import github_clients
from bot.adapters.store.tables import AskRow, OutboxRow
from bot.core.records import AskState, Item
from bot.flow.loop import tick
from bot.forge.faults import Fault, Kind

__all__ = ["house"]
PART = 100  # faults of one test; the parts may run side by side
PARTS = int(os.environ.get("KERNELGATE_FAULT_PARTS", "2"))  # `kernelgate bench faults` takes ten
WAIT = 60.0
STEP = 2000.0  # seconds of the clock between two rounds: longer than the longest wait of the poster
TALK = ("/run-test models=all", "/help", "/status", "/run-test kernels=gemm", "/run-tets", "/cancel")


def drawn(seed: int) -> list[Fault]:
    """A part of the faults, and now and then a call that is served."""
    dice = random.Random(seed)
    kinds = [kind for kind in Kind if kind is not Kind.NONE]
    kinds = kinds * 3 + [Kind.LOST, Kind.CUT] * 6  # mostly what doubles things
    kinds = [kind for kind in kinds if kind is not Kind.UNAUTHORIZED] + [Kind.UNAUTHORIZED]  # each costs a signature
    plan: list[Fault] = []
    for _ in range(PART):
        plan += [Fault(Kind.NONE)] * dice.choice((0,) * 16 + (1, 4))
        kind = dice.choice(kinds)
        plan.append(Fault(kind, 0.001 if kind is Kind.DELAY else WAIT))
    return plan


def a_round(house: House) -> None:
    """What happened is delivered, every stage has its turn, the node works if there is work, time passes."""
    house.deliver()
    assert tick(house.world) == 0
    if house.has_work():
        house.work()
    house.clock.now += STEP


def until_quiet(house: House) -> None:
    for _ in range(12):
        a_round(house)


def marks(house: House) -> list[str]:
    return [body.removeprefix("<!-- kernelgate:answer:").split()[0] for body in house.answers()]


def wanted(house: House) -> list[str]:
    """The answers that the commands were given: all but refusals within an hour of another one."""
    with house.store.db.read() as session:
        told = {row.subject: row.id for row in session.scalars(select(OutboxRow).where(OutboxRow.item == Item.ANSWER))}
        asks = session.scalars(select(AskRow).where(AskRow.comment_id.is_not(None))).all()
        assert {ask.state for ask in asks} <= {AskState.DONE, AskState.REFUSED}
        assert all(str(ask.id) in told for ask in asks if ask.state == AskState.DONE)
        return list(told.values())


@pytest.mark.parametrize("seed", range(PARTS))
def test_one_card_one_answer_a_command_one_concluded_check(house: House, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github_clients, "RETRY", github_clients.RETRY.new(backoff_factor=0))
    dice, plan = random.Random(seed), house.forged.world.faults
    plan.add(drawn(seed))
    house.open_pull()
    said: list[int] = []
    while plan.coming:
        if not house.store.outbox.due(0.0):
            said += [house.comment(text) for text in dice.sample(TALK, 3)]
        a_round(house)
    assert plan.met == PART
    said.append(house.comment("/run-test models=all"))
    until_quiet(house)
    assert [check["status"] for check in house.checks()] == ["completed"]
    assert len(house.cards()) == 1 and house.store.outbox.due(0.0) == []
    assert Counter(marks(house)) == Counter(wanted(house))
    assert all(len(house.reactions(comment)) == 1 for comment in said)
    assert house.forged.world.violations == []

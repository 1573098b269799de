"""Which rows get how many sessions: two to screen in swapped load order, suspects alone in further ones, within the budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runners.estimating import of_stage
from runners.protocol import Failure, FailureKind, Session, Side, Stage
from runners.rows import Row
from runners.sampling import Action, Rules, control_wants, decide
from runners.timing import Timer


@dataclass(frozen=True)
class Budget:
    """Time of a job; what would begin after its end is not measured."""

    seconds: float
    began: float

    @property
    def spent(self) -> bool:
        return time.monotonic() - self.began > self.seconds

    @property
    def reason(self) -> str:
        return f"beyond the budget of {self.seconds:.0f} s"


def measure(timer: Timer, rows: Sequence[Row], controls: Sequence[Row], rules: Rules, budget: Budget) -> None:
    """Time all rows: screening together and with the controls, then what a control wants to be sure, then each suspect alone."""
    screen(timer, rows, controls, rules, budget)
    for row in controls:
        watch(timer, row, rules, budget)
    suspects = [row for row in rows if row.sound and decide(row.sessions, rules).action is Action.CONFIRM]
    shared = replace(rules, suspects=max(len(suspects), 1))
    for row in suspects:
        confirm(timer, row, shared, budget)


def screen(timer: Timer, rows: Sequence[Row], controls: Sequence[Row], rules: Rules, budget: Budget) -> None:
    """Sessions of all rows that still need one, in swapped load order, until none does; controls go along."""
    number, wanting = 0, list(rows)
    while wanting:
        if budget.spent:
            for row in wanting:
                row.not_measured = "" if len(of_stage(row.sessions, Stage.SCREEN)) >= rules.limits.first_sessions else budget.reason
            return
        along = [row for row in controls if _wants(row, rules) is Stage.SCREEN]
        timer.take([*wanting, *along], Stage.SCREEN, _first(number), rules, verify=number == 0)
        number += 1
        for row in wanting:
            _give_up(row, rules)
        wanting = [row for row in wanting if row.sound and decide(row.sessions, rules).action is Action.SESSION]


def _give_up(row: Row, rules: Rules) -> None:
    """A row whose sessions are disturbed again and again has no times: the machine's trouble."""
    spoilt = [session for session in row.sessions if session.disturbed]
    if len(spoilt) > rules.limits.most_disturbed and len(of_stage(row.sessions, Stage.SCREEN)) < rules.limits.first_sessions:
        message = f"{len(spoilt)} of {len(row.sessions)} sessions were disturbed, the last: {spoilt[-1].disturbed}"
        row.trouble.append(Failure(FailureKind.INFRASTRUCTURE, message))


def watch(timer: Timer, control: Row, rules: Rules, budget: Budget) -> None:
    """The sessions a control still wants, alone in its process each time."""
    while (stage := _wants(control, rules)) is not None and not budget.spent:
        timer.take([control], stage, _first(len(control.sessions)), rules, verify=False)


def _wants(control: Row, rules: Rules) -> Stage | None:
    return None if control.trouble else control_wants(control.sessions, rules)


def confirm(timer: Timer, row: Row, rules: Rules, budget: Budget) -> None:
    """Further sessions of one suspect, alone in its process each time."""
    while row.sound and decide(row.sessions, rules, confirming=True).action is Action.SESSION:
        if budget.spent:
            row.counts["unconfirmed"] = budget.reason
            return
        timer.take([row], Stage.CONFIRM, _first(_confirmed(row.sessions)), rules, verify=False)


def _confirmed(sessions: Sequence[Session]) -> int:
    return sum(session.stage is Stage.CONFIRM for session in sessions)


def _first(number: int) -> Side:
    return (Side.BASE, Side.HEAD)[number % 2]

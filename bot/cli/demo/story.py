"""What happens in the demo: a maintainer's comment on each pull, and the waiting for its answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.adapters.store import Store
from bot.cli.demo.expected import EXPECTED, Expectation
from bot.cli.demo.stack import REPOSITORY
from bot.cli.demo.visitor import Posted, Visitor
from bot.core.enums import RunVerdict
from bot.core.records import RunStatus, RunView
from bot.core.report import Run, load
from bot.core.verdict import conclusion
from bot.forge.sample_repository import SamplePull

COMMAND = "/run-test models=all"


@dataclass
class Visit:
    """One pull on its way to an answer."""

    pull: SamplePull
    approved: bool = False
    refusal: Posted | None = None
    answer: Posted | None = None
    run: Run | None = None
    faults: list[str] = field(default_factory=list)

    @property
    def expected(self) -> Expectation:
        return EXPECTED[self.pull.number]

    @property
    def verdict(self) -> RunVerdict | None:
        return self.run.verdict if self.run else None

    @property
    def good(self) -> bool:
        return self.verdict is self.expected.verdict and not self.faults


class Story:
    """Asks as a maintainer, looks as anybody; `step` never waits."""

    def __init__(self, visitor: Visitor, store: Store, pulls: tuple[SamplePull, ...]) -> None:
        self.visitor = visitor
        self.store = store
        self.visits = [Visit(pull) for pull in pulls]

    def begin(self) -> None:
        for visit in self.visits:
            if self.visitor.answers(visit.pull.number) or self.runs(visit):
                visit.faults.append("something ran before anybody asked")
            self.visitor.say(visit.pull.number, COMMAND)

    def runs(self, visit: Visit) -> list[RunView]:
        return self.store.runs.of_pull(REPOSITORY, visit.pull.number)

    def step(self) -> list[Visit]:
        """Look once at every pull still waiting; those that now have their answer."""
        return [visit for visit in self.visits if visit.answer is None and self._look(visit)]

    def _look(self, visit: Visit) -> bool:
        answers = self.visitor.answers(visit.pull.number)
        if visit.expected.approval and not visit.approved:
            self._approve(visit, answers)
            return False
        if len(answers) <= visit.expected.approval:
            return False
        run = next((run for run in self.runs(visit) if run.report), None)
        visit.answer, visit.run = answers[-1], load(run.report) if run and run.report else None
        visit.faults += self._faults(visit)
        return True

    def _approve(self, visit: Visit, answers: list[Posted]) -> None:
        """A stranger's head: the maintainer's command is refused with the line that allows it, and nothing has run."""
        head = self.visitor.head(visit.pull.number)
        if not answers:
            return
        visit.refusal = answers[0]
        if f"/ok-to-test {head}" not in answers[0].body:
            visit.faults.append("the refusal does not offer the line that approves this head")
        if self.runs(visit):
            visit.faults.append("a stranger's commit ran before its approval")
        visit.approved = True
        self.visitor.say(visit.pull.number, f"/ok-to-test {head}")

    def _faults(self, visit: Visit) -> list[str]:
        run, answer = visit.run, visit.answer
        if run is None or answer is None:
            return ["the answer is not a run's"]
        shown = self.visitor.conclusion(visit.pull.number)
        check = "" if shown == conclusion(run.verdict) else f"the check says {shown or 'nothing'} for {run.verdict}"
        return [fault for fault in (visit.expected.remark(run, answer.body), check) if fault]

    def progress(self) -> str:
        """One line on what is under way."""
        done = sum(visit.answer is not None for visit in self.visits)
        parts = [f"{done} of {len(self.visits)} answered"]
        for visit in self.visits:
            parts += [f"#{visit.pull.number} {_stage(run)}" for run in self.runs(visit) if visit.answer is None and _working(run)]
        return " · ".join(parts)


def _working(run: RunView) -> bool:
    return run.state is RunStatus.OPEN and any(job.phase for job in run.jobs)


def _stage(run: RunView) -> str:
    job = next(job for job in run.jobs if job.phase)
    count = f" {job.done}/{job.total}" if job.total else ""
    return f"{job.pool}: {job.phase}{count}"

"""`set=`, `base=` and `head-flags=` from a comment to the answer on the pull request, by a real node on the host device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from small_suite import PLAN, SOURCE, lay
from test_control_processes import until

from bot.cli.demo import stack
from bot.cli.demo.processes import Processes
from bot.cli.demo.visitor import Visitor
from bot.flow.posts import CHECK
from bot.forge import git
from bot.forge import sample_repository as sample

RIGHT = '"KG_FACTOR": 2'
WHOLE = "    if (i < n) y[i] = KG_FACTOR * x[i];"
TURNED = "#ifdef KG_TURN\n    if (i < n) y[i] = KG_TURN * x[i];\n#else\n" + WHOLE + "\n#endif"
CONFIG = 'version = 1\n[gate]\nrequired = ["host"]\n'


def commit(work: Path, message: str) -> str:
    """All that stands in the working tree, as mira's; the SHA."""
    git.git(work, "add", "--all")
    git.git(work, "-c", "user.name=mira", "-c", "user.email=mira@forge.invalid", "commit", "--quiet", "-m", message)
    return git.text(work, "rev-parse", "HEAD")


def suite(work: Path) -> str:
    """A first commit that computes 3 x, `main` that computes 2 x as it should, and `one` beside it; the first one's SHA."""
    lay(work, scale_cu=SOURCE.replace(WHOLE, TURNED), plan_py=PLAN.replace(RIGHT, RIGHT.replace("2", "3")))
    (work / ".kernelgate.toml").write_text(CONFIG)
    git.git(work, "init", "--quiet", "-b", "main")
    wrong = commit(work, "three")
    (work / "kernels/scale/plan.py").write_text(PLAN)
    commit(work, "two")
    git.git(work, "checkout", "--quiet", "-b", "one")
    (work / "notes.md").write_text("nothing of a kernel\n")
    commit(work, "one")
    return wrong


@dataclass(frozen=True)
class Asked:
    """The pull request as `mira` sees it, and the ancestor that computes 3 x."""

    mira: Visitor
    wrong: str

    def check(self) -> list[dict[str, object]]:
        """All check runs of the head, with all that GitHub shows of them."""
        return [run.raw_data for run in self.mira.repository.get_commit(self.mira.head(1)).get_check_runs(check_name=CHECK)]

    def answer(self, base: str) -> str:
        """The body of the answer that compares with `base`, a full SHA."""
        return until(lambda: next((one.body for one in self.mira.answers(1) if f"against base `{base}`" in one.body), ""))


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    wrong = suite(tmp_path / "work")

    def build(folder: Path) -> list[dict[str, object]]:
        folder.mkdir(parents=True)
        git.git(folder, "clone", "-q", "--bare", str(tmp_path / "work"), "sample.git")
        return [{"owner": sample.OWNER, "name": sample.NAME, "path": str(folder / "sample.git"), "roles": sample.ROLES}]

    monkeypatch.setattr(sample, "build", build)
    monkeypatch.setattr(sample, "PULLS", (sample.SamplePull(1, "one", "", "noor", "one"),))
    place = stack.plan(tmp_path, 0)
    with Processes(tmp_path) as processes:
        for start in (stack.start_broker, stack.start_forge, stack.start_service, stack.start_node):
            start(place, processes)
        yield Asked(Visitor(place, "mira"), wrong)


def errors(answer: str) -> dict[str, tuple[str, str]]:
    """The relative error of head and of base by the name of each listed case; drawn shapes left out."""
    table = answer.partition("Accuracy of each case")[2].partition("</details>")[0]
    lines = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.splitlines() if "scale/edge/tail" in line]
    return {name: (head, base) for name, head, base, *_ in lines}


@pytest.mark.timeout(240)
def test_keys_of_a_command_are_in_its_answer_and_leave_the_check_alone(asked: Asked) -> None:
    """Head alone is turned by the flag, base is the ancestor that was named, and the gate run's check stays as it was."""
    asked.mira.say(1, "/run-test models=all")
    assert until(lambda: asked.mira.conclusion(1)) == "success"
    gate = asked.check()
    asked.mira.say(1, f"/run-test mode=accuracy set=block:32,64 head-flags=-DKG_TURN=-2 base={asked.wrong}")
    answer = asked.answer(asked.wrong)
    assert errors(answer) == {
        f"scale/edge/tail/n{n}/f32 block={block}": ("2.00e+00", "5.00e-01") for n in (1000, 4099) for block in (32, 64)
    }
    assert "kernelgate: inconclusive" in answer and "does not touch the check" in answer  # both sides are wrong
    assert asked.check() == gate

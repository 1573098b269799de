"""A command on a pull request to a run with everything fixed: base, head, judge, configuration, selection."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from bot.core.commands import Command, spell
from bot.core.errors import PersonError, PlanError
from bot.core.plan import RunPlan, plan_run
from bot.core.records import NewRun, Priority, PullState
from bot.core.repo_config import RepoConfig, read_config
from bot.core.words import FULL_SHA
from bot.flow.ports import Ancestry, Gone, World

CONFIG_FILE = ".kernelgate.toml"


class HeadGone(PersonError):
    """The head, or the branch it is for, can't be found any more."""


@dataclass(frozen=True)
class Ground:
    """Where a pull request stands now: tip and merge-base, and the configuration at the tip."""

    ancestry: Ancestry
    config: RepoConfig
    config_text: str


def ground(world: World, pull: PullState) -> Ground:
    """Ask where the pull request stands; ConfigError, HeadGone."""
    try:
        ancestry = world.github.ancestry(pull.repository, pull.base_ref, pull.head)
    except Gone as gone:
        raise HeadGone(str(gone)) from gone
    text = world.github.file(pull.repository, CONFIG_FILE, ancestry.tip)
    config = RepoConfig.default(adopted=False) if text is None else read_config(text, world.models)
    return Ground(ancestry, config, text or "")


def new_run(world: World, pull: PullState, at: Ground, command: Command, asker: str, is_trusted: bool, priority: Priority) -> NewRun:
    """The run a command stands for; PlanError says what of it is not to be had."""
    plan = plan_run(command, at.config, world.store.nodes.pools(pull.repository), world.models)
    return NewRun(
        repository=pull.repository, number=pull.number, base=_base(world, pull, at, plan), head=pull.head, judge=at.ancestry.merge_base,
        base_ref=pull.base_ref, clone_url=pull.clone_url, command=spell(command), asker=asker, gate=plan.gate,
        gate_key=_gate_key(world, pull, at, is_trusted) if plan.gate else "", adopted=at.config.adopted, trusted=is_trusted,
        selection=plan.selection, pools=plan.pools, harm=plan.harm, budget_seconds=plan.budget_seconds,
        suite=at.config.suite.kernels, priority=priority, private=pull.private, tip=at.ancestry.tip,
    )  # fmt: skip


def _base(world: World, pull: PullState, at: Ground, plan: RunPlan) -> str:
    """The base side: the merge-base, or what a person named, which must be of this repository's own history."""
    if plan.base in ("", "head"):
        return pull.head if plan.base else at.ancestry.merge_base
    try:
        if not FULL_SHA.fullmatch(plan.base):
            return at.ancestry.tip if plan.base == "branch" else world.github.branch_tip(pull.repository, plan.base)
        if world.github.is_ancestor(pull.repository, plan.base, at.ancestry.tip):
            return plan.base
    except Gone:
        pass
    raise PlanError(f"{plan.base} is neither a branch nor in the history of {pull.base_ref}")


def _gate_key(world: World, pull: PullState, at: Ground, is_trusted: bool) -> str:
    """Equal for pull requests whose gate runs would be the same; a stranger's head is judged by stricter rules."""
    config = hashlib.sha256(at.config_text.encode()).hexdigest()
    trust = "trusted" if is_trusted else "stranger"
    return ":".join([pull.repository, pull.head, at.ancestry.merge_base, pull.base_ref, trust, config, _judge_key(world, pull, at)])


def _judge_key(world: World, pull: PullState, at: Ground) -> str:
    """What the base branch has changed since the merge base of the files that judge: the suite's Python but the plans."""
    base, tip = at.ancestry.merge_base, at.ancestry.tip
    files = world.github.changed_files(pull.repository, base, tip) if tip != base else {}
    if files is None:
        return tip
    folder = f"{at.config.suite.kernels}/"
    judge = sorted(one for one in files.items() if one[0].startswith(folder) and one[0].endswith(".py") and not one[0].endswith("/plan.py"))
    return hashlib.sha256(repr(judge).encode()).hexdigest() if judge else ""

"""From a command, the repository's configuration and the pools at hand to what a run does: a value, no I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from bot.core import words
from bot.core.commands import MODELS_ALL, Command
from bot.core.errors import PlanError, nearest
from bot.core.repo_config import HOST, RepoConfig
from runners.protocol import Mode, Selection

BOTH = (Mode.ACCURACY, Mode.PERFORMANCE)
MODEL_EDGE = "edge"


@dataclass(frozen=True)
class PoolPlan:
    """One pool's share. `static`: this job also compiles for every target; `share`: its part of the run's alpha."""

    pool: str
    required: bool
    floor: float
    static: bool = False
    timed: bool = True
    share: float = 1.0


@dataclass(frozen=True)
class RunPlan:
    """What a run does. `base` is "" for the merge-base, "head", or the SHA or branch that a person named."""

    gate: bool
    base: str
    selection: Selection
    pools: tuple[PoolPlan, ...]
    harm: float
    budget_seconds: int


def plan_run(command: Command, config: RepoConfig, pools: Collection[str], models: Collection[str] = ()) -> RunPlan:
    """The plan of a /run-test (or of a push, which stands for one) where `pools` have nodes for this repository.

    A required pool without nodes is planned all the same: its job waits, and the PR says why.
    """
    selection = _selection(command.options, config, models)
    gate = is_gate(command, config)
    return RunPlan(
        gate=gate,
        base="" if gate else command.options.get("base", ("",))[0],
        selection=selection,
        pools=_pools(command, config, pools, gate, Mode.PERFORMANCE in selection.modes),
        harm=config.gate.harm,
        budget_seconds=_budget(command.options, config),
    )


def is_gate(command: Command, config: RepoConfig) -> bool:
    """Whether this is the run that decides the check: all that the configuration asks for, and nothing else."""
    wanted, given = _essence(config.on_push.options), _essence(command.options)
    return config.adopted and given == wanted


def _essence(options: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """Options without those that say what holds anyway."""
    sets = {key: frozenset(values) for key, values in options.items()}
    plain = {"models": frozenset({MODELS_ALL}), "mode": frozenset(mode.value for mode in BOTH)}
    return {key: values for key, values in sets.items() if plain.get(key) != values}


def _selection(options: Mapping[str, tuple[str, ...]], config: RepoConfig, models: Collection[str]) -> Selection:
    return Selection(
        models=_models(options.get("models", ()), config, models),
        kernels=options.get("kernels", ()),
        modes=tuple(mode for mode in BOTH if mode.value in options.get("mode", BOTH)),
        sweep={name: tuple(values.split(",")) for name, _, values in (one.partition(":") for one in options.get("set", ()))},
        head_flags=options.get("head-flags", ()),
        base_flags=options.get("base-flags", ()),
    )


def _models(asked: tuple[str, ...], config: RepoConfig, models: Collection[str]) -> tuple[str, ...]:
    """The models asked for, () for all; a forbidden one is refused by name and left out of all."""
    forbidden = config.gate.forbid_models
    if not asked or MODELS_ALL in asked:
        allowed = tuple(model for model in (*models, MODEL_EDGE) if model not in forbidden)
        return tuple(dict.fromkeys(allowed)) if forbidden else ()
    for model in asked:
        if model in forbidden:
            raise PlanError(f"{model} is in this repository's forbid_models")
    return asked


def _budget(options: Mapping[str, tuple[str, ...]], config: RepoConfig) -> int:
    own = options.get("budget")
    return words.seconds(own[0]) if own else config.budget_seconds


def _pools(command: Command, config: RepoConfig, pools: Collection[str], gate: bool, timed: bool) -> tuple[PoolPlan, ...]:
    """Those named; else those required; else all there are. The host's job carries the static gate."""
    required = config.gate.required
    asked = command.options.get("nodes", ())
    for pool in asked:
        if pool not in pools and pool not in required:
            raise PlanError(f"no node serves the pool {pool}", nearest(pool, pools))
    chosen = list(dict.fromkeys(asked or required or sorted(pools)))
    if gate and HOST in pools and HOST not in chosen:
        chosen.append(HOST)
    if not chosen:
        raise PlanError("no node serves this repository")
    unasked = {HOST} if gate and required and HOST not in required and not asked else set()
    measured = [pool for pool in chosen if timed and pool not in unasked]
    return tuple(
        PoolPlan(
            pool=pool,
            required=pool in required if gate else True,
            floor=config.floor(pool),
            static=pool == HOST,
            timed=pool in measured,
            share=1 / max(len(measured), 1),
        )
        for pool in chosen
    )

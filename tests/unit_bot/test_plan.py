"""From command and configuration to a run's plan: gate or not, which pools, which floors."""

from dataclasses import replace

import pytest

from bot.core.commands import run_test
from bot.core.errors import PlanError
from bot.core.plan import plan_run
from bot.core.repo_config import RepoConfig, read_config
from runners.protocol import Mode

CONFIG = read_config('version = 1\n[gate]\nrequired = ["mi50", "p40"]\nharm = 0.05\nfloor = { default = 0.02 }')
POOLS = ("mi50", "p40", "host", "rx6800")
MODELS = ("gemma-2b", "llama-1b")


def plan(options: str = "models=all", config: RepoConfig = CONFIG, pools=POOLS):
    (command,) = run_test(options).commands
    return plan_run(command, config, pools, MODELS)


def test_the_gate_run():
    found = plan()
    assert (found.gate, found.base, found.harm, found.budget_seconds) == (True, "", 0.05, 600)
    assert [(one.pool, one.required, one.timed, one.static, one.floor, one.share) for one in found.pools] == [
        ("mi50", True, True, False, 0.02, 0.5),
        ("p40", True, True, False, 0.02, 0.5),
        ("host", False, False, True, 0.10, 0.5),
    ]


@pytest.mark.parametrize("options", ["", "models=all", "mode=performance,accuracy", "models=all mode=accuracy,performance"])
def test_other_spellings_of_the_gate_run(options):
    assert plan(options).gate


@pytest.mark.parametrize(
    "options",
    [
        "models=llama-1b",
        "kernels=gemm",
        "nodes=mi50",
        "mode=accuracy",
        "base=main",
        "base=head",
        "budget=5m",
        "set=a:1",
        "head-flags=-O2",
        "base-flags=-O2",
    ],
)
def test_anything_narrower_is_no_gate_run(options):
    assert not plan(options).gate


def test_a_repository_without_a_file_has_no_gate():
    found = plan(config=RepoConfig.default())
    assert not found.gate
    assert [one.pool for one in found.pools] == sorted(POOLS)
    assert all(one.required for one in found.pools)


def test_the_gate_is_what_a_push_asks_for():
    config = read_config('version = 1\n[gate]\non_push = "models=llama-1b"')
    assert plan("models=llama-1b", config).gate
    assert not plan("models=all", config).gate


def test_a_required_pool_without_nodes_is_planned_and_waits():
    assert [one.pool for one in plan(pools=("host",)).pools] == ["mi50", "p40", "host"]


def test_a_named_pool_that_nobody_serves_is_refused_with_the_nearest():
    with pytest.raises(PlanError) as error:
        plan("nodes=rx680")
    assert error.value.suggestion == "rx6800"


def test_no_node_at_all():
    with pytest.raises(PlanError):
        plan(config=RepoConfig.default(), pools=())


def test_options_become_a_selection():
    flags = "head-flags=-O2,-ffast-math base=head"
    found = plan(f"models=llama-1b kernels=gemm set=bm:1,2 set=bn:4 {flags} mode=accuracy budget=90s nodes=host")
    chosen = found.selection
    assert (chosen.models, chosen.kernels, chosen.modes) == (("llama-1b",), ("gemm",), (Mode.ACCURACY,))
    assert chosen.sweep == {"bm": ("1", "2"), "bn": ("4",)}
    assert (chosen.head_flags, chosen.base_flags, found.base, found.budget_seconds) == (("-O2", "-ffast-math"), (), "head", 90)
    assert [(one.pool, one.required, one.timed, one.static) for one in found.pools] == [("host", True, False, True)]


def test_forbidden_models_are_left_out_of_all_and_refused_by_name():
    config = replace(CONFIG, gate=replace(CONFIG.gate, forbid_models=("gemma-2b",)))
    assert plan(config=config).selection.models == ("llama-1b", "edge")
    assert plan(config=CONFIG).selection.models == ()
    with pytest.raises(PlanError):
        plan("models=gemma-2b", config)

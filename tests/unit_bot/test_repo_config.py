"""The repository's configuration: what it may say, and how a mistake is pointed at."""

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from bot.core.commands import Name
from bot.core.errors import ConfigError
from bot.core.repo_config import RepoConfig, read_config

WHOLE = """version = 1
[suite]
kernels = "kernels"
[gate]
required = ["mi50", "host"]
floor = { default = 0.02, p40 = 0.03 }
harm = 0.03
on_push = "models=all"
budget = "10m"
forbid_models = ["gemma-2b"]
[[command]]
name = "llama-bench"
build = ["cmake -B build", "cmake --build build -j"]
run = "build/bin/llama-bench -o jsonl"
format = "llama-bench"
nodes = ["mi50"]
"""
MODELS = ("gemma-2b", "llama-1b")


def test_a_whole_file():
    config = read_config(WHOLE, MODELS)
    assert config.gate.required == ("mi50", "host")
    assert (config.floor("p40"), config.floor("mi50"), config.floor("host")) == (0.03, 0.02, 0.10)
    assert (config.budget_seconds, config.on_push.name, config.adopted) == (600, Name.RUN_TEST, True)
    assert config.command[0].nodes == ("mi50",)


def test_only_the_version_is_needed():
    config = read_config("version = 1")
    assert config == RepoConfig.default(adopted=True)
    assert (config.suite.kernels, config.gate.required, config.floor("x"), config.gate.harm) == ("kernels", (), 0.01, 0.03)


def test_a_byte_order_mark_is_no_mistake():
    assert read_config("\ufeffversion = 1") == RepoConfig.default(adopted=True)


def test_without_a_file_nothing_is_adopted():
    assert not RepoConfig.default().adopted


def test_the_hosts_floor_can_be_set():
    assert read_config("version = 1\n[gate]\nfloor = { host = 0.2 }").floor("host") == 0.2


@pytest.mark.parametrize(
    ("old", "new", "line", "suggestion"),
    [
        ("harm =", "harn =", 7, "harm"),
        ("[suite]", "[siute]", 2, "suite"),
        ("kernels =", "kernel =", 3, "kernels"),
        ("nodes =", "node =", 16, "nodes"),
        ("version = 1", "version = 1\ncolour = 2", 2, ""),
        ("version = 1", "version = 1\nadopted = true", 2, ""),
        ("harm = 0.03", "harm = 3", 7, ""),
        ("harm = 0.03", "harm = nan", 7, ""),
        ("harm = 0.03", 'harm = "0.03"', 7, ""),
        ("p40 = 0.03", "p40 = 0", 6, ""),
        ("version = 1", "version = 2", 1, ""),
        ('"models=all"', '"modles=all"', 8, "models="),
        ('"models=all"', '"models=llama-2b"', 8, "llama-1b"),
        ('"models=all"', '"models=all\\n/cancel"', 8, ""),
        ('"gemma-2b"', '"gema-2b"', 10, "gemma-2b"),
        ('"10m"', '"ten"', 9, ""),
        ('"kernels"', '"../other"', 3, ""),
        ('"kernels"', '"/etc"', 3, ""),
        ('"kernels"', '".git"', 3, ""),
        ('"mi50", "host"', '"mi 50"', 5, ""),
        ('format = "llama-bench"', 'format = "own"', 15, ""),
        ("harm = 0.03", "harm =", 7, ""),
        ("harm = 0.03", "harm = 0.03\nharm = 0.04", 8, ""),
    ],
)
def test_a_mistake_has_its_line_and_the_nearest_word(old, new, line, suggestion):
    with pytest.raises(ConfigError) as error:
        read_config(WHOLE.replace(old, new, 1), MODELS)
    assert (error.value.line, error.value.suggestion) == (line, suggestion)


@pytest.mark.parametrize("text", ["", "x" * 70_000, "version = 1\n" + "#" * 65_536, "a = " + "[" * 5000, "version = 1\n\x00", "\ud800"])
def test_what_is_no_configuration_is_an_error_for_a_person(text):
    with pytest.raises(ConfigError):
        read_config(text)


@examples(150)
@given(
    st.one_of(
        st.text(max_size=200), st.lists(st.sampled_from([*WHOLE.splitlines(), "[", "]", "a.b = 1", "[a.b]", "gate = 1"])).map("\n".join)
    )
)
def test_no_text_raises_anything_else(text):
    try:
        read_config(text, MODELS)
    except ConfigError as error:
        assert error.problem

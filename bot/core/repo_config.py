""".kernelgate.toml as a value: what a repository wants of its gate (contracts §5)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import field, fields, replace
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from bot.core import words
from bot.core.commands import Command, Name, run_test
from bot.core.errors import ConfigError, nearest

STRICT = ConfigDict(extra="forbid")
MOST_BYTES = 64 * 1024
DEEPEST = 16
PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
DEEP_KEY = re.compile(rf"(?<![\w-]){PART}(?:[ \t]*+\.[ \t]*+{PART}){{{DEEPEST}}}")  # tomllib's time grows with the square of a key's depth
UNDECODED = "\ufffd"  # what whoever decoded the file put in the place of a byte
HOST = "host"
HOST_FLOOR = 0.10

Folder = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$", max_length=200)]
Pool = Annotated[str, Field(pattern=r"^[A-Za-z0-9._+-]{1,64}$")]
Fraction = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False, strict=True)]
Budget = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,4}[smh]$")]
Line = Annotated[str, Field(max_length=2000)]


@dataclass(frozen=True, config=STRICT)
class Suite:
    kernels: Folder = "kernels"


@dataclass(frozen=True, config=STRICT)
class Gate:
    """What the check stands for. `floor` holds "default" and pools."""

    required: tuple[Pool, ...] = ()
    floor: dict[str, Fraction] = field(default_factory=dict)
    harm: Fraction = 0.03
    on_push: Line = "models=all"
    budget: Budget = "10m"
    forbid_models: tuple[str, ...] = ()
    waiver_days: Annotated[int, Field(ge=1, le=365, strict=True)] = 30


@dataclass(frozen=True, config=STRICT)
class OwnBenchmark:
    """A project's own benchmark, built and run at both sides and compared the same way."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._+-]{1,64}$")]
    run: Line
    format: Literal["llama-bench"]
    build: tuple[Line, ...] = ()
    nodes: tuple[Pool, ...] = ()


@dataclass(frozen=True, config=STRICT)
class RepoConfig:
    """A repository's configuration; `adopted` is False where there is no file, and then no check is ever made."""

    version: Literal[1]
    suite: Suite = field(default_factory=Suite)
    gate: Gate = field(default_factory=Gate)
    command: tuple[OwnBenchmark, ...] = ()
    adopted: bool = True

    @classmethod
    def default(cls, adopted: bool = False) -> RepoConfig:
        """What holds without a file, or with one that says nothing but its version."""
        return replace(cls(version=1), adopted=adopted)

    def floor(self, pool: str) -> float:
        """The smallest slow-down worth naming on `pool`; the host's own default is wider."""
        floors = self.gate.floor
        return floors.get(pool, HOST_FLOOR if pool == HOST else floors.get("default", 0.01))

    @property
    def budget_seconds(self) -> int:
        return words.seconds(self.gate.budget)

    @property
    def on_push(self) -> Command:
        """The command a push stands for; read_config has made sure that it is one."""
        return run_test(self.gate.on_push).commands[0]


def read_config(text: str, models: Collection[str] | None = None) -> RepoConfig:
    """The configuration a file's text stands for; ConfigError names line, problem and the nearest legal word."""
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise ConfigError(0, "the file is larger than 64 KB")
    if UNDECODED in text:
        raise ConfigError(text.count("\n", 0, text.index(UNDECODED)) + 1, "not UTF-8")
    if deep := DEEP_KEY.search(text):
        raise ConfigError(text.count("\n", 0, deep.start()) + 1, f"a key of more than {DEEPEST} parts")
    data = _toml(text.removeprefix("\ufeff"))
    if "adopted" in data:
        raise ConfigError(_line_of(text, ["adopted"]), "unknown key adopted")
    try:
        config = TypeAdapter(RepoConfig).validate_python(data)
    except ValidationError as error:
        raise _explained(error, text) from error
    return _checked(config, text, models)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        problem = re.sub(r" \(at .*\)$", "", str(error))
        raise ConfigError(int(found.group(1)) if found else text.count("\n") + 1, problem) from error
    except RecursionError as error:
        raise ConfigError(0, "nested too deeply") from error


def _explained(error: ValidationError, text: str) -> ConfigError:
    first = next((e for e in error.errors() if e["type"] in UNKNOWN), error.errors()[0])
    path = [str(part) for part in first["loc"] if isinstance(part, str)]
    line, key = _line_of(text, path), ".".join(path)
    if first["type"] in UNKNOWN:
        return ConfigError(line, f"unknown key {key}", nearest(path[-1], _keys_of(path[:-1])))
    return ConfigError(line, f"{key}: {first['msg']}")


UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
_TABLES: dict[str, type[Any]] = {"suite": Suite, "gate": Gate, "command": OwnBenchmark}


def _keys_of(table: Sequence[str]) -> list[str]:
    kind = _TABLES.get(table[0], RepoConfig) if table else RepoConfig
    return [one.name for one in fields(kind) if one.name != "adopted"]


def _line_of(text: str, path: Sequence[str]) -> int:
    """Where the last key of `path` is written, as well as a look at lines can tell; 0 if it is not."""
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", line)
        if header:
            table = [part.strip(" \"'") for part in header.group(1).split(".")]
            if table == list(path):
                return number
            continue
        written = re.match(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=", line)
        keys = [part.strip(" \"'") for part in written.group(1).split(".")] if written else []
        if keys and (table + keys)[: len(path)] == list(path)[: len(table + keys)]:
            return number
    return 0


def _checked(config: RepoConfig, text: str, models: Collection[str] | None) -> RepoConfig:
    """`config` itself, if its command parses and its models and commands make sense."""
    parsed = run_test(config.gate.on_push, models)
    if parsed.errors or len(parsed.commands) != 1 or parsed.commands[0].name is not Name.RUN_TEST:
        found = parsed.errors[0] if parsed.errors else None
        problem = f"gate.on_push: {found.message.value} {found.text!r}" if found else "gate.on_push: not a command"
        raise ConfigError(_line_of(text, ["gate", "on_push"]), problem, found.suggestion if found else "")
    for model in config.gate.forbid_models:
        if models is not None and model not in models:
            raise ConfigError(_line_of(text, ["gate", "forbid_models"]), f"unknown model {model}", nearest(model, models))
    return config

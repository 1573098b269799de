"""The comment grammar (design §7): text in, commands and errors out; nothing of ours is ignored silently."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from rapidfuzz.distance import OSA

from bot.core import words
from bot.core.errors import nearest
from bot.core.reading import Line, slash_lines
from bot.core.words import Word

MOST = 3
MODELS_ALL = "all"
KEYS = words.KEYS
ALIASES = {"node": "nodes", "test_mode": "mode"}


class Name(StrEnum):
    RUN_TEST = "run-test"
    RETEST = "retest"
    CANCEL = "cancel"
    STATUS = "status"
    HELP = "help"
    OK_TO_TEST = "ok-to-test"
    WAIVE = "waive"
    BISECT = "bisect"


class Problem(StrEnum):
    """What can be wrong with a command line; templates phrase it for GitHub."""

    UNKNOWN_COMMAND = "unknown command"
    NOT_YET = "this command is not available here"
    TOO_MANY = "more than three commands in one comment"
    TOO_LONG = "the line is longer than 8,192 characters"
    NOT_ASCII = "a character outside the grammar"
    UNKNOWN_KEY = "unknown key"
    KEY_TWICE = "the key is given twice"
    EMPTY_VALUE = "the value is empty"
    TOO_MANY_VALUES = "more than 32 values"
    BAD_VALUE = "not a legal value"
    UNKNOWN_MODEL = "unknown model"
    UNEXPECTED = "an unexpected word"
    MISSING = "a word is missing"


@dataclass(frozen=True)
class Command:
    """One well-formed command; `options` have canonical keys and lists of values, `line` counts from 1."""

    name: Name
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    reason: str = ""
    line: int = 1


@dataclass(frozen=True)
class CommandError:
    """Where a line of ours fails: line and column from 1, the offending text, and the nearest legal word."""

    line: int
    column: int
    text: str
    message: Problem
    suggestion: str = ""


@dataclass(frozen=True)
class Parsed:
    commands: tuple[Command, ...] = ()
    errors: tuple[CommandError, ...] = ()


class _Wrong(Exception):
    def __init__(self, word: Word, problem: Problem, suggestion: str = "") -> None:
        super().__init__(problem)
        self.word, self.problem, self.suggestion = word, problem, suggestion


def parse(text: str, models: Collection[str] | None = None) -> Parsed:
    """Every command of a comment, and every line that fails; `models` None leaves model names unchecked."""
    commands: list[Command] = []
    errors: list[CommandError] = []
    for line in slash_lines(text, _is_ours, enough=MOST + 1):
        if len(commands) + len(errors) >= MOST:
            first = words.split(line.text[: words.LONGEST_LINE])[0]
            errors.append(CommandError(line.number, first.column, first.raw[: words.SHOWN], Problem.TOO_MANY))
            break
        try:
            commands.append(_command(line, models))
        except _Wrong as wrong:
            shown = wrong.word.raw[: words.SHOWN]
            errors.append(CommandError(line.number, wrong.word.column, shown, wrong.problem, wrong.suggestion))
    return Parsed(tuple(commands), tuple(errors))


def spell(command: Command) -> str:
    """The one line that repeats the command: canonical keys in the grammar's order."""
    parts = [f"/{command.name.value}", *command.args]
    for key in KEYS:
        values = command.options.get(key, ())
        parts += [f"{key}={value}" for value in values] if key == "set" else [f"{key}={','.join(values)}"] if values else []
    return " ".join([*parts, f"reason={command.reason}"] if command.reason else parts)


def run_test(options: str, models: Collection[str] | None = None) -> Parsed:
    """The command that `options` alone stand for, as in the configuration's on_push and on a command line."""
    return parse(f"/{Name.RUN_TEST.value} {' '.join(options.split())}", models)


@lru_cache(maxsize=1024)
def _is_ours(word: str) -> bool:
    """Whether a name is one of ours, or one edit away (a swap counts as one)."""
    name = unicodedata.normalize("NFKC", word).lower()
    return any(OSA.distance(name, known.value, score_cutoff=1) <= 1 for known in Name)


def _command(line: Line, models: Collection[str] | None) -> Command:
    first, *rest = words.split(line.text[: words.LONGEST_LINE])
    if len(line.text) > words.LONGEST_LINE:
        raise _Wrong(first, Problem.TOO_LONG)
    name = first.text[1:].lower()
    if name not in Name._value2member_map_:
        raise _Wrong(first, Problem.UNKNOWN_COMMAND, f"/{nearest(name, [known.value for known in Name])}")
    return _READERS[Name(name)](Name(name), first, rest, line.number, models)


def _bare(name: Name, first: Word, rest: list[Word], line: int, models: Collection[str] | None) -> Command:
    if rest:
        raise _Wrong(rest[0], Problem.UNEXPECTED)
    return Command(name, line=line)


def _later(name: Name, first: Word, rest: list[Word], line: int, models: Collection[str] | None) -> Command:
    raise _Wrong(first, Problem.NOT_YET)


def _ok_to_test(name: Name, first: Word, rest: list[Word], line: int, models: Collection[str] | None) -> Command:
    if not rest:
        raise _Wrong(first, Problem.MISSING, "all 40 digits of the head's SHA")
    if not words.FULL_SHA.fullmatch(rest[0].text.lower()):
        raise _Wrong(rest[0], Problem.BAD_VALUE, "all 40 digits of the head's SHA")
    if len(rest) > 1:
        raise _Wrong(rest[1], Problem.UNEXPECTED)
    return Command(name, args=(rest[0].text.lower(),), line=line)


def _waive(name: Name, first: Word, rest: list[Word], line: int, models: Collection[str] | None) -> Command:
    at = next((i for i, word in enumerate(rest) if word.text.lower().startswith("reason=")), None)
    if at is None:
        raise _Wrong(first, Problem.MISSING, "reason=")
    if at == 0:
        raise _Wrong(first, Problem.MISSING, "CASE[@POOL] or judge")
    if at > 1:
        raise _Wrong(rest[1], Problem.UNEXPECTED, nearest(rest[1].text, ["reason="]))
    if not words.CASE.fullmatch(rest[0].text):
        raise _Wrong(rest[0], Problem.BAD_VALUE, "CASE[@POOL] or judge")
    reason = " ".join(word.text for word in rest[at:])[len("reason=") :].strip()
    if not reason or not reason.isprintable():
        raise _Wrong(rest[at], Problem.BAD_VALUE if reason else Problem.EMPTY_VALUE)
    return Command(name, args=(rest[0].text,), reason=reason[: words.REASON], line=line)


def _run_test(name: Name, first: Word, rest: list[Word], line: int, models: Collection[str] | None) -> Command:
    options: dict[str, tuple[str, ...]] = {}
    for word in rest:
        key, values = _option(word, models)
        if key != "set" and key in options:
            raise _Wrong(word, Problem.KEY_TWICE, f"{key}={','.join((*options[key], *values))}")
        if key == "set" and any(values[0].split(":")[0] == old.split(":")[0] for old in options.get(key, ())):
            raise _Wrong(word, Problem.KEY_TWICE)
        options[key] = (*options.get(key, ()), *values)
    return Command(name, {key: options[key] for key in KEYS if key in options}, line=line)


def _option(word: Word, models: Collection[str] | None) -> tuple[str, tuple[str, ...]]:
    written, equals, value = word.text.partition("=")
    key = ALIASES.get(written.lower(), written.lower())
    if key not in KEYS:
        guess = nearest(written, [*KEYS, *ALIASES])
        hint = f"models={written}" if written.lower() in {MODELS_ALL, *(models or ())} else f"{guess}=" if guess else ""
        raise _Wrong(word, Problem.UNKNOWN_KEY if equals else Problem.UNEXPECTED, hint)
    if not value:
        raise _Wrong(word, Problem.EMPTY_VALUE, f"{key}=")
    given = [value] if key in words.WHOLE else value.split(",")
    if len(value.split(",")) > words.MOST_VALUES:
        raise _Wrong(word, Problem.TOO_MANY_VALUES)
    known = models if models is not None and key == "models" else None
    return key, tuple(dict.fromkeys(_value(word, key, one, known) for one in given))


def _value(word: Word, key: str, value: str, models: Collection[str] | None) -> str:
    place = word.part(value)
    if not value:
        raise _Wrong(word, Problem.EMPTY_VALUE, f"{key}=")
    lowered = value.lower() if key in ("models", "mode", "budget") else value
    if not KEYS[key].fullmatch(lowered):
        problem = Problem.BAD_VALUE if value.isascii() else Problem.NOT_ASCII
        raise _Wrong(place, problem, nearest(lowered, words.LEGAL.get(key, ())))
    if models is not None and lowered not in models and lowered != MODELS_ALL:
        raise _Wrong(place, Problem.UNKNOWN_MODEL, nearest(lowered, [*models, MODELS_ALL]))
    return lowered


_READERS = {
    Name.RUN_TEST: _run_test,
    Name.RETEST: _bare,
    Name.CANCEL: _bare,
    Name.STATUS: _bare,
    Name.HELP: _bare,
    Name.OK_TO_TEST: _ok_to_test,
    Name.WAIVE: _waive,
    Name.BISECT: _later,
}

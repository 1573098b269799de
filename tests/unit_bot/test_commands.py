"""The comment grammar: what is a command, what is refused and where, what belongs to somebody else."""

import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st

from bot.core import reading, words
from bot.core.commands import KEYS, Command, Name, Problem, parse, spell

MODELS = ("gemma-2b", "llama-1b", "qwen3.5-35b-a3b", "edge")
SHA = "0123456789abcdef0123456789abcdef01234567"


def only(text: str) -> Command:
    parsed = parse(text, MODELS)
    assert not parsed.errors, parsed.errors
    (command,) = parsed.commands
    return command


def error(text: str):
    parsed = parse(text, MODELS)
    assert not parsed.commands
    (found,) = parsed.errors
    return found


def test_the_plain_run_test():
    assert only("/run-test models=all") == Command(Name.RUN_TEST, {"models": ("all",)})


def test_aliases_case_and_lists():
    command = only("Please look:\n   /RUN-TEST Node=host,p40 test_mode=Accuracy MODELS=Llama-1B,edge")
    assert command.options == {"models": ("llama-1b", "edge"), "nodes": ("host", "p40"), "mode": ("accuracy",)}
    assert command.line == 2


def test_each_set_stays_whole():
    assert only("/run-test set=dk_split:1,2,4 set=bm:8").options == {"set": ("dk_split:1,2,4", "bm:8")}


def test_flags_from_the_allow_list():
    options = only("/run-test base=head head-flags=-ffast-math,-ffp-contract=off,-O3,-DKG_A=2").options
    assert options["head-flags"] == ("-ffast-math", "-ffp-contract=off", "-O3", "-DKG_A=2")


def test_full_width_letters_are_read_as_ascii():
    assert only("/ｒun-test models=ａll").options == {"models": ("all",)}


def test_ok_to_test_takes_all_forty_digits():
    assert only(f"/ok-to-test {SHA.upper()}").args == (SHA,)
    assert error(f"/ok-to-test {SHA[:12]}").message is Problem.BAD_VALUE
    assert error("/ok-to-test").message is Problem.MISSING
    assert error(f"/ok-to-test {SHA} please").text == "please"


def test_waive_takes_the_rest_of_the_line_as_reason():
    command = only("/waive gemm/llama-1b/ffn_down/m512/f32@mi50 reason=known — see   the notes models=all")
    assert command.args == ("gemm/llama-1b/ffn_down/m512/f32@mi50",)
    assert command.reason == "known — see the notes models=all"
    assert only("/waive judge reason=x").args == ("judge",)


@pytest.mark.parametrize(
    "text", ["/waive judge", "/waive reason=x", "/waive a b reason=x", "/waive judge reason=", "/waive a@b@c reason=x"]
)
def test_a_waiver_lacks_something(text):
    error(text)


@pytest.mark.parametrize(
    ("text", "column", "part", "message", "suggestion"),
    [
        ("/run-tets models=all", 1, "/run-tets", Problem.UNKNOWN_COMMAND, "/run-test"),
        ("/cancle", 1, "/cancle", Problem.UNKNOWN_COMMAND, "/cancel"),
        ("/run_test", 1, "/run_test", Problem.UNKNOWN_COMMAND, "/run-test"),
        ("  /run-test modles=all", 13, "modles=all", Problem.UNKNOWN_KEY, "models="),
        ("/run-test model=llama-1b", 11, "model=llama-1b", Problem.UNKNOWN_KEY, "models="),
        ("/run-test models=lama-1b", 18, "lama-1b", Problem.UNKNOWN_MODEL, "llama-1b"),
        ("/run-test models=gemma-2b,lama-1b", 27, "lama-1b", Problem.UNKNOWN_MODEL, "llama-1b"),
        ("/run-test models=all models=edge", 22, "models=edge", Problem.KEY_TWICE, "models=all,edge"),
        ("/run-test node=a nodes=b", 18, "nodes=b", Problem.KEY_TWICE, "nodes=a,b"),
        ("/run-test models=", 11, "models=", Problem.EMPTY_VALUE, "models="),
        ("/run-test models=all,", 11, "models=all,", Problem.EMPTY_VALUE, "models="),
        ("/run-test mode=acuracy", 16, "acuracy", Problem.BAD_VALUE, "accuracy"),
        ("/run-test all", 11, "all", Problem.UNEXPECTED, "models=all"),
        ("/run-test head-flags=-fast-math", 22, "-fast-math", Problem.BAD_VALUE, "-ffast-math"),
        ("/run-test head-flags=-include/etc/passwd", 22, "-include/etc/passwd", Problem.BAD_VALUE, ""),
        ("/run-test base=a..b", 16, "a..b", Problem.BAD_VALUE, ""),
        ("/run-test base=a,b", 16, "a,b", Problem.BAD_VALUE, ""),
        ("/run-test budget=0m", 18, "0m", Problem.BAD_VALUE, "10m"),
        ("/run-test nodes=mi50;rm", 17, "mi50;rm", Problem.BAD_VALUE, ""),
        ("/run-test nodes=$(x)", 17, "$(x)", Problem.BAD_VALUE, ""),
        ("/run-test nodes=ми50", 17, "ми50", Problem.NOT_ASCII, ""),
        ("/run-test set=a:1 set=a:2", 19, "set=a:2", Problem.KEY_TWICE, ""),
        ("/cancel now", 9, "now", Problem.UNEXPECTED, ""),
        ("/bisect", 1, "/bisect", Problem.NOT_YET, ""),
        ("/run-test nodes=" + ",".join(f"n{i}" for i in range(33)), 11, None, Problem.TOO_MANY_VALUES, ""),
    ],
)
def test_an_error_has_its_place_and_the_nearest_word(text, column, part, message, suggestion):
    found = error(text)
    assert (found.line, found.column, found.message, found.suggestion) == (1, column, message, suggestion)
    assert part is None or found.text == part


@pytest.mark.parametrize(
    "text",
    [
        "/lgtm", "/test all", "/approve", "/hold", "/home/me/run-test", "//run-test", "/ run-test", "run-test", "see /run-test",
        "`/run-test`", "a `b\n/run-test\n` c", "```\n/run-test\n```", "~~~sh\n/run-test\n~~~", "```\n/run-test", "    /run-test",
        "\t/run-test", "> /run-test", "- /run-test", "1. /run-test", "- a\n\n  /run-test",
        "# /run-test", "/run-test\n---", "/run-test\n===", "<div>\n/run-test\n</div>", "<!--\n\n/run-test\n\n-->",
        "<pre>\n\n/run-test\n\n</pre>",
        "[a]:\n/run-test", "[a](\n/run-test)", "[a]: x '\n/run-test\n'\n\n[a] [a]",
        "| a |\n|---|\n| /run-test |", "a <b c='\n/run-test\n'> d", "para\n    /run-test", "",
    ],
)  # fmt: skip
def test_what_is_no_command_is_passed_over(text):
    assert parse(text, MODELS) == parse("", MODELS)


@pytest.mark.parametrize(
    "text",
    ["/help", "text\n/help\ntext", "text\r\n/help\r\n", "*bold*\n/help", "> quote\n\n/help", "```\n/x\n```\n/help",
        "- item\n\n/help", "<!-- t -->\n/help",
     "a\\\n/help", "```a```\n/help", "# title\n/help", "   /help   ",
     "[a]:\n/status\n\n/help", "| a |\n|---|\n| b |\n\n/help", "<details>\n\n/help\n\n</details>"],
)  # fmt: skip
def test_a_line_of_a_plain_paragraph_is_a_command(text):
    assert only(text).name is Name.HELP


def test_a_lazy_line_of_a_quote_belongs_to_the_quote():
    assert parse("> quoted\n/run-test", MODELS) == parse("", MODELS)


def test_three_at_most_and_the_fourth_is_refused():
    parsed = parse("/help\n/status\n/lgtm\n/cancel\n/help\n/help", MODELS)
    assert [command.name for command in parsed.commands] == [Name.HELP, Name.STATUS, Name.CANCEL]
    assert [(found.line, found.message) for found in parsed.errors] == [(5, Problem.TOO_MANY)]


def test_a_good_and_a_bad_line_are_told_apart():
    parsed = parse("/help\n/run-test modes=x\n/status", MODELS)
    assert [command.line for command in parsed.commands] == [1, 3]
    assert [found.line for found in parsed.errors] == [2]


def test_without_a_list_model_names_are_left_alone():
    assert parse("/run-test models=other").commands[0].options == {"models": ("other",)}


LONG = 65_536
OURS = ("help", "run-test")


@pytest.mark.parametrize(
    "filler",
    [
        ("word " * 16 + "\n") * 900,
        "a\n\n" * 20_000,
        "- a\n" * 15_000,
        "> a\n" * 15_000,
        "1. `a`\n" * 9_000,
        "a\n" * 30_000,
        "x" * LONG,
        "/lgtm\n" * 10_000,
    ],
)
def test_a_command_after_65536_characters_is_still_found(filler):
    text = filler[:LONG] + "\n\n/help"
    assert only(text).line == text.count("\n") + 1


def test_thousands_of_commands_are_three():
    parsed = parse("/help\n" * 10_000, MODELS)
    assert (len(parsed.commands), len(parsed.errors)) == (3, 1)


def test_a_command_behind_a_hundred_fenced_ones_is_found():
    assert only("```\n" + "/help\n" * 200 + "```\n/status").name is Name.STATUS


PIECES = st.sampled_from(
    ["/run-test", "/help", "/cancle", " ", "\n", "\n\n", "    ", "`", "```", "~~~", ">", "- ", "1. ", "# ", "---", "===",
        "<div>", "<!--", "-->", "|",
     "models=all", "mode=x", "set=a:1", "reason=", "=", ",", "\\", "[a]: ", "[a]", "](", "'", "(", "*", "\t", "é", "\u202e", "\ufdd0", "x",
        "</pre>", "<pre>", "ﷺ"]
)  # fmt: skip


@examples(300, share=1)
@given(st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)))
@example("\x00/run-test")
@example("/run-test \u2028 models=all")
@example("/\u0130")
def test_no_text_raises(text):
    parsed = parse(text, MODELS)
    assert len(parsed.commands) <= 3


@examples(200)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_shortening_a_text_never_changes_what_is_read(text):
    text = text.replace(reading.MARK, "")
    wanted = reading.candidates(text, OURS.__contains__)
    whole = [line.replace("/", f"{reading.MARK}{i}/", 1) if i in wanted else line for i, line in enumerate(text.split("\n"))]
    expected = [index + 1 for index in sorted(reading.in_paragraphs(whole))]
    assert [line.number for line in reading.slash_lines(text, OURS.__contains__, enough=10_000)] == expected


def values(key: str) -> st.SearchStrategy[tuple[str, ...]]:
    if key == "models":
        return st.lists(st.sampled_from([*MODELS, "all"]), min_size=1, max_size=4, unique=True).map(tuple)
    if key == "set":
        names = st.lists(st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), min_size=1, max_size=3, unique=True)
        return names.map(lambda found: tuple(f"{name}:1,2" for name in found))
    if key in words.LEGAL and key != "budget":
        legal = [value for value in words.LEGAL[key] if "NAME" not in value]
        return st.lists(st.sampled_from(legal), min_size=1, max_size=2, unique=True).map(tuple)
    if key in words.WHOLE:
        return st.from_regex(KEYS[key], fullmatch=True).filter(str.isascii).map(lambda one: (one,))
    return st.lists(st.from_regex(KEYS[key], fullmatch=True), min_size=1, max_size=3, unique=True).map(tuple)


RUN_TESTS = st.fixed_dictionaries({}, optional={key: values(key) for key in KEYS}).map(lambda options: Command(Name.RUN_TEST, options))
OTHERS = st.sampled_from(
    [
        Command(Name.HELP),
        Command(Name.RETEST),
        Command(Name.OK_TO_TEST, args=(SHA,)),
        Command(Name.WAIVE, args=("a/b@c",), reason="so it is"),
    ]
)


@examples(200, share=1)
@given(st.one_of(RUN_TESTS, OTHERS))
def test_what_is_spelled_is_read_back(command):
    assert only(spell(command)) == command

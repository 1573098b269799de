"""`kernelgate judge` and `kernelgate parse`: files and text from outside, exit codes, never a green by accident."""

import io
import json
import struct
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from bot.cli.judge import judge
from bot.cli.parse import parse

GOOD = [[[100.0, 50.0, 50.0, 100.0]] * 9 + [[101.0, 50.0, 50.0, 100.0]]] * 2
ORDER = [[0] * 10] * 2
PAIRS = [[[100.0, 50.0], [101.0, 50.0]] * 10] * 2
FIRST = ["base", "head"] * 10


@pytest.fixture
def judged(tmp_path):
    def run(*contents, floor: str = "0.01"):
        files = []
        for number, content in enumerate(contents):
            path = tmp_path / f"{number}.json"
            path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
            files.append(str(path))
        result = CliRunner().invoke(judge, [*files, "--floor", floor, "--json", str(tmp_path / "out")])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.exit_code, json.loads((tmp_path / "out").read_text())

    return run


def quads(times=GOOD, order=ORDER):
    return {"quads": times, "order": order}


def test_faster_and_slower(judged):
    code, (entry,) = judged(quads())
    assert (code, entry["verdict"], entry["sessions"], entry["quads"]) == (0, "faster", 2, 20)
    assert entry["interval"][0] < entry["speedup"] < entry["interval"][1]
    assert entry["speedup"] == pytest.approx(2, rel=0.01)
    assert judged(quads(order=[[1] * 10] * 2))[0] == 1


def test_pairs_are_joined_to_quads(judged):
    code, (entry,) = judged({"pairs": PAIRS, "first": FIRST})
    assert (code, entry["verdict"], entry["quads"]) == (0, "faster", 20)
    assert judged({"pairs": [[row[::-1] for row in one] for one in PAIRS], "first": FIRST})[0] == 1


def test_the_floor_is_the_askers(judged):
    times = [[[100.0, 102.0, 102.0, 100.0]] * 9 + [[100.1, 102.0, 102.0, 100.0]]] * 2
    assert judged(quads(times))[0] == 1
    assert judged(quads(times), floor="0.05")[1][0]["verdict"] == "same"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"pairs": PAIRS, "first": ["base"] * 20}, "alternate"),
        ({"pairs": PAIRS[:1], "first": FIRST}, "fewer than two sessions"),
        (quads(GOOD[:1], ORDER[:1]), "fewer than two sessions"),
        (quads([one[:4] for one in GOOD], [[0] * 4] * 2), "fewer than two sessions"),
        (quads([[[5.0] * 4] * 10] * 2), "every sample is the same"),
        (quads([[[100.0, 110.0, 110.0, 100.0], [110.0, 100.0, 100.0, 110.0]] * 5] * 2), "undecided"),
    ],
)
def test_what_can_not_be_told_is_inconclusive(judged, content, reason):
    code, (entry,) = judged(content)
    assert (code, entry["verdict"]) == (3, "inconclusive")
    assert reason in entry["reason"]


@pytest.mark.parametrize(
    "content",
    [
        b"", b"hello", b"\xff\xfe\x00", b"[" * 100_000, b"PK\x03\x04 not a zip", [], {}, {"quads": []}, {"quads": {}},
        {"quads": "abc", "order": "abc"},
        quads([[]] * 2), quads(order=[]), quads(order=[[0] * 9] * 2), quads(order=[[2] * 10] * 2), quads(order=[["0"] * 10] * 2),
        {"quads": GOOD},
        quads([[[1.0, 2.0, 3.0]] * 10] * 2), quads([[[1.0, 2.0, 3.0, "x"]] * 10] * 2), quads([[[1.0, 2.0, 3.0, -4.0]] * 10] * 2),
        quads([[[1.0, 2.0, 3.0, 0.0]] * 10] * 2), quads([[[1.0, 2.0, 3.0, 4.0], [1.0]] * 5] * 2), quads([[[1.0, None, 3.0, 4.0]] * 10] * 2),
        quads([[[True, True, True, True]] * 10] * 2), {"pairs": PAIRS}, {"pairs": PAIRS, "first": FIRST[:3]}, {"pairs": PAIRS,
        "first": ["x"] * 20},
        {"pairs": PAIRS, "first": "base"}, b'{"quads": [[[1, 2, 3, NaN]]], "order": [[0]]}',
        b'{"quads": [[[1, 2, 3, 1e999]]], "order": [[0]]}', quads(order=5), quads(order=None),
        quads([[[1e300, 1e-300, 1e-300, 1e300]] * 10] * 2), {"quads": GOOD, "order": {"0": 1, "1": 2}},
    ],
)  # fmt: skip
def test_a_bad_file_is_an_error_and_never_green(judged, content):
    code, (entry,) = judged(content)
    assert (code, entry["verdict"], entry["speedup"]) == (2, "error", None)
    assert entry["reason"]


def test_the_worst_file_decides_in_the_order_error_slower_undecided(judged):
    fast, slow, unknown = quads(), quads(order=[[1] * 10] * 2), quads(GOOD[:1], ORDER[:1])
    assert [judged(*some)[0] for some in ((fast, fast), (fast, unknown), (unknown, slow), (slow, b"x", fast))] == [0, 3, 1, 2]


def test_npz_and_missing_files(tmp_path):
    np.savez(tmp_path / "a.npz", pairs=np.array(PAIRS), first=np.array(FIRST), meta=np.array("x"))
    np.savez(tmp_path / "b.npz", other=np.zeros(3))
    np.savez(tmp_path / "c.npz", quads=np.array([{}], dtype=object), order=np.zeros(1))
    run = CliRunner().invoke
    assert run(judge, [str(tmp_path / "a.npz")]).exit_code == 0
    assert "faster 2.0" in run(judge, [str(tmp_path / "a.npz")]).output
    assert [run(judge, [str(tmp_path / name)]).exit_code for name in ("b.npz", "c.npz", "none.json", ".")] == [2, 2, 2, 2]


def said_of(path, content):
    """Exit code and entry of one file, which raises nothing."""
    path.write_bytes(content)
    result = CliRunner().invoke(judge, [str(path), "--json", "-"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout)[0]


def npz(save=np.savez, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def test_an_order_without_dimensions(tmp_path):
    assert said_of(tmp_path / "a", npz(quads=np.array(GOOD), order=np.array(0)))[0] == 2


@pytest.mark.parametrize("shape", ["(1000000000000, 4)", f"({'9' * 400},)", "(" * 3000])
def test_a_header_that_no_array_has(tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("quads.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header)
    assert said_of(tmp_path / "a", file.getvalue())[0] == 2


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@examples()
@given(data=st.data())
def test_flipped_bytes_are_an_error_or_change_nothing(tmp_path_factory, save, data):
    whole = npz(save, quads=np.array(GOOD), order=np.array(ORDER))
    flipped = bytearray(whole)
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=3)):
        flipped[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "flipped"
    code, entry = said_of(path, bytes(flipped))
    assert (code, entry["verdict"]) == (2, "error") or entry == said_of(path, whole)[1]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["base", "head", ""]),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.sampled_from(["0", "quads"]), inner, max_size=2),
    max_leaves=30,
)


@examples()
@given(st.dictionaries(st.sampled_from(["quads", "order", "pairs", "first", "meta"]), ANYTHING, max_size=4))
def test_whatever_the_json_holds_there_is_an_answer(tmp_path_factory, content):
    code, entry = said_of(tmp_path_factory.getbasetemp() / "any", json.dumps(content).encode())
    assert code in (2, 3) and entry["verdict"] in ("error", "inconclusive")


TIMES = st.floats(1e-6, 1e12)


@examples()
@given(st.lists(st.lists(st.tuples(TIMES, TIMES, TIMES, TIMES), min_size=5, max_size=8), min_size=2, max_size=4))
def test_any_times_have_a_verdict_with_numbers(tmp_path_factory, times):
    code, entry = said_of(tmp_path_factory.getbasetemp() / "times", json.dumps(quads(times, [[0] * len(one) for one in times])).encode())
    assert code in (0, 1, 3)
    assert entry["interval"] is None or 0 < entry["interval"][0] <= entry["speedup"] <= entry["interval"][1] < float("inf")


def test_ten_million_samples(tmp_path):
    """Half of all quads slower by as much as the others are faster: nothing of it may be lost on the way to the verdict."""
    times = np.full((2, 1_250_000, 4), 10.0, dtype=np.float32)
    times[:, ::2, 1:3], times[:, 1::2, 1:3] = 10.1, 9.9
    code, entry = said_of(tmp_path / "a.npz", npz(quads=times, order=np.zeros((2, 1_250_000), dtype=np.int8)))
    assert (code, entry["verdict"], entry["quads"]) == (0, "same", 2_500_000)


def test_more_json_than_fits_in_memory(tmp_path):
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(1 << 29)  # a hole: takes no room
    result = CliRunner().invoke(judge, [str(tmp_path / "a.json")])
    assert result.exit_code == 2 and "NPZ" in result.output


def test_a_comment_on_stdin_as_json():
    result = CliRunner().invoke(parse, ["--json"], input="hello\n/run-test Nodes=host set=dk_split:1,2\n/run-test modles=x\n")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "commands": [{"name": "run-test", "options": {"nodes": ["host"], "set": ["dk_split:1,2"]}, "args": [], "reason": "", "line": 2}],
        "errors": [{"line": 3, "column": 11, "text": "modles=x", "message": "unknown key", "suggestion": "models="}],
    }


def test_a_comment_on_stdin_for_a_person():
    result = CliRunner().invoke(parse, input="/run-test models=lama-1b\n/help")
    assert (result.exit_code, result.stdout) == (1, "line 2: /help\n")
    assert "did you mean llama-1b?" in result.stderr


def test_a_comment_without_commands_is_fine():
    assert CliRunner().invoke(parse, ["--json"], input=b"\xff /nothing").exit_code == 0

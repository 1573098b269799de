"""Whatever a child answers, the agent doesn't fall over it: it becomes a failure of whose code ran there, fit to be sent."""

from __future__ import annotations

import copy
import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from small_suite import job, lay

from kernels.spec import Buffer, Case, Plan, plain, read
from runners import accuracy, enumeration, planning, probing, racing, timing
from runners.accuracy import Judge
from runners.building import Builder
from runners.child import Reply, Room, _lines
from runners.host_device import HOST
from runners.planning import Draft, Planner, Wanted
from runners.protocol import Accuracy, Enumeration, Failure, FailureKind, Measurement, NodeInfo, Side, Stage, dump, load
from runners.racing import RaceCheck
from runners.rows import Row, SideWork
from runners.sampling import Rules, decide
from runners.sandbox import Ended, Finished, SandboxError
from runners.timing import Timer
from runners.toolchains import CodeObject, CompileError, CompileRequest, ToolchainMissing, flags
from runners.trees import Trees

CASE = read(
    Case, {"id": "scale/edge/t/n9/f32", "kernel": "scale", "model": "edge", "role": "t", "shape": {"n": 9}, "dtype": "f32", "tier": "smoke"}
)
BUFFERS = read(
    tuple[Buffer, ...],
    [{"name": "x", "role": "in", "dtype": "f32", "shape": [9]}, {"name": "y", "role": "out", "dtype": "f32", "shape": [9]}],
)
BUILDS = {"s": {"source": "scale.cu", "block": 64, "defines": {"KG_FACTOR": 2}, "options": ["O2"]}}
LAUNCH = {"build": "s", "kernel": "scale", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [{"buffer": "x"}, {"buffer": "y"}, {"i32": 9}]}
DRAFT = {"chosen": {"block": 64}, "legal": {"block": [64, 32]}, "absent": [], "builds": BUILDS}
PLANNED = {"launches": {"launches": [LAUNCH], "scratch": {"p": {"bytes": 64}}, "tables": {"t": {"dtype": "i32", "values": [1]}}}}
FAULT = {"error": "ValueError: no", "file": "scale/plan.py", "line": 3, "where": "builds"}
RAN = {"offences": [], "unlike": ["y"], "seconds": 0.5, "crashed": "", "hung": "", "skipped": "", "starved": ""}
RACED = {"races": [{"file": "scale/scale.cu", "line": 4, "message": "a race"}]}
REFERRED = {"limit": 1e-6}
LISTED = {
    "cases": [plain(CASE)],
    "drawn": [plain(replace(CASE, id="scale/edge/t/n7/f32", shape={"n": 7}))],
    "buffers": {one: [plain(buffer) for buffer in BUFFERS] for one in (CASE.id, "scale/edge/t/n7/f32")},
    "judge": ["cases.py", "reference.py"],
}
PROBED = {"device": plain(HOST), "backend": "emulator", "driver": "none"}
CHECK = {"side": "base", "set": 0, "offences": []}
TIMED = {
    "quads": [[1.0, 2.0, 2.0, 1.0]] * 5,
    "order": [0, 1, 0, 1, 0],
    "launches": 3,
    "gpu_seconds": 0.1,
    "checks": [CHECK, CHECK | {"side": "head"}],
}

NUMBERS = st.integers() | st.floats() | st.sampled_from([10**30, -(10**400), 1e300, math.inf, math.nan, -1, True])
TEXT = st.text(st.characters(), max_size=8) | st.sampled_from(["\x00", "\ud800", "../../x", "a" * 5000, "base", ""])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXT | st.sampled_from([*DRAFT, *RAN, *RACED, *TIMED, *FAULT]), inner, max_size=4)
    ),
    max_leaves=6,
)


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place inside a JSON value, as container and key."""
    for key, part in list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()):
        yield value, key
        yield from spots(part)


@st.composite
def answers(draw: st.DrawFn, *good: dict[str, Any]) -> dict[str, Any]:
    """Some object, or a good answer with one part replaced, removed or added."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.dictionaries(TEXT | st.sampled_from([key for one in good for key in one]), JSON, max_size=4))
    answer = copy.deepcopy(draw(st.sampled_from(good)))
    for _ in range(draw(st.integers(1, 2))):
        container, key = draw(st.sampled_from(list(spots(answer)) or [(answer, "x")]))
        if isinstance(container, dict) and draw(st.booleans()):
            container.pop(key, None)
            key = draw(st.sampled_from([key, *FAULT, "extra"]))
        container[key] = draw(JSON)
    return answer


def ended(*lines: dict[str, Any], code: int = 0) -> Reply:
    """What is read of a child that writes these lines."""
    return Reply(tuple(_lines(b"\n".join(json.dumps(line).encode() for line in lines))), Finished(code, Ended.EXITED, b"", b"", 0.1))


def child(answer: dict[str, Any]) -> Callable[..., Reply]:
    def ask(module: str, request: Any, *_: object, **__: object) -> Reply:
        numbers = [item["index"] for item in request["items"]] if "items" in request else range(len(request["wanted"]))
        return ended(*(line for number in numbers for line in ({"start": number}, {**answer, "index": number})))

    return ask


class Paper:
    """A toolchain that compiles nothing."""

    def version(self) -> str:
        return "paper"

    def compile(self, request: CompileRequest) -> CodeObject:
        return CODE


CODE = CodeObject(Path("/code/of/scale.so"), "paper", 0.0, "", (), {"scale": ""}, {"scale": (8, 8, 4)})
FINE = Accuracy(0.0, 0.0, 0.0, 1.0, 0, 0, 0, 1e-6, True)
ROOM = Room(stop=threading.Event())


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGATE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    made = Builder(Paper(), "host", tmp_path_factory.mktemp("code"))
    yield made
    made.close()


def row() -> Row:
    """A row whose sides are built and were right."""
    plan = replace(read(Plan, {"schema": 1, "tunables": {}, "builds": {}, **PLANNED["launches"]}), builds=read(Draft, DRAFT).builds)
    works = {side: SideWork(read(Draft, DRAFT), {"s": CODE}, plan, FINE) for side in Side}
    return Row(1, "scale", CASE, BUFFERS, sides=works)


def sendable(found: Row) -> Measurement:
    """What the server reads of it; JSON has no NaN, and UTF-8 no half characters."""
    return load(Measurement, dump(found.measurement()))


@examples(60)
@given(answers(DRAFT, FAULT))
def test_a_draft_or_whose_fault_it_is(tree: Path, builder: Builder, answer: dict[str, Any]) -> None:
    planner = Planner(Side.HEAD, tree / "kernels/scale", "kernels/scale", HOST, ROOM, ("-O3", "-DKG_A=--5"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "ask", child(answer))
        (made,) = planner.drafts([Wanted(CASE, {}, BUFFERS)])
    if isinstance(made, Failure):
        assert (made.kind, made.side) == (FailureKind.BUILD_FAILED, Side.HEAD) and made.message
        load(Failure, dump(made))
        return
    for build in made.builds.values():
        with suppress(CompileError):
            builder.key(tree, "kernels/scale", build, False)
            flags.defines(build), flags.options(build, flags.CLANG)


@examples(60)
@given(answers(PLANNED, FAULT))
def test_a_plan_or_whose_fault_it_is(tree: Path, answer: dict[str, Any]) -> None:
    planner = Planner(Side.HEAD, tree / "kernels/scale", "kernels/scale", HOST, ROOM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "ask", child(answer))
        (made,) = planner.plans([Wanted(CASE, {}, BUFFERS)], [read(Draft, DRAFT)], [{"s": CODE}])
    assert isinstance(made, Plan) or (made.kind, made.side) == (FailureKind.BUILD_FAILED, Side.HEAD)
    dump(made)


@examples(60)
@given(answers(RACED))
def test_races_or_the_doubt_that_there_are_some(tree: Path, builder: Builder, answer: dict[str, Any]) -> None:
    found = row()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(racing, "ask", child(answer))
        RaceCheck(builder, Trees(tree, tree, tree), "kernels", ROOM, 1.0).check([found])
    assert all(failure.kind is FailureKind.INFRASTRUCTURE for failure in found.trouble)
    assert found.trouble or isinstance(answer["races"], list)
    sendable(found)


@examples(60)
@given(answers(RAN), answers(REFERRED, FAULT))
def test_a_run_is_its_sides_and_a_reference_the_judges(tree: Path, place: Path, ran: dict[str, Any], referred: dict[str, Any]) -> None:
    found = row()
    judge = Judge("host", Trees(tree, tree, tree), "kernels", place, ROOM)
    with pytest.MonkeyPatch.context() as patch:
        asked = {"run": child(ran), "reference": child(referred)}
        patch.setattr(accuracy, "ask", lambda module, *rest, **more: asked[module](module, *rest, **more))
        judge.accuracy([found])
    sides = [found.sides[side].failure for side in Side]
    assert all(sides) or found.trouble  # the reference left no outputs
    assert all(failure is None or failure.kind is not FailureKind.INFRASTRUCTURE for failure in sides)
    assert all(failure.kind is FailureKind.INFRASTRUCTURE for failure in found.trouble)
    sendable(found)


@examples(60)
@given(answers(TIMED), answers({}, FAULT))
def test_a_session_or_why_there_is_none(tree: Path, place: Path, timed: dict[str, Any], referred: dict[str, Any]) -> None:
    found = row()
    judge = Judge("host", Trees(tree, tree, tree), "kernels", place, ROOM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "ask", child(timed))
        patch.setattr(accuracy, "ask", child(referred))
        Timer(judge).take([found], Stage.SCREEN, Side.BASE, Rules(), verify=True)
    assert found.trouble or found.sides[Side.HEAD].failure or found.sides[Side.BASE].failure
    decide(found.sessions, Rules())
    sendable(found)


@examples()
@given(st.lists(st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()), max_size=4).map(b"\n".join))
def test_lines_are_objects_that_can_be_sent_on(output: bytes) -> None:
    for line in _lines(output):
        json.dumps(line, ensure_ascii=False).encode()


@examples(60)
@given(answers(LISTED, {**FAULT, "folder": "scale"}))
def test_a_listing_or_a_broken_judge(tree: Path, answer: dict[str, Any]) -> None:
    trees = Trees(tree, tree, tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enumeration, "ask", lambda *_, **__: ended({**answer, "folder": "scale"}))
        try:
            found, rows = enumeration.Enumerator(job(), trees, HOST, ROOM).find()
        except enumeration.JudgeBroken as error:
            assert str(error) and error.line >= 0
            return
    load(Enumeration, dump(found))
    for one in rows:
        sendable(one)


@pytest.mark.parametrize("part", [{"flops": math.nan}, {"bytes": math.inf}, {"shape": {"n": 9, "scale": -math.inf}}], ids=str)
def test_a_number_of_a_case_that_json_does_not_have_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch, part: dict[str, Any]) -> None:
    answer = {**LISTED, "cases": [{**plain(CASE), **part}], "folder": "scale"}
    monkeypatch.setattr(enumeration, "ask", lambda *_, **__: ended(answer))
    with pytest.raises(enumeration.JudgeBroken, match=rf"scale/cases.py: cases\.0\.{next(iter(part))}.*finite"):
        enumeration.Enumerator(job(), Trees(tree, tree, tree), HOST, ROOM).find()


@examples(60)
@given(answers(PROBED))
def test_a_device_or_the_word_that_it_can_not_be_opened(answer: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probing, "ask", lambda *_, **__: ended(answer))
        try:
            info, _ = probing.probe("host", ROOM.stop)
        except (SandboxError, ToolchainMissing):
            return
    load(NodeInfo, dump(info))


def test_depth_and_half_characters_are_no_answer() -> None:
    deep = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert _lines(b'%s\n{"a": "\\ud800"}\n{"b": "\xff"}\n{"c": 1}\n{"d"' % deep) == [{"c": 1}]


def test_a_process_that_leaves_without_an_answer_takes_the_blame_of_the_case_in_flight(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaves(module: str, request: Any, *_: object, **__: object) -> Reply:
        return ended({"start": request["items"][0]["index"]}) if module == "run" else ended({"start": 1}, {"index": 1, "limit": math.nan})

    monkeypatch.setattr(accuracy, "ask", leaves)
    monkeypatch.setenv("KERNELGATE_CACHE", str(tmp_path))
    found = row()
    Judge("host", Trees(tree, tree, tree), "kernels", tmp_path, ROOM).accuracy([found])
    assert [found.sides[side].failure.kind for side in Side] == [FailureKind.CRASHED] * 2


@pytest.mark.parametrize(
    "said", [{"limit": math.nan}, {"limit": -1.0}, {"limit": "1e-3"}, {}, {"error": "no", "line": 1.5}, {"limit": 0.1}]
)
def test_a_judge_that_answers_oddly_is_nobodys_kernel(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any]
) -> None:
    asked = {"run": child({}), "reference": child(said)}
    monkeypatch.setattr(accuracy, "ask", lambda module, *rest, **more: asked[module](module, *rest, **more))
    monkeypatch.setenv("KERNELGATE_CACHE", str(tmp_path))
    found = row()
    Judge("host", Trees(tree, tree, tree), "kernels", tmp_path, ROOM).accuracy([found])
    (told,) = found.trouble
    assert told.kind is FailureKind.INFRASTRUCTURE and "the judge's reference of scale failed" in told.message
    assert all(found.sides[side].failure is None for side in Side)


@pytest.mark.parametrize("module", ["run", "race", "timed"])
def test_a_machine_without_memory_is_nobodys_kernel(
    tree: Path, builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setenv("KERNELGATE_CACHE", str(tmp_path))
    for asking in (accuracy, racing, timing):
        monkeypatch.setattr(asking, "ask", child({"starved": "the machine has no memory"}))
    found, trees = row(), Trees(tree, tree, tree)
    judge = Judge("host", trees, "kernels", tmp_path, ROOM)
    if module == "race":
        RaceCheck(builder, trees, "kernels", ROOM, 1.0).check([found])
    elif module == "timed":
        Timer(judge).take([found], Stage.SCREEN, Side.BASE, Rules(), verify=True)
    else:
        judge.accuracy([found])
    assert {failure.kind for failure in found.trouble} == {FailureKind.INFRASTRUCTURE} and "no memory" in found.trouble[0].message
    assert all(found.sides[side].failure is None and found.sides[side].accuracy == FINE for side in Side) and not found.races

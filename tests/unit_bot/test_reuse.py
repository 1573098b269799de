"""What of a merge group counts as judged: the same files from the same files, and nothing shared between them."""

from __future__ import annotations

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from bot.core.reuse import Changes, Judged, Layout, judged_before

GEMM, FA, SHARED, CONFIG = "kernels/gemm/gemm.cu", "kernels/fa_tile/fa.cu", "kernels/include/x.h", ".kernelgate.toml"
LAYOUT = Layout("kernels", CONFIG, ("fa_tile", "gemm"))
A, B = Judged("a", {GEMM: "1"}, {}), Judged("b", {FA: "2", "README.md": "3"}, {"docs/x.md": "4"})


def test_two_members_that_changed_a_kernel_each_leave_nothing_to_measure() -> None:
    assert judged_before({GEMM: "1", FA: "2"}, LAYOUT, [A, B]) == {"gemm": "a", "fa_tile": "b"}


def test_the_newest_of_equal_runs_is_taken() -> None:
    assert judged_before({GEMM: "1"}, Layout("kernels", CONFIG, ("gemm",)), [Judged("new", {GEMM: "1"}, {}), A]) == {"gemm": "new"}


@pytest.mark.parametrize(
    ("group", "known"),
    [
        ({GEMM: "9"}, A),
        ({GEMM: "1", "kernels/gemm/more.h": "2"}, A),
        ({GEMM: "1", SHARED: "5"}, A),
        ({GEMM: "1", CONFIG: "5"}, A),
        ({GEMM: "1", "kernels/top.py": "5"}, A),
        ({GEMM: "1"}, Judged("a", {GEMM: "1", SHARED: "5"}, {})),
        ({GEMM: "1"}, Judged("a", {GEMM: "1"}, {SHARED: "5"})),
        ({GEMM: "1"}, Judged("a", {GEMM: "1"}, {"kernels/gemm/plan.py": "5"})),
        ({GEMM: "1"}, Judged("a", {GEMM: "1"}, {CONFIG: "5"})),
        ({}, A),
    ],
)  # fmt: skip
def test_a_new_combination_is_measured(group: Changes, known: Judged) -> None:
    assert judged_before(group, LAYOUT, [known]) == {}


PATHS = st.dictionaries(st.sampled_from([GEMM, FA, SHARED, CONFIG, "kernels/gemm/plan.py", "README.md"]), st.sampled_from("12"))


@examples()
@given(PATHS, PATHS, PATHS, st.sampled_from(["kernels", "kernels/", ".", ""]))
def test_what_is_judged_was_changed_alike(group: Changes, changes: Changes, drift: Changes, suite: str) -> None:
    found = judged_before(group, Layout(suite, CONFIG, LAYOUT.kernels), [Judged("a", changes, drift)])
    for kernel in found:
        folder = f"kernels/{kernel}/"
        assert {p: b for p, b in group.items() if p.startswith(folder)} == {p: b for p, b in changes.items() if p.startswith(folder)}
        assert not {SHARED, CONFIG} & {*group, *changes, *drift}

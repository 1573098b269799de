"""The static gate's verdicts on made-up figures, and its page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.adapters import static_page
from bot.core.enums import StaticVerdict
from bot.core.static_gate import compare
from runners.protocol import KernelResources, Side, StaticEntry

FIGURES = KernelResources("k", registers=96, blocks_per_unit=5, waves_per_simd=10, code_bytes=400, instructions={"total": 40, "fma": 8})
BASE = StaticEntry("gfx1030", "k", "k/edge/r/n8/f32", Side.BASE, ok=True, toolchain="clang 22", resources=FIGURES, hash="aa", seconds=0.31)


def head(log: str = "", infeasible: str = "", **figures: int) -> StaticEntry:
    changed = replace(FIGURES, **figures)
    return replace(BASE, side=Side.HEAD, ok=not log, resources=None if log else changed, hash="bb", log=log, infeasible=infeasible)


BAD = replace(BASE, ok=False, resources=None, log="error")


@pytest.mark.parametrize(
    ("base", "now", "verdict", "change"),
    [
        (BASE, head(), "ok", ""),
        (BASE, head(registers=100), "ok", "registers 96 to 100"),
        (BASE, head(spill_bytes=8, local_bytes=16), "fail", "new spill, local_bytes 0 to 16"),
        (BASE, head(registers=132, blocks_per_unit=4), "warn", "registers 96 to 132, blocks_per_unit 5 to 4"),
        (BASE, head(local_bytes=16), "warn", "local_bytes 0 to 16"),
        (BASE, head(blocks_per_unit=6), "ok", "blocks_per_unit 5 to 6"),
        (BASE, head(infeasible="3 blocks declared"), "fail", "cannot be resident"),
        (BASE, head(log="k.cu:3: error"), "fail", "does not compile"),
        (BAD, head(log="k.cu:3: error"), "warn", "does not compile"),
        (BAD, head(), "ok", "base failed"),
        (replace(BASE, toolchain="clang 19"), head(spill_bytes=8), "warn", "new"),
        (replace(BASE, resources=replace(FIGURES, spill_bytes=8)), head(spill_bytes=12), "fail", "spill_bytes 8 to 12"),
        (replace(BASE, resources=replace(FIGURES, spill_bytes=8)), head(), "ok", "spill_bytes 8 to 0"),
    ],
)
def test_verdict_and_change(base: StaticEntry, now: StaticEntry, verdict: str, change: str) -> None:
    (report,) = compare([base, now])
    assert (report.verdict, report.change) == (StaticVerdict(verdict), change)


def test_a_report_carries_all_figures() -> None:
    (report,) = compare([BASE, head()])
    assert (report.code_bytes, report.instructions, report.seconds) == (400, {"total": 40, "fma": 8}, 0.31)


def test_the_page_folds_the_difference_of_the_listings_and_escapes_it() -> None:
    listings = {"aa": ("v_add <b>", "s_endpgm"), "bb": ("v_sub", "s_endpgm")}
    page = static_page.page([BASE, head(registers=132, blocks_per_unit=4)], listings.get)
    assert "<del>-v_add &lt;b&gt;</del>" in page and "<ins>+v_sub</ins>" in page and "<span> s_endpgm</span>" in page
    assert "96 → 132" in page and "warn" in page and page.count("<details>") == 1


def test_the_page_says_where_there_is_no_listing_and_shortens_a_long_one() -> None:
    assert "There is no listing of one side" in static_page.page([BASE, head(log="k.cu:3: error")], {}.get)
    long = {"aa": ["a"], "bb": [f"b{n}" for n in range(static_page.MOST_LINES + 5)]}
    assert "7 more lines are left out" in static_page.page([BASE, head()], long.get)


def test_equal_code_is_no_change() -> None:
    page = static_page.page([BASE, replace(BASE, side=Side.HEAD)], {}.get)
    assert "Rows whose code changed" not in page and "<details open>" in page

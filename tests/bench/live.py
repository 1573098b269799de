"""The whole way from launches to verdict on a device: the suite against itself, and against itself slowed by a known amount.

    kernelgate bench live [--device cuda:0] [--floor 0.005] [--comparisons 300] [--slowed 100] [--changes 0.01] [--json F]

Code, plans, timing children and rules are the product's; what is left out is accuracy, and suspects are confirmed side by side in
one process instead of alone. Slowed: each thread begins with so many dependent FMAs that the case takes longer by the wanted
share; base has the same code with one of them. What that share really is, the truth, is measured by a run ten times as long.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import click
from tabulate import tabulate

from kernels.catalog import SUITE
from runners import toolchains
from runners.accuracy import Judge
from runners.building import Builder
from runners.enumeration import Enumerator
from runners.preparing import Preparer
from runners.probing import probe
from runners.protocol import Accuracy, Job, Mode, NodeInfo, Selection, Side, Stage
from runners.roofline import roofline
from runners.room import room_for
from runners.rows import Row, SideWork
from runners.sampling import Action, Finding, Limits, Rules, conclude, decide, estimate_of
from runners.session import Budget, screen
from runners.timing import Timer
from runners.trees import Trees

TURNS = "KG_BENCH_TURNS"
DELAY = f"""
#ifdef {TURNS}
__device__ float kg_bench_sink;
static __device__ __forceinline__ void kg_bench_delay() {{
    float x = float(threadIdx.x);
#pragma unroll 1
    for (int i = 0; i < {TURNS}; ++i) x = kg_fma(x, 0.999f, 0.001f);
    if (x == -1.0f) kg_bench_sink = x;  // never, but no compiler knows
}}
#else
#define kg_bench_delay()
#endif
"""
ENTRY = re.compile(r'(extern "C" __global__[^{]*)\{')
TOGETHER = 50  # comparisons that go through their sessions side by side
RIGHT = Accuracy(0.0, 0.0, 0.0, 1.0, 0, 0, 0, 1.0, True)  # not asked here
LONG = Limits(first_quads=150, step_quads=1, most_quads=150)  # four sessions: 600 quads, where a comparison takes 20 to 80
LONG_SESSIONS = 4
REFINED = 2  # how often the number of FMAs is put right, since they don't cost the same each
UNNAMED = "0" * 40


@dataclass(frozen=True)
class Slowed:
    """A case with code for both sides, how much longer head is meant to take, and what it does take (log of base over head)."""

    row: Row
    change: float
    truth: float


class Together(Timer):
    """The product's timer without its second look at outputs."""

    def take(self, rows: Sequence[Row], stage: Stage, first: Side, rules: Rules, verify: bool) -> None:
        super().take(rows, stage, first, rules, verify=False)


@dataclass(frozen=True)
class Bench:
    """One device with the suite's code built for it."""

    timer: Timer
    builder: Builder
    tree: Path
    rules: Rules

    def compare(self, rows: Sequence[Row], until: float) -> list[Row]:
        """Those of the rows that were compared to the end before `until` (of the monotonic clock)."""
        done: list[Row] = []
        for at in range(0, len(rows), TOGETHER):
            if time.monotonic() > until:
                break
            group = rows[at : at + TOGETHER]
            screen(self.timer, group, (), self.rules, Budget(math.inf, 0.0))
            self._confirm([row for row in group if row.sound and decide(row.sessions, self.rules).action is Action.CONFIRM])
            done += [row for row in group if row.sound]
            _say(f"{len(done)} of {len(rows)} comparisons")
        return done

    def _confirm(self, suspects: Sequence[Row]) -> None:
        number = 0
        while suspects := [row for row in suspects if row.sound and decide(row.sessions, self.rules, True).action is Action.SESSION]:
            self.timer.take(suspects, Stage.CONFIRM, tuple(Side)[number % 2], self.rules, verify=False)
            number += 1

    def log(self, rows: Sequence[Row], rules: Rules, sessions: int) -> list[float]:
        """Log of base time over head time of each row, from as many sessions."""
        for number in range(sessions):
            self.timer.take(rows, Stage.SCREEN, tuple(Side)[number % 2], rules, verify=False)
        found = [estimate_of(row.sessions, rules) for row in rows]
        return [one.log if one else math.nan for one in found]

    def turned(self, row: Row, turns: int, index: int) -> Row:
        """The row with one FMA before base's code and `turns` before head's."""
        sides = {side: self._side(row, count) for side, count in ((Side.BASE, 1), (Side.HEAD, turns))}
        return replace(fresh(row, index), sides=sides)

    def _side(self, row: Row, turns: int) -> SideWork:
        draft, plan = row.sides[Side.BASE].draft, row.sides[Side.BASE].plan
        assert draft is not None
        builds = {name: replace(build, defines={**build.defines, TURNS: turns}) for name, build in draft.builds.items()}
        orders = {name: self.builder.order(self.tree, f"kernels/{row.kernel}", build) for name, build in builds.items()}
        return SideWork(draft, {name: order.result() for name, order in orders.items()}, plan, RIGHT)

    def slowed(self, rows: Sequence[Row], changes: Sequence[float]) -> list[Slowed]:
        """Each row slowed by each change, with the truth; a case that can't be slowed by a small enough step is left out."""
        found = [(row, change, change / per_turn) for row, per_turn in self._per_turn(rows) for change in changes]
        for _ in range(REFINED):
            logs = self.log([self.turned(row, 1 + round(turns), number) for number, (row, _, turns) in enumerate(found)], self.rules, 2)
            scales = [min(max(change / -log, 0.25), 4.0) if log < 0 else 4.0 for (_, change, _), log in zip(found, logs, strict=True)]
            found = [(row, change, turns * scale) for (row, change, turns), scale in zip(found, scales, strict=True)]
        found = [one for one in found if one[2] >= 1]
        made = [self.turned(row, 1 + round(turns), number) for number, (row, _, turns) in enumerate(found)]
        _say(f"the truth of {len(made)} slowed cases")
        truths = self.log(made, replace(self.rules, limits=LONG), LONG_SESSIONS) if made else []
        known = [Slowed(one, change, log) for one, (_, change, _), log in zip(made, found, truths, strict=True) if math.isfinite(log)]
        return [replace(one, row=fresh(one.row, number)) for number, one in enumerate(known)]

    def _per_turn(self, rows: Sequence[Row]) -> Iterator[tuple[Row, float]]:
        """What one FMA more adds to each row, as a share: from ever more of them until the row is clearly slower."""
        turns, left, clear = 64, list(rows), math.log1p(4 * self.rules.floor)
        while left and turns <= 1 << 18:
            logs = self.log(made := [self.turned(row, turns, number) for number, row in enumerate(left)], self.rules, 2)
            yield from ((row, math.expm1(-log) / turns) for row, log in zip(left, logs, strict=True) if -log >= clear)
            left = [row for row, log, one in zip(left, logs, made, strict=True) if one.sound and -log < clear]
            turns *= 4


def fresh(row: Row, index: int) -> Row:
    """The same comparison, nothing measured yet."""
    sides = {side: replace(work, accuracy=RIGHT) for side, work in row.sides.items()}
    return Row(index, row.kernel, row.case, row.buffers, sides=sides)


def suite(place: Path) -> Path:
    """A checkout of the installed suite whose kernels can be slowed."""
    for folder in (path.parent for path in SUITE.glob("*/plan.py")):
        shutil.copytree(folder, place / "kernels" / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    for source in place.glob("kernels/*/*.cu"):
        text = ENTRY.sub(r"\1{ kg_bench_delay();", source.read_text(encoding="utf-8"))
        source.write_text(text.replace('extern "C"', DELAY + 'extern "C"', 1), encoding="utf-8")
    return place


def job(kernels: Sequence[str], models: Sequence[str], tier: Any) -> Job:
    chosen = Selection(kernels=tuple(kernels), models=tuple(models), modes=(Mode.PERFORMANCE,), tier=tier)
    return Job(
        schema=1, id="1", run="1", attempt="1", repository="kernelgate/suite", clone_url="", base=UNNAMED, head=UNNAMED, judge=UNNAMED,
        pool="bench", selection=chosen, budget_seconds=1e6, floor=0.01, harm=0.03,
    )  # fmt: skip


def figures(rows: Sequence[Row], rules: Rules, truths: Sequence[float]) -> dict[str, Any]:
    """What became of comparisons whose truths are known."""
    said = [conclude(row.sessions, rules) for row in rows]
    known = [(one, truth) for (_, one), truth in zip(said, truths, strict=True) if one]
    return {
        "comparisons": len(rows),
        "truth": 100 * fmean(-math.expm1(truth) if truth > 0 else math.expm1(-truth) for truth in truths),
        **{finding.value: 100 * sum(one is finding for one, _ in said) / len(rows) for finding in Finding},
        "median error": 100 * median(abs(one.log - truth) for one, truth in known) if known else math.nan,
        "covers": 100 * fmean(math.log(one.lo) <= truth <= math.log(one.hi) for one, truth in known) if known else math.nan,
        "quads": fmean(sum(len(one.quads) for one in row.sessions) for row in rows),
        "discarded": sum(bool(one.disturbed) for row in rows for one in row.sessions),
        "GPU s": fmean(row.gpu_seconds for row in rows),
    }


@click.command()
@click.option("--device", default="cuda:0", show_default=True)
@click.option("--floor", default=0.005, show_default=True, type=click.FloatRange(0.001, 1, max_open=True))
@click.option("--comparisons", default=300, show_default=True, help="of the suite with itself")
@click.option("--slowed", default=100, show_default=True, help="comparisons of each change")
@click.option("--changes", default="0.01", show_default=True, help="how much longer head takes there")
@click.option("--kernels", default="", help="folders, by comma; all without")
@click.option("--models", default="llama-1b,qwen3.5-35b-a3b", show_default=True)
@click.option("--tier", default="gate", show_default=True, type=click.Choice(["smoke", "gate", "full"]))
@click.option("--most-mib", default=10.0, show_default=True, help="of a case's buffers: inputs are drawn anew for each session")
@click.option("--seconds", default=410.0, show_default=True, help="what is not begun by then is left out, and the table says so")
@click.option("--json", "file", type=click.Path(path_type=Path), help="write the tables here")
def main(
    device: str, floor: float, comparisons: int, slowed: int, changes: str, kernels: str, models: str, tier: str, most_mib: float,
    seconds: float, file: Path | None,
) -> None:  # fmt: skip
    """Print false alarms, the share of slow-downs found, errors and GPU seconds a comparison."""
    began = time.monotonic()
    room = room_for(device, threading.Event())
    info, described = probe(device, room.stop, "bench")
    with tempfile.TemporaryDirectory(prefix="kernelgate-live-") as made:
        work, rules = Path(made), Rules(floor=floor, harm=max(floor, 0.03))
        tree = suite(work / "suite")
        asked, trees = job(_words(kernels), _words(models), tier), Trees(tree, tree, tree)
        builder = Builder(toolchains.for_target(info.target), info.target, work / "code")
        listed = Enumerator(asked, trees, described, room).find()[1]
        small = [row for row in listed if not row.held_out and sum(b.storage_bytes for b in row.buffers) <= most_mib * 2**20]
        rows = [
            row for row in Preparer(asked, trees, described, room, builder).prepare(small) if all(s.runnable for s in row.sides.values())
        ]
        if not rows:
            raise click.ClickException("no case of these models, kernels and tier is as small")
        _say(f"{len(rows)} cases built in {time.monotonic() - began:.0f} s")
        bench = Bench(Together(Judge(device, trees, asked.suite, work, room)), builder, tree, rules)
        table = _slowed(bench, rows, [float(c) for c in _words(changes)], slowed, began + 0.55 * seconds)
        equal = bench.compare([fresh(rows[n % len(rows)], n) for n in range(comparisons)], began + seconds)
        table = [*_equal(equal, rules), *table]
        line = roofline(device, info, room, work)
        builder.close()
    _tell(info, floor, table, len(rows), time.monotonic() - began)
    if line:
        rates = f"{line.f32 / 1e12:.3f} TFLOP/s f32, {line.f16 / 1e12:.3f} in halves, GB/s: read {line.read / 1e9:.1f}"
        click.echo(f"\nRoofline: {rates}, copy {line.copy / 1e9:.1f}, from cache {line.cached / 1e9:.1f}")
    if file is not None:
        file.write_text(
            json.dumps({"device": info.device, "driver": info.driver, "floor": floor, "rows": table}, indent=1), encoding="utf-8"
        )


def _slowed(bench: Bench, rows: Sequence[Row], changes: Sequence[float], count: int, until: float) -> list[dict[str, Any]]:
    """The longest case of each kernel, slowed by each change, compared `count` times in all; a line each, and one for each change."""
    longest = {row.case.kernel: row for row in sorted(rows, key=lambda row: row.case.flops)}
    variants = bench.slowed(list(longest.values()), changes) if count else []
    several = [variants[n % len(variants)] for n in range(count * len(changes))] if variants else []
    done = bench.compare([fresh(one.row, n) for n, one in enumerate(several)], until)
    pairs = [(several[row.index], row) for row in done]
    groups = [(f"slower by about {100 * c:g} %", [(one, row) for one, row in pairs if one.change == c]) for c in changes]
    groups += [
        (f"{v.row.case.id}, {100 * v.change:g} %", [(o, r) for o, r in pairs if (o.row.case.id, o.change) == (v.row.case.id, v.change)])
        for v in variants
    ]
    return [{"what": what, **figures([r for _, r in some], bench.rules, [o.truth for o, _ in some])} for what, some in groups if some]


def _equal(rows: Sequence[Row], rules: Rules) -> Iterator[dict[str, Any]]:
    groups = [("no change", list(rows))] + [
        (f"no change, {name}", [r for r in rows if r.kernel == name]) for name in sorted({r.kernel for r in rows})
    ]
    for what, some in groups:
        if some:
            yield {"what": what, **figures(some, rules, [0.0] * len(some))}


def _tell(info: NodeInfo, floor: float, table: Sequence[dict[str, Any]], cases: int, seconds: float) -> None:
    click.echo(
        f"{info.device}, driver {info.driver}, {info.toolchain}; {cases} cases, floor {100 * floor:g} %, {seconds:.0f} s; shares in %\n"
    )
    click.echo(tabulate([list(one.values()) for one in table], list(table[0]) if table else (), floatfmt=".2f"))


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _say(text: str) -> None:
    click.echo(text, err=True)


if __name__ == "__main__":
    sys.exit(main())

"""The rows of every table, as short cells; headers and sentences stand in the templates."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot.adapters import count_rows
from bot.adapters.inert import code
from bot.core.report import CaseReport, Run, StaticReport
from bot.core.traits import NOT_SLOWER, RIGHT, SLOWER, WRONG, Common, in_common
from bot.core.verdict import CaseVerdict as V
from runners.protocol import Accuracy, Failure

BROKEN = (V.BUILD_FAILED, V.CRASHED, V.TIMED_OUT, V.INCORRECT)
ORDER = (*BROKEN, V.SUSPICIOUS, V.SLOWER, V.INCONCLUSIVE, V.NOT_MEASURED, V.NEW, V.REMOVED, V.FASTER, V.SAME, V.CORRECT, V.IDENTICAL)
Row = tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """What the templates ask of a run, counted and ordered once."""

    counts: tuple[tuple[str, int], ...]
    broken: tuple[tuple[str, CaseReport], ...]
    wrong_in_common: tuple[Common, ...]
    slower_in_common: tuple[Common, ...]
    races: tuple[Row, ...]
    remarks: tuple[tuple[str, CaseReport], ...]
    disturbed: tuple[int, tuple[str, ...]]
    speed: tuple[Row, ...]
    accuracy: tuple[Row, ...]
    models: tuple[Row, ...]
    builds: tuple[Row, ...]
    folded: tuple[str, ...]
    quiet: tuple[Row, ...]
    counted: tuple[Row, ...]
    counted_lines: tuple[Row, ...]
    static_changed: tuple[Row, ...]
    static_same: tuple[Row, ...]
    logs: tuple[tuple[str, Failure], ...]
    repeat: str
    timed: int
    host: bool


def facts(run: Run) -> Facts:
    """Everything of `run` that the answer shows; the worst first."""
    cases = sorted(run.cases, key=lambda c: (ORDER.index(c.verdict), c.pool, c.id))
    gpu = {node.pool: node.device for node in run.nodes}
    return Facts(
        counts=tuple((v.value, n) for v in ORDER if (n := sum(c.verdict is v for c in cases))),
        broken=tuple((code(c.id + tunables(c)), c) for c in cases if c.verdict in (*BROKEN, V.SUSPICIOUS)),
        wrong_in_common=in_common(cases, WRONG, RIGHT),
        slower_in_common=in_common(cases, SLOWER, NOT_SLOWER),
        races=tuple(race_rows(cases)),
        disturbed=(sum(c.discarded for c in cases), tuple(dict.fromkeys(why for c in cases for why in c.disturbances))),
        remarks=tuple((code(c.id + tunables(c)), c) for c in cases if c.remarks),
        speed=tuple(speed_row(c, gpu.get(c.pool, c.pool)) for c in cases if c.speedup is not None),
        accuracy=tuple(accuracy_row(c) for c in cases if c.accuracy.head is not None),
        models=tuple(model_rows(cases)),
        builds=tuple(dict.fromkeys(row for c in cases for row in build_rows(c))),
        folded=tuple(code(c.id) for c in cases if c.verdict is V.IDENTICAL),
        quiet=tuple((code(c.id), c.verdict.value, code(c.reason) if c.reason else "") for c in cases if _is_quiet(c)),
        counted=tuple(count_rows.kernel_rows(cases)),
        counted_lines=tuple(count_rows.line_rows(cases)),
        static_changed=tuple(static_row(s) for s in run.static if s.change),
        static_same=tuple(static_row(s) for s in run.static if not s.change),
        logs=tuple(logs(cases))[:5],
        repeat=repeat(run),
        timed=sum(c.speedup is not None for c in cases),
        host=any(node.target == "host" for node in run.nodes),
    )


def _is_quiet(case: CaseReport) -> bool:
    """Cases that no other table shows."""
    return case.speedup is None and case.accuracy.head is None and case.verdict is not V.IDENTICAL and case.verdict not in BROKEN


def logs(cases: Sequence[CaseReport]) -> Iterable[tuple[str, Failure]]:
    """Each log once, under the first case that has it: cases of one build fail alike."""
    told: set[str] = set()
    for case in cases:
        for failure in case.failures:
            if failure.log and failure.log not in told:
                told.add(failure.log)
                yield code(case.id), failure


def race_rows(cases: Sequence[CaseReport]) -> Iterable[Row]:
    """The first finding of each source line; other threads and blocks say the same again."""
    first = {(r.file, r.line): r.message for c in reversed(cases) for r in reversed(c.races)}
    for (file, line), message in sorted(first.items()):
        yield code(f"{file}:{line}"), code(message, 200)


def speed_row(case: CaseReport, gpu: str) -> Row:
    base, head = case.time_us.base, case.time_us.head
    low, high = case.interval or (float("nan"), float("nan"))
    return (
        code(gpu),
        code(case.model),
        code(test_name(case) + tunables(case)),
        f"{base.median:.1f}" if base else "",
        f"{head.median:.1f}" if head else "",
        rate(case, head.median if head else None),
        f"**{case.speedup:.3f}**" if case.verdict in (V.SLOWER, V.FASTER) else f"{case.speedup:.3f}",
        f"{low:.3f} to {high:.3f}",
        _verdict(case),
    )


def accuracy_row(case: CaseReport) -> Row:
    head, base = case.accuracy.head, case.accuracy.base
    assert head is not None
    return (
        code(case.id + tunables(case)),
        _number(head.rel_l2),
        _number(base.rel_l2 if base else None),
        str(head.elements),
        f"{head.nan}/{head.inf}",
        str(head.unwritten),
        _number(head.limit),
        "ok" if head.ok else f"**{code(head.reason or 'incorrect')}**",
    )


def model_rows(cases: Sequence[CaseReport]) -> Iterable[Row]:
    """One row per kernel and model: the worst relative L2 with its limit, sums of the counts."""
    groups: dict[tuple[str, str], list[Accuracy]] = {}
    for case in cases:
        if case.accuracy.head is not None:
            groups.setdefault((case.kernel, case.model), []).append(case.accuracy.head)
    for (kernel, model), found in sorted(groups.items()):
        yield model_row(kernel, model, found)


def model_row(kernel: str, model: str, found: Sequence[Accuracy]) -> Row:
    worst = max(found, key=lambda a: float("inf") if a.rel_l2 is None else a.rel_l2 / a.limit if a.limit else a.rel_l2)
    return (
        code(f"{kernel} {model}"),
        _number(worst.rel_l2),
        str(sum(a.elements for a in found)),
        f"{sum(a.nan for a in found)}/{sum(a.inf for a in found)}",
        str(sum(a.unwritten for a in found)),
        _number(worst.limit),
        "ok" if all(a.ok for a in found) else "**incorrect**",
    )


def build_rows(case: CaseReport) -> Iterable[Row]:
    base, head = case.build.base, case.build.head
    before = {k.name: k for k in base.kernels} if base else {}
    for k in head.kernels if head else ():
        old = before.get(k.name)
        yield (
            code(case.pool),
            code(k.name),
            _change(old and old.registers, k.registers),
            _change(old and old.static_shared + old.dynamic_shared, k.static_shared + k.dynamic_shared),
            _change(old and old.spill_bytes, k.spill_bytes),
            _change(old and old.code_bytes, k.code_bytes),
            f"{head.seconds:.2f}" if head else "",
        )


def static_row(row: StaticReport) -> Row:
    return (
        code(row.target),
        code(row.kernel),
        code(row.row) if row.row else "",
        str(row.registers),
        str(row.static_shared + row.dynamic_shared),
        str(row.spill_bytes),
        f"{row.blocks_per_unit} / {row.waves_per_simd}",
        code(row.limiter) if row.limiter else "",
        (f"**{code(row.change)}**" if row.bad else code(row.change)) if row.change else "",
    )


def test_name(case: CaseReport) -> str:
    """The part of the id that is neither model nor known from its column: kernel, role, shape, dtype."""
    parts = case.id.split("/")
    return " ".join(p for i, p in enumerate(parts) if i != 1) if len(parts) == 5 else case.id


def tunables(case: CaseReport) -> str:
    """The tunables that differ from the plan's own choice, for swept and held-out rows."""
    return "".join(f" {k}={v}" for k, v in sorted(case.tunables.items()))


def rate(case: CaseReport, microseconds: float | None) -> str:
    """TFLOP/s or GB/s, whichever the case is described by, and the share of the measured roofline; empty where it gives neither."""
    if not microseconds:
        return ""
    share = f" ({100 * case.least_us / microseconds:.0f} % of roofline)" if case.least_us else ""
    if case.flops:
        per_second = case.flops / microseconds * 1e6
        return (f"{per_second / 1e12:.2f} TFLOP/s" if per_second >= 1e11 else f"{per_second / 1e9:.2f} GFLOP/s") + share
    return f"{case.bytes / microseconds / 1e3:.1f} GB/s{share}" if case.bytes else ""


def repeat(run: Run) -> str:
    """The shell line that repeats the run without GitHub."""
    words = [shlex.quote(word) for word in run.command.split()[1:]]
    return "kernelgate run" + "".join(f" {w}" for w in words) + f" --repo . --base {run.base} --head {run.head}{_device(run)}"


def _device(run: Run) -> str:
    """The --device option of the run's first node; nothing where no node answered."""
    targets = [node.target for node in run.nodes][:1]
    return "".join(" --device " + ("host" if t == "host" else "hip:0" if t.startswith("gfx") else "cuda:0") for t in targets)


def _verdict(case: CaseReport) -> str:
    name = case.verdict.value
    return f"{name}: {code(case.reason)}" if case.reason and case.verdict in (V.INCONCLUSIVE, V.FASTER, V.SUSPICIOUS) else name


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2e}"


def _change(old: int | None, new: int) -> str:
    return str(new) if old is None or old == new else f"{old} → {new}"

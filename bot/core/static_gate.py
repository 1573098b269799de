"""What a head does to compiled resources, target by target: compiled, not run."""

from __future__ import annotations

from collections.abc import Sequence

from bot.core.enums import StaticVerdict
from bot.core.report import StaticReport
from runners.protocol import KernelResources, Side, StaticEntry

NOTED = ("registers", "static_shared", "dynamic_shared", "local_bytes", "blocks_per_unit", "waves_per_simd")
COPIED = (*NOTED, "spill_bytes", "limiter", "code_bytes", "instructions", "compiler_waves")

Pair = tuple[StaticEntry | None, StaticEntry]  # base, where it has the row, and head


def compare(entries: Sequence[StaticEntry]) -> tuple[StaticReport, ...]:
    """One report a target, kernel and tuning row, of head's figures; only equal toolchains are compared."""
    return tuple(_one(base, head) for base, head in pairs(entries))


def pairs(entries: Sequence[StaticEntry]) -> tuple[Pair, ...]:
    """Head's entries, each with base's of the same target, kernel, row and toolchain."""
    sides: dict[tuple[str, str, str, str], dict[Side, StaticEntry]] = {}
    for entry in entries:
        sides.setdefault((entry.target, entry.kernel, entry.row, entry.toolchain), {})[entry.side] = entry
    return tuple((pair.get(Side.BASE), pair[Side.HEAD]) for pair in sides.values() if Side.HEAD in pair)


def _one(base: StaticEntry | None, head: StaticEntry) -> StaticReport:
    figures = {name: getattr(head.resources, name) for name in COPIED} if head.resources else {}
    return StaticReport(
        target=head.target,
        kernel=head.kernel,
        row=head.row,
        toolchain=head.toolchain,
        **figures,
        seconds=head.seconds,
        change=_change(base, head),
        bad=not _good(head) and (base is None or _good(base)),
        log=head.log or head.infeasible,
        verdict=_verdict(base, head),
    )


def _good(entry: StaticEntry) -> bool:
    return entry.ok and not entry.infeasible


def _verdict(base: StaticEntry | None, head: StaticEntry) -> StaticVerdict:
    """A head that no longer compiles, fits or stays in registers fails; what was there before or may cost speed only warns."""
    if base is not None and not _good(base):
        return StaticVerdict.OK if _good(head) else StaticVerdict.WARN
    if not _good(head):
        return StaticVerdict.FAIL
    old, new = _resources(base), _resources(head)
    if base is None:
        return StaticVerdict.WARN if new.spill_bytes else StaticVerdict.OK
    if new.spill_bytes > old.spill_bytes:
        return StaticVerdict.FAIL
    lost = new.blocks_per_unit < old.blocks_per_unit or new.local_bytes > old.local_bytes
    return StaticVerdict.WARN if lost else StaticVerdict.OK


def _resources(entry: StaticEntry | None) -> KernelResources:
    return (entry and entry.resources) or KernelResources("")


def _change(base: StaticEntry | None, head: StaticEntry) -> str:
    """A short fact: what got worse or better, spills first."""
    if not head.ok:
        return "does not compile"
    if head.infeasible:
        return "cannot be resident"
    if base is None:
        return "new"
    if not _good(base):
        return "base failed"
    return _figures(_resources(base), _resources(head))


def _figures(base: KernelResources, head: KernelResources) -> str:
    changes = []
    if head.spill_bytes > base.spill_bytes:
        changes.append("new spill" if not base.spill_bytes else f"spill_bytes {base.spill_bytes} to {head.spill_bytes}")
    elif head.spill_bytes < base.spill_bytes:
        changes.append(f"spill_bytes {base.spill_bytes} to {head.spill_bytes}")
    found = [(name, getattr(base, name), getattr(head, name)) for name in NOTED]
    return ", ".join([*changes, *(f"{name} {old} to {new}" for name, old, new in found if old != new)])

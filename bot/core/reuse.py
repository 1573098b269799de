"""Merge groups: which kernels of a group were judged already, side for side as they are in it, by gate runs of pull requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.core.report import Run

Changes = Mapping[str, str]  # path to blob; "" where there is none


@dataclass(frozen=True)
class Layout:
    """Where the judged code lies: the suite's folder, the configuration's file, and the kernels that a group changed."""

    suite: str
    config: str
    kernels: tuple[str, ...]

    def folder(self, path: str) -> str:
        """The folder of the suite that a path lies in; "" outside the suite and at its top."""
        prefix = "" if self.suite in ("", ".") else f"{self.suite.strip('/')}/"
        inner = path.removeprefix(prefix) if path.startswith(prefix) else ""
        return inner.partition("/")[0] if "/" in inner else ""

    def is_shared(self, path: str) -> bool:
        """Whether every kernel may depend on a file: the configuration, and what of the suite is in no kernel's folder."""
        inside = path.startswith(f"{self.suite.strip('/')}/") or self.suite in ("", ".")
        return path == self.config or (inside and self.folder(path) not in self.kernels)

    def of(self, kernel: str, changes: Changes) -> Changes:
        return {path: blob for path, blob in changes.items() if self.folder(path) == kernel}


@dataclass(frozen=True)
class Judged:
    """A green gate run: what its head changed, and in what its own base and the group's differ."""

    run: str
    changes: Changes
    drift: Changes


def judged_before(group: Changes, layout: Layout, known: Sequence[Judged]) -> dict[str, str]:
    """Kernels of the group and the run that judged each: the folder was changed from the same files to the same files, and
    nothing that kernels share has changed, neither in the group nor in that run nor between their bases."""
    if any(map(layout.is_shared, group)):
        return {}
    fair = [one for one in known if not any(map(layout.is_shared, [*one.changes, *one.drift]))]
    return {kernel: one.run for one in reversed(fair) for kernel in layout.kernels if _same(kernel, group, layout, one)}


def _same(kernel: str, group: Changes, layout: Layout, one: Judged) -> bool:
    mine = layout.of(kernel, group)
    return bool(mine) and not layout.of(kernel, one.drift) and layout.of(kernel, one.changes) == mine


def together(runs: Sequence[tuple[Run, Sequence[str]]], base: str, head: str, command: str, started: str) -> Run:
    """One report of what several green runs said of these kernels."""
    first = runs[0][0]
    cases = tuple(case for run, kernels in runs for case in run.cases if case.kernel in kernels)
    static = tuple(entry for run, kernels in runs for entry in run.static if entry.kernel in kernels)
    waived = tuple(dict.fromkeys(name for run, _ in runs for name in run.waived))
    waivers = tuple(waiver for run, _ in runs for waiver in run.waivers)
    judged = replace(first, cases=cases, static=static, waived=waived, waivers=waivers)
    return replace(judged, base=base, head=head, command=command, started=started, seconds=0.0)

"""What is seen of a device while a session runs, as plain numbers, and which sessions it spoils. Pure; watchers do the looking.

A session's telemetry is a flat dict: of clocks (`sm_mhz`, its median, with `_min` and `_max`), temperature (`celsius_…`), power
(`watts_…`) and `vram_mib` what was seen between quads; `throttle` the reasons that came or went, `capped` those that held
throughout; `ecc` and `xid` errors since the session began; `app_mhz` and `locked` where clocks are set by hand; `own` the share
of one core that the host's process had, `others` the share of all cores that others had; `apart` the share of quads whose event
time and host time disagree; `foreign` other processes on the card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

Telemetry = dict[str, float | str]

LOWEST_CLOCK = 0.75  # of the session's median; nvbench's guard, there of the default clock
OWN_SHARE = 1 / 3  # of a core: with less, the host was busy with other things
MOST_APART = 0.2  # of quads
APART_SHARE = 0.05  # of the host's time of a quad that may lie outside its events,
APART_US = 20.0  # or as many microseconds


class Watcher(Protocol):
    """Looks at one device: `begin`, then `look` between quads, then `end` with what was seen since."""

    def begin(self) -> None: ...

    def look(self) -> None: ...

    def end(self) -> Telemetry: ...


@dataclass(frozen=True)
class Sample:
    """One look at a card; None where it does not say. `reasons` are why its clock is not higher, idle and set clocks left out."""

    sm_mhz: float | None = None
    memory_mhz: float | None = None
    celsius: float | None = None
    watts: float | None = None
    vram_mib: float | None = None
    reasons: frozenset[str] = frozenset()


class Unwatched:
    """A device of which nothing can be seen, and why."""

    def __init__(self, why: str) -> None:
        self.why = why

    def begin(self) -> None: ...

    def look(self) -> None: ...

    def end(self) -> Telemetry:
        return {"unwatched": self.why[:200]}


def summary(samples: Sequence[Sample]) -> Telemetry:
    """The samples of a session in a few numbers."""
    found: Telemetry = {}
    for name in ("sm_mhz", "memory_mhz", "celsius", "watts"):
        values = [value for one in samples if (value := getattr(one, name)) is not None]
        if values:
            found |= {name: float(median(values)), f"{name}_min": min(values), f"{name}_max": max(values)}
    if known := [one.vram_mib for one in samples if one.vram_mib is not None]:
        found["vram_mib"] = max(known)
    ever = frozenset[str]().union(*(one.reasons for one in samples))
    always = ever.intersection(*(one.reasons for one in samples))
    for name, reasons in (("throttle", ever - always), ("capped", always)):
        if reasons:
            found[name] = ", ".join(sorted(reasons))[:200]
    return found


def disturbance(telemetry: Mapping[str, float | str]) -> str:
    """Why a session with this telemetry does not count; empty if it does."""
    if reasons := telemetry.get("throttle"):
        return f"throttled in the middle: {reasons}"
    if telemetry.get("xid"):
        return f"the driver reported Xid {telemetry['xid']}"
    if _number(telemetry, "ecc") > 0:
        return f"{_number(telemetry, 'ecc'):.0f} uncorrected memory errors"
    if telemetry.get("foreign"):
        return f"other processes on the card: {telemetry['foreign']}"
    if 0 < _number(telemetry, "sm_mhz_min", 1e9) < LOWEST_CLOCK * _number(telemetry, "sm_mhz"):
        return f"the clock fell to {_number(telemetry, 'sm_mhz_min'):.0f} of {_number(telemetry, 'sm_mhz'):.0f} MHz"
    if _number(telemetry, "own", 1.0) < OWN_SHARE:
        return f"foreign load: the process had {100 * _number(telemetry, 'own'):.0f} % of a core"
    if _number(telemetry, "apart") > MOST_APART:
        return f"event time and host time disagree in {100 * _number(telemetry, 'apart'):.0f} % of quads"
    return ""


def disagree(events_us: float, host_us: float) -> bool:
    """Whether work lies outside the events: host time, up to a device-wide synchronisation, exceeds theirs by 5 % and 20 µs."""
    return abs(host_us - events_us) > max(APART_SHARE * host_us, APART_US)


def _number(telemetry: Mapping[str, float | str], name: str, default: float = 0.0) -> float:
    value = telemetry.get(name, default)
    return float(value) if isinstance(value, int | float) else default

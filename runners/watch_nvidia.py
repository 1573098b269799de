"""An NVIDIA card as NVML shows it. What a card or driver does not support is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runners.telemetry import Sample, Telemetry, Unwatched, Watcher, summary

REASONS = {
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clock setting",
    0x200: "board limit",
    0x400: "reliability",
}
CLOCKS_SET = 0x2


def watch(bus: str) -> Watcher:
    """The watcher of the card at PCI address `bus`; without NVML there is nothing to see."""
    return opened(bus) or Unwatched("NVML is not there, or does not know the card: pip install nvidia-ml-py")


def processes_on(bus: str) -> list[int]:
    """Processes with a compute context on the card; none where NVML does not say."""
    card = opened(bus)
    return card.processes() if card else []


def opened(bus: str) -> NvidiaWatcher | None:
    """None where NVML or the card is not there."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        return NvidiaWatcher(pynvml, bus)
    except pynvml.NVMLError:
        return None


class NvidiaWatcher:
    """The card at PCI address `bus`; raises NVMLError where the driver or the card is not there."""

    def __init__(self, nvml: Any, bus: str) -> None:
        self.nvml, self.bus = nvml, bus
        nvml.nvmlInit()
        self.card = nvml.nvmlDeviceGetHandleByPciBusId(bus)
        self.events = self._try(self._listen)

    def begin(self) -> None:
        self.samples = [self._sample()]
        self.errors = self._ecc()
        self._xid()  # what was reported before is not this session's

    def look(self) -> None:
        self.samples.append(self._sample())

    def end(self) -> Telemetry:
        self.look()
        found: Telemetry = {"bus": self.bus, **summary(self.samples)}
        if (now := self._ecc()) is not None and self.errors is not None:
            found["ecc"] = float(now - self.errors)
        if xid := self._xid():
            found["xid"] = xid
        return found | self._set_clocks()

    def processes(self) -> list[int]:
        return [int(one.pid) for one in self._try(lambda: self.nvml.nvmlDeviceGetComputeRunningProcesses(self.card)) or []]

    def _sample(self) -> Sample:
        nvml, card, ask = self.nvml, self.card, self._try
        milliwatts, memory = ask(lambda: nvml.nvmlDeviceGetPowerUsage(card)), ask(lambda: nvml.nvmlDeviceGetMemoryInfo(card))
        reasons = self._reasons()
        return Sample(
            sm_mhz=ask(lambda: float(nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM))),
            memory_mhz=ask(lambda: float(nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_MEM))),
            celsius=ask(lambda: float(nvml.nvmlDeviceGetTemperature(card, nvml.NVML_TEMPERATURE_GPU))),
            watts=None if milliwatts is None else milliwatts / 1000,
            vram_mib=None if memory is None else memory.used / 2**20,
            reasons=frozenset(text for bit, text in REASONS.items() if reasons & bit),
        )

    def _reasons(self) -> int:
        # the older of two names, which drivers of both ages know
        return int(self._try(lambda: self.nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self.card)) or 0)

    def _set_clocks(self) -> Telemetry:
        clock = self._try(lambda: float(self.nvml.nvmlDeviceGetApplicationsClock(self.card, self.nvml.NVML_CLOCK_SM)))
        locked: Telemetry = {"locked": "yes" if self._reasons() & CLOCKS_SET else "no"}
        return locked if clock is None else locked | {"app_mhz": clock}

    def _ecc(self) -> int | None:
        nvml = self.nvml
        kinds = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        return self._try(lambda: int(nvml.nvmlDeviceGetTotalEccErrors(self.card, *kinds)))

    def _listen(self) -> Any:
        events = self.nvml.nvmlEventSetCreate()
        self.nvml.nvmlDeviceRegisterEvents(self.card, self.nvml.nvmlEventTypeXidCriticalError, events)
        return events

    def _xid(self) -> str:
        """Numbers of the Xid errors reported since the last call."""
        found: list[str] = []
        while self.events is not None and len(found) < 8:
            event = self._try(lambda: self.nvml.nvmlEventSetWait(self.events, 0))  # a time-out where there is none
            if event is None:
                break
            found.append(str(event.eventData))
        return ", ".join(found)

    def _try(self, ask: Callable[[], Any]) -> Any:
        """What NVML answers, None where it has no answer."""
        try:
            return ask()
        except self.nvml.NVMLError:
            return None

"""An AMD card as amdsmi shows it, where ROCm's Python package is installed. Not run on a card so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runners.telemetry import Sample, Telemetry, Unwatched, Watcher, summary


def watch(bus: str) -> Watcher:
    """The watcher of the card at PCI address `bus`; without amdsmi there is nothing to see."""
    try:
        import amdsmi
    except (ImportError, OSError, KeyError) as error:  # it looks for its library when it is imported
        return Unwatched(f"amdsmi is not there: {error}")
    try:
        return AmdWatcher(amdsmi, bus)
    except amdsmi.AmdSmiException as error:
        return Unwatched(f"amdsmi does not know the card: {error}")


class AmdWatcher:
    """The card at PCI address `bus`; raises AmdSmiException where the driver or the card is not there."""

    def __init__(self, smi: Any, bus: str) -> None:
        self.smi, self.bus = smi, bus
        smi.amdsmi_init()
        self.card = smi.amdsmi_get_processor_handle_from_bdf(bus)

    def begin(self) -> None:
        self.samples = [self._sample()]
        self.errors = self._errors()

    def look(self) -> None:
        self.samples.append(self._sample())

    def end(self) -> Telemetry:
        self.look()
        found: Telemetry = {"bus": self.bus, **summary(self.samples)}
        clock = self._try(lambda: self.smi.amdsmi_get_clock_info(self.card, self.smi.AmdSmiClkType.GFX))
        if clock and "clk_locked" in clock:
            found["locked"] = "yes" if clock["clk_locked"] is True else "no"
        if (now := self._errors()) is not None and self.errors is not None:
            found["ecc"] = now - self.errors
        return found

    def _sample(self) -> Sample:
        smi, card, ask = self.smi, self.card, self._try
        kinds = smi.AmdSmiTemperatureType.EDGE, smi.AmdSmiTemperatureMetric.CURRENT
        power = ask(lambda: smi.amdsmi_get_power_info(card)) or {}
        return Sample(
            sm_mhz=_number(ask(lambda: smi.amdsmi_get_clock_info(card, smi.AmdSmiClkType.GFX)) or {}, "clk", "cur_clk"),
            memory_mhz=_number(ask(lambda: smi.amdsmi_get_clock_info(card, smi.AmdSmiClkType.MEM)) or {}, "clk", "cur_clk"),
            celsius=_number({"now": ask(lambda: smi.amdsmi_get_temp_metric(card, *kinds))}, "now"),
            watts=_number(power, "current_socket_power", "average_socket_power"),
            vram_mib=_number(ask(lambda: smi.amdsmi_get_gpu_vram_usage(card)) or {}, "vram_used"),
            reasons=self._throttled(),
        )

    def _throttled(self) -> frozenset[str]:
        metrics = self._try(lambda: self.smi.amdsmi_get_gpu_metrics_info(self.card)) or {}
        return frozenset({"the card says so"} if metrics.get("throttle_status") is True else ())

    def _errors(self) -> float | None:
        """Uncorrectable RAS errors."""
        return _number(self._try(lambda: self.smi.amdsmi_get_gpu_total_ecc_count(self.card)) or {}, "uncorrectable_count")

    def _try(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except self.smi.AmdSmiException:
            return None


def _number(found: Any, *names: str) -> float | None:
    """The first of the names that holds a number: what a card does not know is "N/A"."""
    return next((float(v) for name in names if isinstance(v := found.get(name), int | float) and not isinstance(v, bool)), None)

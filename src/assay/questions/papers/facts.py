"""Properties of the machine that exhibits compare, as the run's survey recorded them.

Properties of one node: ``cores``; ``memory`` (B); ``clock`` (Hz: the nominal rate, else the rate
measured while all cores computed); ``peak`` (flop/s of all cores, at the measured clock rate, else
at the rate that ``system.peak`` chooses); ``price`` (USD, from assay.toml); ``adapters`` (number of
physical adapters that are up, or of virtual ones with a rate if there are none); ``adapter_rate``
(B/s of the fastest adapter); ``adapter_rates`` (B/s of all adapters, since an MPI library may
divide a message among them); ``bus_rate`` (maximum B/s of the fastest adapter's bus).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from assay.questions.common.selection import covariate
from assay.records.model import RunData

if TYPE_CHECKING:
    from assay.system.model import Adapter, System


def fact_of(run: RunData, name: str) -> float | None:
    """A property of a node in SI units; None if the survey didn't record it."""
    from assay.system.model import System

    if name == "price":
        prices = run.manifest.prices
        return prices.amounts.get("node") if prices.currency == "USD" else None
    system = System.known(run.manifest.system)
    if system is None:
        return None
    if name == "peak":
        return _peak(system, _clock_of(run))
    if name == "clock":
        return _clock(system) or _clock_of(run)
    return _FACTS[name](system)


def _clock_of(run: RunData) -> float | None:
    """The clock rate (Hz) while all cores of a node computed; None if no kernel measured it."""
    for kernel in _COMPUTING:
        cells = [cell for cell in run.manifest.plan.cells if cell.kernel == kernel]
        most = max((cell.placement.ppn * cell.placement.threads for cell in cells), default=0)
        full = [c.id for c in cells if c.placement.ppn * c.placement.threads == most]
        clock = covariate(run, full, "clock_rate")
        if clock is not None:
            return clock
    return None


def fact_units() -> Mapping[str, str]:
    """The unit of each property."""
    return _UNITS


def _cores(system: System) -> float | None:
    return system.usable_cores


def _memory(system: System) -> float | None:
    return system.memory.total


def _clock(system: System) -> float | None:
    frequency = system.processor.frequency
    return frequency.base or frequency.maximum


def _peak(system: System, clock: float | None) -> float | None:
    from assay.system.peak import peak_flops

    cores = system.usable_cores
    found = peak_flops(system, cores, clock) if cores else None
    return None if found is None else found.value


def _physical(system: System) -> list[Adapter]:
    """The physical adapters that are up; on a virtual machine or cluster, the virtual ones."""
    up = [each for each in system.adapters if each.state in (None, "up", "active")]
    virtual = [each for each in up if each.kind != "loopback" and each.speed]
    return [each for each in up if each.physical] or virtual


def _adapters(system: System) -> float | None:
    return len(_physical(system)) or None


def fastest_adapter(system: System) -> Adapter | None:
    """The fastest physical adapter with a known rate; None if there is none."""
    known = [each for each in _physical(system) if each.speed]
    return max(known, key=lambda each: each.speed or 0.0, default=None)


def _adapter_rate(system: System) -> float | None:
    adapter = fastest_adapter(system)
    return None if adapter is None else adapter.speed


def _adapter_rates(system: System) -> float | None:
    return sum(each.speed or 0.0 for each in _physical(system)) or None


def _bus_rate(system: System) -> float | None:
    adapter = fastest_adapter(system)
    return None if adapter is None else adapter.bus


# Kernels that compute without waiting for memory or messages, in order of preference.
_COMPUTING = ("compute.peak", "compute.dgemm", "linpack")
_FACTS: Mapping[str, Callable[[System], float | None]] = {
    "cores": _cores,
    "memory": _memory,
    "adapters": _adapters,
    "adapter_rate": _adapter_rate,
    "adapter_rates": _adapter_rates,
    "bus_rate": _bus_rate,
}
_UNITS: Mapping[str, str] = {
    "price": "USD",
    "cores": "count",
    "memory": "B",
    "clock": "Hz",
    "peak": "flop/s",
    "adapters": "count",
    "adapter_rate": "B/s",
    "adapter_rates": "B/s",
    "bus_rate": "B/s",
}

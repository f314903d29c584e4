"""Which devices a run measured, and the limits of their models (``reference.accelerators``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.questions.common.selection import Point, covariate
from assay.records.model import RunData
from assay.records.schema import MeasurementRecord
from assay.reference.accelerators import AcceleratorModel, accelerators, identify, pcie_bandwidth
from assay.units import counted, format_quantity

# Covariates of a device during a measurement: its clock in Hz, and new errors.
CLOCK = "device_clock"
ERRORS = ("device_ecc_uncorrected", "device_xid")


@dataclass(frozen=True)
class DeviceFacts:
    """A device as its interface describes it."""

    #: Name by the interface.
    name: str
    #: Interface: cuda, hip or opencl.
    backend: str
    #: gpu, cpu or accelerator.
    kind: str
    #: Version of the driver; "" if unknown.
    driver: str
    #: Compute units as the interface counts them; None if unknown.
    units: int | None
    #: Memory, in bytes; None if unknown.
    memory: float | None
    #: PCI address; "" if unknown.
    address: str
    #: Name of its model in the table of limits; None if no limit is known.
    model: str | None

    @property
    def entry(self) -> AcceleratorModel | None:
        """Its model's entry in the table of limits."""
        return next((each for each in accelerators() if each.name == self.model), None)


@dataclass(frozen=True)
class DeviceLimit:
    """A limit of all devices that a cell used."""

    #: The limit, in the unit of the metric.
    rate: float
    #: What it follows from.
    source: str


def devices_of(run: RunData) -> dict[str, DeviceFacts]:
    """The device of each cell that used one, by the cell's id: the first rank's."""
    found: dict[str, DeviceFacts] = {}
    for measurement in run.measurements:
        record = measurement.record
        if measurement.cell.id not in found and "device_name" in record.facts:
            found[measurement.cell.id] = _device(record)
    return found


def _device(record: MeasurementRecord) -> DeviceFacts:
    facts = record.facts
    name, units = str(facts["device_name"]), _number(facts.get("device_units"))
    memory = _number(facts.get("device_memory"))
    entry = identify(name, None if units is None else int(units), memory)
    return DeviceFacts(
        name=name,
        backend=str(record.parameters.get("backend", "")),
        kind=str(facts.get("device_kind", "")),
        driver=str(facts.get("device_driver", "")),
        units=None if units is None else int(units),
        memory=memory,
        address=str(facts.get("device_address", "")),
        model=entry.name if entry else None,
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value > 0 else None


def memory_limit(device: DeviceFacts, devices: int) -> DeviceLimit | None:
    """The bandwidth of the memory of this number of devices, B/s; None if it is unknown."""
    entry = device.entry
    if entry is None:
        return None
    made = f"{format_quantity(entry.bandwidth, 'B/s')}, as its vendor states"
    if entry.bus and entry.data_rate:
        made = f"a bus of {entry.bus} bits at {format_quantity(entry.data_rate, 'bit/s')} per line"
    return DeviceLimit(devices * entry.bandwidth, _times(devices, f"{entry.name}: {made}"))


def arithmetic_limit(
    device: DeviceFacts, kind: str, devices: int, rate: float, clock: float | None
) -> DeviceLimit | None:
    """The peak of a type on this number of devices, op/s; None if it is unknown.

    ``clock``: measured while they computed, Hz. A clock that is too low for the measured ``rate``
    was read before or after the products, and the greatest clock counts.
    """
    entry = device.entry
    stated = entry.peak(kind) if entry else None
    if entry is None or stated is None:
        return None
    if not entry.scales(kind):
        made = f"{format_quantity(stated, 'flop/s')}, as its vendor states"
        return DeviceLimit(devices * stated, _times(devices, f"{entry.name}: {made}"))
    at = f"at {format_quantity(entry.greatest_clock(kind) or 0.0, 'Hz')}, its greatest clock"
    peak = stated
    measured = entry.peak(kind, clock) if clock else None
    if clock and measured and measured * devices >= rate:
        peak, at = measured, f"at {format_quantity(clock, 'Hz')}, the measured clock"
    made = f"{entry.units} units × {entry.ops[kind]:.0f} operations per clock {at}"
    return DeviceLimit(devices * peak, _times(devices, f"{entry.name}: {made}"))


def host_limit(
    device: DeviceFacts, devices: int, ways: int, links: Mapping[str, tuple[int, int]]
) -> DeviceLimit | None:
    """The bandwidth of the links to the host in one or both directions, B/s; None if unknown.

    ``links``: as ``links_of``. Without the machine's own link the greatest of the model counts.
    """
    entry = device.entry
    found = links.get(device.address) or links.get(device.name)
    if found is not None:
        rate, link = pcie_bandwidth(*found), f"PCIe {found[0]}.0 x{found[1]}, as the machine has it"
    elif entry is not None and entry.pcie is not None:
        rate = pcie_bandwidth(*entry.pcie)
        link = f"PCIe {entry.pcie[0]}.0 x{entry.pcie[1]}, the most that {entry.name} has"
    elif entry is not None and entry.host_link is not None:
        rate, link = entry.host_link, f"{entry.host_link_name} of {entry.name}"
    else:
        return None
    if rate is None:
        return None
    both = ", both directions" if ways == 2 else ""
    return DeviceLimit(devices * ways * rate, _times(devices, f"{link}{both}"))


def links_of(system: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """PCIe generation and lanes of the machine's devices, by address, and by name if all agree.

    Generation: the greatest of device and slot, since an idle link has a lower one. Lanes: those in
    use.
    """
    found: dict[str, tuple[int, int]] = {}
    by_name: dict[str, set[tuple[int, int]]] = {}
    devices = system.get("devices")
    for device in devices if isinstance(devices, list) else []:
        if not isinstance(device, dict):
            continue
        generation = device.get("link_generation_most") or device.get("link_generation")
        lanes = device.get("link_width") or device.get("link_width_most")
        if generation and lanes:
            link = (int(generation), int(lanes))
            found[str(device.get("address"))] = link
            by_name.setdefault(str(device.get("name")), set()).add(link)
    for name, links in by_name.items():
        if len(links) == 1:
            found[name] = next(iter(links))
    return found


def measured_clock(run: RunData, point: Point) -> float | None:
    """The clock of the device while a cell was measured, Hz; None if it was not read."""
    return covariate(run, (point.summary.id,), CLOCK)


def unknown_models(devices: Iterable[DeviceFacts]) -> list[str]:
    """A sentence on each device without limits."""
    names = dict.fromkeys(each.name for each in devices if each.model is None)
    return [f"No limit is known for this model: {name}." for name in names]


def _times(devices: int, source: str) -> str:
    return source if devices == 1 else f"{counted(devices, 'device')}, each: {source}"

"""Accelerators as their driver shows them. ``pci`` has the facts of the bus; a device that is on
the bus and that the driver can't reach isn't counted here.

Devices are named by their place in the order of addresses, since addresses change when one is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assay.check.model import Fact, FactRule, FactValue
from assay.system.devices.model import Device
from assay.system.devices.reading import read_devices
from assay.system.files import Tree


def facts(tree: Tree) -> Iterator[Fact]:
    """Count of the working devices, and the state of each. The driver may hang."""
    devices = read_devices(tree)
    # The files of another machine don't show what NVIDIA's library would.
    if tree.live or any(device.source != "pci" for device in devices):
        yield from device_facts(devices)


def device_facts(devices: Iterable[Device]) -> Iterator[Fact]:
    """The facts of these devices; none without any."""
    found = list(devices)
    working = [each for each in found if each.source != "pci" and not each.lost]
    silent = [each.address for each in found if each not in working]
    if found:
        yield Fact(
            name="device.count",
            value=len(working),
            rule="not below",
            look_at=f"check device {silent[0]}" if silent else "check devices",
        )
    for number, device in enumerate(working):
        yield from _state(number, device)


def device_users(facts: Iterable[Fact], own: int | None = None) -> int:
    """How many processes but this one use devices, as these facts say."""
    pids: set[str] = set()
    for fact in facts:
        if fact.name.startswith("device.") and fact.name.endswith(".users"):
            pids |= set(str(fact.value or "").split())
    return len(pids - {str(own)})


def _users(device: Device) -> str | None:
    """The processes that use a device; None if that is unknown."""
    return None if device.users is None else " ".join(str(each.pid) for each in device.users)


def _state(number: int, device: Device) -> Iterator[Fact]:
    look_at = f"check device {device.address}"
    known: tuple[tuple[str, FactValue, str, FactRule], ...] = (
        ("name", device.name, "", "same"),
        ("memory", None if device.memory is None else float(device.memory), "B", "same"),
        ("ecc", device.ecc, "", "same"),
        ("corrected", device.ecc_corrected, "", "counter"),
        ("uncorrected", device.ecc_uncorrected, "", "counter"),
        ("retired_pages", device.retired_pages, "", "not above"),
        ("remapped_rows", device.remapped_rows, "", "not above"),
        ("repair_failed", device.repair_failed, "", "not above"),
        ("xids", None if device.xids is None else len(device.xids), "", "counter"),
        ("links", device.links_up, "", "not below"),
        ("mig", device.mig, "", "same"),
        ("compute_mode", device.compute_mode, "", "same"),
        ("persistence", device.persistence, "", "same"),
        ("power_limit", device.power_limit, "W", "not below"),
        ("clock_application", device.clock_application, "Hz", "not below"),
        ("temperature", device.temperature, "°C", "shown"),
        ("users", _users(device), "", "shown"),
    )
    for name, value, unit, rule in known:
        if value is not None:
            yield Fact(
                name=f"device.{number}.{name}", value=value, unit=unit, rule=rule, look_at=look_at
            )
    if device.firmware is not None:
        yield Fact(
            name=f"version.vbios.{number}", value=device.firmware, look_at=f"{look_at}, its VBIOS"
        )

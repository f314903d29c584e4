"""The lines of ``assay system`` on a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.system.devices.model import Device, DeviceUser
from assay.system.devices.throttling import THROTTLING
from assay.system.files import from_cpus
from assay.units import counted, format_memory, format_quantity


def device_lines(device: Device) -> list[tuple[str, str]]:
    """Labelled lines: what it is, then its state as far as it is known."""
    what = [device.name or device.identity or "unnamed", device.vendor or ""]
    if device.memory is not None:
        what.append(format_memory(device.memory))
    if device.numa is not None:
        what.append(f"NUMA node {device.numa}")
    if device.cpus:
        what.append(f"near CPUs {from_cpus(device.cpus)}")
    lines = [(device.address, ", ".join(filter(None, what)))]
    if device.lost:
        lines.append(("", "lost: the driver can't reach it until it is reset"))
    if device.problem:
        lines.append(("", device.problem))
    parts = (_versions, _link, _clocks, _power, _errors, _modes)
    return lines + [("", text) for part in parts if (text := ", ".join(part(device)))]


def user_text(user: DeviceUser) -> str:
    """``train (4711): 12 GiB``."""
    memory = "" if user.memory is None else f": {format_memory(user.memory)}"
    return f"{user.name or 'process'} ({user.pid}){memory}"


def _versions(device: Device) -> list[str]:
    named = (("driver", device.driver), ("VBIOS", device.firmware), ("", device.uuid))
    return [f"{label} {value}".strip() for label, value in named if value]


def _link(device: Device) -> list[str]:
    parts = []
    if device.link_width is not None:
        generation = f" generation {device.link_generation}" if device.link_generation else ""
        text = f"PCIe{generation} x{device.link_width}"
        if device.link_width_most is not None:
            most = f"{device.link_generation_most or ''} x{device.link_width_most}".strip()
            text += f" (at most {most})"
        parts.append(text)
    if device.links is not None:
        parts.append(f"{device.links_up} of {counted(device.links, 'link')} to devices up")
    return parts


def _clocks(device: Device) -> list[str]:
    parts = []
    for label, now, most, application in (
        ("clock", device.clock, device.clock_most, device.clock_application),
        ("memory", device.memory_clock, device.memory_clock_most, device.memory_clock_application),
    ):
        if now is None and most is None:
            continue
        text = f"{label} {format_quantity(now, 'Hz')}"
        if most is not None:
            text += f" of {format_quantity(most, 'Hz')}"
        if application is not None and application != most:
            text += f", for applications {format_quantity(application, 'Hz')}"
        parts.append(text)
    if device.throttle:
        slowed = [reason for reason in device.throttle if reason in THROTTLING]
        parts.append(("throttled: " if slowed else "limited: ") + ", ".join(device.throttle))
    return parts


def _power(device: Device) -> list[str]:
    parts = []
    if device.power is not None:
        limit = device.power_limit
        most = "" if limit is None else f" of {format_quantity(limit, 'W')}"
        parts.append(f"{format_quantity(device.power, 'W')}{most}")
    if device.temperature is not None:
        slow = device.temperature_slow
        most = "" if slow is None else f" (slower from {slow:.0f} °C)"
        parts.append(f"{device.temperature:.0f} °C{most}")
    return parts


def _errors(device: Device) -> list[str]:
    parts = []
    if device.ecc is not None:
        parts.append("ECC on" if device.ecc else "ECC off")
    if device.ecc_uncorrected is not None:
        parts.append(
            f"errors: {device.ecc_corrected or 0} corrected, {device.ecc_uncorrected} uncorrected"
        )
    if device.retired_pages:
        parts.append(counted(device.retired_pages, "retired page"))
    if device.remapped_rows:
        parts.append(counted(device.remapped_rows, "remapped row"))
    if device.repair_pending:
        parts.append("a repair of its memory waits for a reset")
    if device.repair_failed:
        parts.append("a repair of its memory failed")
    if device.xids:
        parts.append("XID " + ", ".join(map(str, device.xids)))
    return parts


def _modes(device: Device) -> list[str]:
    parts = []
    if device.mig is not None:
        parts.append("divided (MIG)" if device.mig else "not divided")
    if device.persistence is not None:
        parts.append(f"persistence {'on' if device.persistence else 'off'}")
    if device.compute_mode is not None:
        parts.append(f"compute mode {device.compute_mode}")
    if device.users:
        parts.append("used by " + ", ".join(map(user_text, device.users)))
    return parts


def devices_text(devices: Sequence[Device]) -> str:
    """All devices in a line: ``4 × H100 (80 GiB, driver 550.54.15, VBIOS 96.00.74)``."""
    alike: Counter[str] = Counter()
    for device in devices:
        facts = [
            "" if device.memory is None else format_memory(device.memory),
            f"driver {device.driver}" if device.driver else "",
            f"VBIOS {device.firmware}" if device.firmware else "",
            "ECC off" if device.ecc is False else "",
            "divided" if device.mig else "",
        ]
        known = ", ".join(filter(None, facts))
        name = device.name or device.identity or "unnamed"
        alike[f"{name} ({known})" if known else name] += 1
    return ", ".join(f"{count} × {text}" if count > 1 else text for text, count in alike.items())

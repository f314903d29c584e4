"""Accelerators on the PCI bus, by the kernel's files alone.

A device counts if it is a display or 3D controller, or a processing accelerator, of a maker of
accelerators. Management controllers have display controllers of other makers.
"""

from __future__ import annotations

import os
import re

from assay.system.devices.model import Device
from assay.system.files import Tree
from assay.system.pci import transfer_rate

FOLDER = "/sys/bus/pci/devices"
NVIDIA, AMD, INTEL = 0x10DE, 0x1002, 0x8086
_VENDORS = {NVIDIA: "NVIDIA", AMD: "AMD", INTEL: "Intel"}
# Class and subclass (PCI Code and ID Assignment Specification 1.11).
_VGA, _DISPLAY_3D, _DISPLAY_OTHER, _ACCELERATOR = 0x0300, 0x0302, 0x0380, 0x1200
_KINDS = (_VGA, _DISPLAY_3D, _DISPLAY_OTHER, _ACCELERATOR)
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
# Transfers per second of a lane by generation (PCI Express Base Specification 6.0, 1.2).
_RATES = (2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9, 128e9)


def pci_devices(tree: Tree) -> list[Device]:
    """The accelerators by address; no library is loaded."""
    try:
        names = sorted(os.listdir(tree.path(FOLDER)))  # noqa: PTH208 - hundreds
    except (OSError, ValueError):
        return []
    return [found for name in names if (found := _device(tree, name)) is not None]


def driver_of(tree: Tree, address: str) -> str | None:
    """The name of the kernel's driver that a device is bound to."""
    target = tree.link(f"{FOLDER}/{address}/driver")
    return target.rstrip("/").rpartition("/")[2] or None if target else None


def plain_address(text: str) -> str:
    """An address with four digits of domain, in lower case, as the kernel writes it.

    NVIDIA's libraries write eight digits or none, and capitals.
    """
    match = re.fullmatch(
        r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?", text.strip().lower()
    )
    if match is None:
        return text.strip().lower()
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function or 0}"


def _device(tree: Tree, address: str) -> Device | None:
    if not _ADDRESS.fullmatch(address):
        return None
    folder = f"{FOLDER}/{address}"
    number, vendor = tree.integer(f"{folder}/class"), tree.integer(f"{folder}/vendor")
    if number is None or vendor not in _VENDORS or number >> 8 not in _KINDS:
        return None
    if vendor == INTEL and number >> 8 == _VGA and not tree.integer(f"{folder}/max_link_width"):
        return None  # inside the processor
    device = tree.integer(f"{folder}/device")
    numa = tree.integer(f"{folder}/numa_node")
    return Device(
        address=address,
        vendor=_VENDORS[vendor],
        name=tree.word(f"{folder}/product_name"),
        identity=None if device is None else f"{vendor:04x}:{device:04x}",
        numa=numa if numa is not None and numa >= 0 else None,
        cpus=tree.cpus(f"{folder}/local_cpulist") or [],
        link_generation=_generation(tree.word(f"{folder}/current_link_speed")),
        link_generation_most=_generation(tree.word(f"{folder}/max_link_speed")),
        link_width=_width(tree.integer(f"{folder}/current_link_width")),
        link_width_most=_width(tree.integer(f"{folder}/max_link_width")),
    )


def _generation(speed: str | None) -> int | None:
    rate = transfer_rate(speed)
    return None if rate is None else sum(rate >= each for each in _RATES) or None


def _width(lanes: int | None) -> int | None:
    return lanes if lanes is not None and 0 < lanes <= 32 else None

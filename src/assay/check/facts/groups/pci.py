"""PCI Express devices: their numbers by kind, and the speed and width of their links.

Devices are named by class, vendor, device and their place among equal ones, since the numbers of
buses change when one device is lost. Bridges are counted only if their link is narrower than both
ends allow.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator

from assay.check.model import Fact, FactRule
from assay.system.files import Tree
from assay.system.pci import transfer_rate

_DEVICES = "/sys/bus/pci/devices"
_NETWORK, _DISPLAY, _BRIDGE, _ACCELERATOR = 0x02, 0x03, 0x0604, 0x1200
_STORAGE_NVME, _INFINIBAND = 0x0108, 0x0C06
# Display adapters are accelerators only from these makers: management controllers have some, too.
_NVIDIA, _AMD, _INTEL = 0x10DE, 0x1002, 0x8086
_VGA = 0x0300
#: The classes of devices that are counted.
GROUPS = ("network", "accelerator", "nvme")


def facts(tree: Tree) -> Iterator[Fact]:
    """Counts, link widths (lanes) and link speeds (transfers per second and lane)."""
    kinds: dict[str, list[str]] = defaultdict(list)
    narrow: list[str] = []
    bridges = False
    devices = _addresses(tree)
    for address in devices:
        folder = f"{_DEVICES}/{address}"
        number = tree.integer(f"{folder}/class")
        if number is None:
            continue
        kind = number >> 8
        if kind == _BRIDGE:
            bridges = True
            if _narrow(tree, folder):
                narrow.append(address)
            continue
        vendor, device = tree.integer(f"{folder}/vendor"), tree.integer(f"{folder}/device")
        if vendor is None or device is None:
            continue
        if group := _group(kind, vendor):
            kinds[f"{group}.{vendor:04x}:{device:04x}"].append(address)
    for group in GROUPS if devices else ():
        count = sum(len(found) for name, found in kinds.items() if name.startswith(f"{group}."))
        yield Fact(name=f"pci.{group}.count", value=count, rule="not below", look_at="check device")
    for name, addresses in sorted(kinds.items()):
        yield Fact(
            name=f"pci.{name}.count",
            value=len(addresses),
            rule="not below",
            look_at="check device",
        )
        for number, address in enumerate(addresses):
            yield from _link(tree, f"pci.{name}.{number}", address)
    if bridges:
        yield Fact(
            name="pci.bridges.narrow",
            value=len(narrow),
            rule="not above",
            look_at=f"check slot {narrow[0]}" if narrow else "check slots",
        )


def _addresses(tree: Tree) -> list[str]:
    """In order; their numbers are hexadecimal and of fixed width."""
    try:
        return sorted(os.listdir(tree.path(_DEVICES)))  # noqa: PTH208 - hundreds
    except (OSError, ValueError):
        return []


def _group(kind: int, vendor: int) -> str | None:
    if kind >> 8 == _NETWORK or kind == _INFINIBAND:
        return "network"
    if kind == _STORAGE_NVME:
        return "nvme"
    makers = (_NVIDIA, _AMD) if kind == _VGA else (_NVIDIA, _AMD, _INTEL)
    if kind == _ACCELERATOR or (kind >> 8 == _DISPLAY and vendor in makers):
        return "accelerator"
    return None


def _link(tree: Tree, name: str, address: str) -> Iterator[Fact]:
    folder = f"{_DEVICES}/{address}"
    width = tree.integer(f"{folder}/current_link_width")
    speed = transfer_rate(tree.word(f"{folder}/current_link_speed"))
    most_width = tree.integer(f"{folder}/max_link_width")
    most_speed = transfer_rate(tree.word(f"{folder}/max_link_speed"))
    if not most_width and not width:
        return  # a virtual device, or one inside the processor
    look_at = f"check slot {address}"
    if width is not None:
        yield Fact(name=f"{name}.width", value=width, rule="not below", look_at=look_at)
    if speed is not None:
        # Graphics processors lower the speed of an idle link.
        rule: FactRule = "shown" if ".accelerator." in name else "not below"
        yield Fact(name=f"{name}.speed", value=speed, unit="T/s", rule=rule, look_at=look_at)
    if most_width:
        yield Fact(name=f"{name}.width_limit", value=most_width, rule="shown")
    if most_speed:
        yield Fact(name=f"{name}.speed_limit", value=most_speed, unit="T/s", rule="shown")


def _narrow(tree: Tree, folder: str) -> bool:
    """Whether a bridge's link is up and narrower than it could be. Idle devices lower the speed of
    their link but not its width.
    """
    width = tree.integer(f"{folder}/current_link_width")
    most = tree.integer(f"{folder}/max_link_width")
    return width is not None and most is not None and 0 < width < most <= 32

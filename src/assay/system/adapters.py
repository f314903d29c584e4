"""Detection of network adapters and fabric ports, with the current speed of their links."""

from __future__ import annotations

import re
from typing import Any

from assay.system.files import Tree
from assay.system.model import Adapter
from assay.system.pci import pci_link

_BITS = 8
# ARPHRD numbers of /sys/class/net/*/type (linux/if_arp.h).
_LOOPBACK, _INFINIBAND = 772, 32
_OMNI_PATH_DRIVERS = ("hfi1", "opa_vnic", "hfi_vnic")


def detect_adapters(tree: Tree) -> list[Adapter]:
    """Network interfaces, then the ports of fabric devices."""
    return [_interface(tree, name) for name in tree.names("/sys/class/net") if _real(name)] + [
        _port(tree, device, port)
        for device in tree.names("/sys/class/infiniband")
        for port in tree.names(f"/sys/class/infiniband/{device}/ports")
    ]


def _real(name: str) -> bool:
    return name != "bonding_masters"


def _interface(tree: Tree, name: str) -> Adapter:
    folder = f"/sys/class/net/{name}"
    kind = tree.integer(f"{folder}/type")
    physical = tree.exists(f"{folder}/device")
    driver = _driver(tree, folder)
    megabits = tree.integer(f"{folder}/speed")
    return Adapter(
        name=name,
        kind=_kind(kind, physical, driver, name),
        speed=megabits * 1e6 / _BITS if megabits is not None and megabits > 0 else None,
        state=tree.word(f"{folder}/operstate"),
        mtu=tree.integer(f"{folder}/mtu"),
        driver=driver,
        node=_node(tree, folder),
        physical=physical,
        **_bus(tree, folder),
    )


def _kind(kind: int | None, physical: bool, driver: str | None, name: str) -> str | None:
    if kind == _LOOPBACK:
        return "loopback"
    if driver in _OMNI_PATH_DRIVERS:
        return "omni-path"
    if kind == _INFINIBAND:
        return "infiniband"
    if not physical:
        return "virtual"
    if (driver or "").startswith("cxi") or re.fullmatch(r"hsn\d+", name):
        return "slingshot"
    return "ethernet" if kind == 1 else None


def _port(tree: Tree, device: str, port: str) -> Adapter:
    folder = f"/sys/class/infiniband/{device}"
    rate = tree.word(f"{folder}/ports/{port}/rate")
    driver = _driver(tree, folder)
    layer = (tree.word(f"{folder}/ports/{port}/link_layer") or "").lower()
    # "4: ACTIVE"
    state = (tree.word(f"{folder}/ports/{port}/state") or "").rpartition(":")[2].strip().lower()
    omni_path = driver in _OMNI_PATH_DRIVERS or device.startswith("hfi1")
    return Adapter(
        name=f"{device}:{port}",
        kind="omni-path" if omni_path else "ethernet" if layer == "ethernet" else "infiniband",
        speed=_rate(rate),
        state=state or None,
        driver=driver,
        node=_node(tree, folder),
        rate=rate,
        firmware=tree.word(f"{folder}/fw_ver"),
        physical=True,
        **_bus(tree, folder),
    )


def _bus(tree: Tree, folder: str) -> dict[str, Any]:
    """The fields of the adapter's bus; empty if it is unknown."""
    link = pci_link(tree, f"{folder}/device")
    if link is None:
        return {}
    return {"bus": link.bandwidth, "bus_width": link.width, "bus_rate": link.rate}


def _rate(text: str | None) -> float | None:
    """``100 Gb/sec (4X EDR)`` in B/s."""
    match = re.match(r"(\d{1,6}(?:\.\d{1,3})?) Gb/sec", text or "", re.ASCII)
    return float(match[1]) * 1e9 / _BITS if match and float(match[1]) > 0 else None


def _driver(tree: Tree, folder: str) -> str | None:
    target = tree.link(f"{folder}/device/driver")
    if target:
        return target.rstrip("/").rpartition("/")[2] or None
    for line in (tree.text(f"{folder}/device/uevent") or "").splitlines():
        if line.startswith("DRIVER="):
            return line.removeprefix("DRIVER=").strip() or None
    return None


def _node(tree: Tree, folder: str) -> int | None:
    node = tree.integer(f"{folder}/device/numa_node")
    return node if node is not None and node >= 0 else None

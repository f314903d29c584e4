"""Ports of InfiniBand, Omni-Path and RoCE adapters (Documentation/ABI/stable/sysfs-class-infiniband
of the kernel).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.check.model import Fact
from assay.system.files import Tree

_FOLDER = "/sys/class/infiniband"
_ERRORS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)


def facts(tree: Tree) -> Iterator[Fact]:
    """State, rate (bit/s), link layer and error counters of each port; firmware of each device."""
    for device in tree.names(_FOLDER):
        folder = f"{_FOLDER}/{device}"
        if firmware := tree.word(f"{folder}/fw_ver"):
            yield Fact(name=f"version.firmware.{device}", value=firmware, look_at="check firmware")
        for port in tree.names(f"{folder}/ports"):
            yield from _port(tree, f"ib.{device}.{port}", f"{folder}/ports/{port}")


def _port(tree: Tree, name: str, folder: str) -> Iterator[Fact]:
    for file in ("state", "phys_state"):
        yield Fact(
            name=f"{name}.{file}",
            value=_state(tree.word(f"{folder}/{file}")),
            look_at="check cable, subnet manager" if file == "state" else "check cable",
        )
    match = re.match(r"(\d{1,6})(?:\.(\d{1,3}))? Gb/sec", tree.word(f"{folder}/rate") or "")
    if match and int(match[1]) > 0:
        thousandths = int((match[2] or "").ljust(3, "0"))
        yield Fact(
            name=f"{name}.rate",
            value=int(match[1]) * 10**9 + thousandths * 10**6,
            unit="bit/s",
            rule="not below",
            look_at="check cable, switch port",
        )
    if layer := tree.word(f"{folder}/link_layer"):
        yield Fact(name=f"{name}.link_layer", value=layer, look_at="check adapter's settings")
    for file in _ERRORS:
        count = tree.integer(f"{folder}/counters/{file}")
        if count is not None:
            yield Fact(name=f"{name}.{file}", value=count, rule="counter", look_at="check cable")


def _state(text: str | None) -> str | None:
    """``4: ACTIVE`` is active."""
    return (text or "").rpartition(":")[2].strip().lower() or None

"""Facts and findings as text: ``eth1 10 Gbit/s, fleet 100 Gbit/s (50 of 50 nodes); check cable``.

A drain reason is at most 100 printable ASCII characters, so parts are left out from the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.check.model import FactValue

MOST_CHARACTERS = 100
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))

# Titles of facts by their names, the first that matches; compiled only when a finding needs one.
_TITLES = (
    (r"cpu\.model$", "processor"),
    (r"cpu\.(present|online)$", r"CPUs \1"),
    (r"cpu\.smt$", "SMT"),
    (r"cpu\.(.+)", r"\1"),
    (r"version\.vbios\.(\d+)$", r"VBIOS of device \1"),
    (r"version\.(firmware|driver)\.(.+)", r"\1 of \2"),
    (r"version\.(.+)", r"\1"),
    (r"limit\.cpus$", "usable CPUs"),
    (r"limit\.quota$", "CPU quota"),
    (r"limit\.(.+)", r"\1 limit"),
    (r"frequency\.limit$", "clock limit"),
    (r"frequency\.scaling_(.+)", r"clock \1"),
    (r"frequency\.(?P<words>.+)", r"\1"),
    (r"throttle\.events$", "thermal throttling"),
    (r"memory\.total$", "memory"),
    (r"memory\.available$", "available memory"),
    (r"memory\.shared_limit$", "/dev/shm"),
    (r"numa\.nodes$", "NUMA nodes"),
    (r"numa\.node(\d+)\.memory$", r"memory of NUMA node \1"),
    (r"hugepages\.(\d+kB)\.(\w+)$", r"\2 huge pages of \1"),
    (r"hugepages\.(.+)", r"transparent huge pages \1"),
    (r"swap\.(.+)", r"\1 swap"),
    (r"dimm\.count$", "DIMMs"),
    (r"dimm\.speed$", "DIMM speed"),
    (r"dimm\.(.+?)(\.size)?$", r"DIMM \1"),
    (r"edac\.(mc\d+)\.dimms$", r"DIMMs of \1"),
    (r"edac\.(mc\d+)(\.size)?$", r"memory of \1"),
    (r"ecc\.(mc\d+)\.(\w+)$", r"\2 memory errors of \1"),
    (r"pci\.bridges\.narrow$", "narrow PCIe links"),
    (r"pci\.accelerator\.count$", "accelerators"),
    (r"pci\.nvme\.count$", "NVMe disks"),
    (r"pci\.(\w+)\.count$", r"\1 devices"),
    (r"pci\.(\w+)\.(\w+:\w+)\.count$", r"\1 devices \2"),
    (r"pci\.(\w+)\.(\w+:\w+)\.(\d+)\.(?P<words>\w+)$", r"\1 \2 no. \3 PCIe \4"),
    (r"pci\.(\w+)\.(\w+:\w+)$", r"\1 device \2"),
    (r"pci\.(.+)", r"PCI device \1"),
    (r"device\.count$", "working devices"),
    (r"device\.(\d+)\.((?:un)?corrected)$", r"\2 memory errors of device \1"),
    (r"device\.(\d+)\.xids$", r"errors (XID) of device \1"),
    (r"device\.(\d+)\.links$", r"links of device \1 that are up"),
    (r"device\.(\d+)\.ecc$", r"ECC of device \1"),
    (r"device\.(\d+)\.mig$", r"MIG of device \1"),
    (r"device\.(\d+)\.(?P<words>\w+)$", r"\2 of device \1"),
    (r"net\.(.+)\.(state|speed)$", r"\1"),
    (r"net\.(.+)\.mtu$", r"\1 MTU"),
    (r"net\.(.+)\.(duplex)$", r"\1 \2"),
    (r"net\.(.+)\.(rx_crc_errors)$", r"\1 CRC errors"),
    (r"net\.(.+)\.(rx|tx)_errors$", r"\1 \2 errors"),
    (r"net\.(.+)\.carrier_changes$", r"\1 link changes"),
    (r"net\.(.+)", r"\1"),
    (r"ib\.(.+)\.(\d+)\.(state|rate)$", r"\1/\2"),
    (r"ib\.(.+)\.(\d+)\.phys_state$", r"\1/\2 physical state"),
    (r"ib\.(.+)\.(\d+)\.(?P<words>\w+)$", r"\1/\2 \3"),
    (r"ib\.(.+)\.(\d+)$", r"\1/\2"),
    (r"mount\.(.+)\.type$", r"mount \1"),
    (
        r"(?:mount|disk)\.(/.*?)(?:\.(?:type|writable|answers|size|free|inodes))?$",
        r"mount \1",
    ),
    (r"scratch\.(\w+)$", r"scratch \1"),
    (r"clock\.synchronised$", "clock"),
    (r"clock\.source$", "clock source"),
    (r"daemon\.(.+)", r"clock daemon \1"),
    (r"processes\.users$", "leftover processes"),
    (r"processes\.zombies$", "leftover zombies"),
    (r"processes\.cpus$", "leftover processes use CPUs"),
    (r"sensor\.(?P<words>.+)", r"sensor \1"),
)


def title(name: str) -> str:
    """A fact's name, or the common part of several facts' names, in sentences."""
    for pattern, text in _TITLES:
        if match := re.match(pattern, name):
            words = match.groupdict().get("words", "")
            return (
                match.expand(text).replace(words, words.replace("_", " "))
                if words
                else (match.expand(text))
            )
    return name.replace("_", " ")


def value_text(value: FactValue, unit: str, name: str = "") -> str:
    """A value with its unit."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    if unit == "B":
        scales = tuple((size, f" {text}") for size, text in _BINARY)
        return _scaled(value, scales, " B")
    if unit == "CPU":
        return f"{value:.3g} CPUs"
    if unit in ("", "°C"):
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        return f"x{text}" if name.endswith(".width") else text
    scales = tuple((size, f" {prefix}{unit}") for size, prefix in _PREFIXES)
    return _scaled(value, scales, f" {unit}")


def _scaled(value: float, scales: Sequence[tuple[float, str]], plain: str) -> str:
    for size, text in scales:
        if abs(value) >= size:
            digits = ".3g" if abs(value) < 1e3 * size else ".0f"
            return f"{value / size:{digits}}{text}"
    return f"{value:.4g}{plain}"


def ascii_text(text: str) -> str:
    """The text without characters that a drain reason may not have."""
    return " ".join(re.sub(r"[^ -~]+", "?", text).split())


def line(*parts: str, most: int = MOST_CHARACTERS) -> str:
    """The parts joined, without the last ones that don't fit; the first is cut if it is longer."""
    first = ascii_text(parts[0])
    text = first if len(first) <= most else first[: most - 3].rstrip() + "..."
    for part in map(_joined, parts[1:]):
        if len(text) + len(part) <= most:
            text += part
    return text


def _joined(part: str) -> str:
    """A further part with its comma, semicolon or space, or nothing."""
    plain = ascii_text(part)
    return f" {plain}" if part.startswith(" ") else plain

"""Versions of kernel, firmware and drivers. They never fail a node: upgrades go node by node."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from assay.check.model import Fact
from assay.system.files import Tree
from assay.system.surroundings import detect_firmware, uptime_seconds

_DRIVERS = ("/sys/class/net", "/sys/class/infiniband", "/sys/class/nvme")
_MODULES = ("nvidia", "amdgpu", "mlx5_core", "lustre", "gdrdrv", "knem", "xpmem", "mmfslinux")


def facts(tree: Tree) -> Iterator[Fact]:
    """Version texts, and the seconds since boot that make rates of counters."""
    uptime = uptime_seconds(tree)
    if uptime is not None:
        yield Fact(name="system.uptime", value=uptime, unit="s", rule="shown")
    for name, value in (
        ("kernel", tree.word("/proc/sys/kernel/osrelease")),
        ("bios", detect_firmware(tree)),
    ):
        if value:
            yield Fact(name=f"version.{name}", value=value, look_at=f"check {name}")
    for module in sorted({*_MODULES, *_used_modules(tree)}):
        version = tree.word(f"/sys/module/{module}/version")
        if version is None and module == "nvidia":
            version = _nvidia(tree)
        if version:
            yield Fact(name=f"version.driver.{module}", value=version, look_at="check driver")


def _used_modules(tree: Tree) -> set[str]:
    """The kernel modules of network, fabric and NVMe devices."""
    found = set()
    for folder in _DRIVERS:
        for name in tree.names(folder):
            target = tree.link(f"{folder}/{name}/device/driver/module")
            if target:
                found.add(os.path.basename(target))  # noqa: PTH119 - text, not a path here
    return {name for name in found if re.fullmatch(r"[\w-]{1,60}", name, re.ASCII)}


def _nvidia(tree: Tree) -> str | None:
    """``NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug …``."""
    text = tree.word("/proc/driver/nvidia/version") or ""
    match = re.search(r"Kernel Module(?: for \S+)?\s+(\d[\d.]*)", text, re.ASCII)
    return match[1] if match else None

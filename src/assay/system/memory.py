"""Detection of main memory: sizes, huge pages, NUMA nodes."""

from __future__ import annotations

import os
import re

from assay.system.files import Tree, chosen, fields, to_integer
from assay.system.model import Memory, NumaNode


def detect_memory(tree: Tree) -> Memory:
    """All facts about main memory."""
    info = fields(tree.text("/proc/meminfo"))
    total, available = _known(info.get("MemTotal")), _kib(info.get("MemAvailable"))
    swap, swap_free = _kib(info.get("SwapTotal")), _kib(info.get("SwapFree"))
    thp = "/sys/kernel/mm/transparent_hugepage"
    balancing = tree.integer("/proc/sys/kernel/numa_balancing")
    return Memory(
        total=total,
        available=_part_of(total, available),
        swap_total=swap,
        swap_free=_part_of(swap, swap_free),
        page=_known(info.get("Hugepagesize")),
        huge_pages=to_integer(info.get("HugePages_Total")),
        huge_pages_free=to_integer(info.get("HugePages_Free")),
        transparent=chosen(tree.word(f"{thp}/enabled")),
        defrag=chosen(tree.word(f"{thp}/defrag")),
        numa_balancing=None if balancing is None else balancing != 0,
        shared=_shared(tree),
        nodes=_nodes(tree),
    )


def available_memory(tree: Tree) -> int | None:
    """Bytes that are available now without swapping."""
    info = fields(tree.text("/proc/meminfo"))
    return _part_of(_known(info.get("MemTotal")), _kib(info.get("MemAvailable")))


def _kib(text: str | None) -> int | None:
    match = re.fullmatch(r"(\d{1,16}) kB", text or "", re.ASCII)
    return int(match[1]) * 1024 if match else None


def _known(text: str | None) -> int | None:
    """Bytes of something that every machine has; None for 0, which some containers show for what
    they hide.
    """
    return _kib(text) or None


def _part_of(total: int | None, part: int | None) -> int | None:
    """The part of a total; None (unknown) if it exceeds the total, or if it is 0 and the total is
    unknown.
    """
    if part is None or (total is None and part == 0) or (total is not None and part > total):
        return None
    return part


def _shared(tree: Tree) -> int | None:
    """The capacity of /dev/shm in bytes; known only on the running machine."""
    if not tree.live:
        return None
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    return found.f_blocks * found.f_frsize


def _nodes(tree: Tree) -> list[NumaNode]:
    nodes = []
    for name in tree.names("/sys/devices/system/node"):
        match = re.fullmatch(r"node(\d{1,6})", name, re.ASCII)
        if match is None:
            continue
        folder = f"/sys/devices/system/node/{name}"
        # Lines are "Node 0 MemTotal:  1024 kB".
        lines = re.sub(r"(?m)^Node \d+ ", "", tree.text(f"{folder}/meminfo") or "")
        info = fields(lines)
        distances = [to_integer(d) for d in (tree.word(f"{folder}/distance") or "").split()]
        nodes.append(
            NumaNode(
                id=int(match[1]),
                cpus=tree.cpus(f"{folder}/cpulist") or [],
                memory=(size := _kib(info.get("MemTotal"))),
                free=_part_of(size, _kib(info.get("MemFree"))),
                distances=[d for d in distances if d is not None],
            )
        )
    return nodes

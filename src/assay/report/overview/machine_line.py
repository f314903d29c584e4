"""Describes the machine in one line: processor, cores, memory, network, kernel."""

from __future__ import annotations

import re

from assay.records.model import Manifest
from assay.system.model import Adapter, System
from assay.units import counted, format_memory, format_quantity

# Words that vendors add to the names of processors without meaning.
_MARKS = re.compile(r"\((?:R|TM|C)\)|\b(?:CPU|Processor)\b|@.*", re.IGNORECASE)
_NOT_A_NETWORK = ("loopback", "bridge", "virtual")


def machine_line(manifest: Manifest) -> str:
    """``4 nodes, each AMD EPYC 7543, 64 cores, 256 GiB · infiniband 100 Gbit/s · Linux 6.1``.

    Empty if nothing is known about the machine. The number of nodes comes from the plan's largest
    placement.
    """
    system = System.known(manifest.system)
    if system is None:
        return ""
    nodes = max((cell.placement.nodes for cell in manifest.plan.cells), default=1)
    processor = system.processor
    node = [
        " ".join(_MARKS.sub(" ", processor.name or "").split()),
        counted(processor.cores, "core") if processor.cores else "",
        format_memory(system.memory.total) if system.memory.total else "",
    ]
    parts = [
        ", ".join(part for part in node if part),
        _network(system.adapters),
        f"Linux {system.os.kernel}" if system.os.kernel else "",
    ]
    text = " · ".join(part for part in parts if part)
    return f"{counted(nodes, 'node')}, each {text}" if nodes > 1 and text else text


def _network(adapters: list[Adapter]) -> str:
    """The kind and speed of the fastest adapter; empty if no speed is reported."""
    known = [each for each in adapters if each.speed and each.kind not in _NOT_A_NETWORK]
    if not known:
        return ""
    best = max(known, key=lambda each: each.speed or 0.0)
    return f"{best.kind or best.name} {format_quantity((best.speed or 0.0) * 8, 'bit/s')}"

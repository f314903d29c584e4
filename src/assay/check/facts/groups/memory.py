"""Main memory: sizes, what is available, NUMA nodes, huge pages, swap."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.check.model import Fact, FactRule
from assay.system.files import Tree, chosen, fields, to_integer
from assay.system.memory import detect_memory

_HUGE = "/sys/kernel/mm/hugepages"
_DIMMS = "check DIMMs"


def facts(tree: Tree) -> Iterator[Fact]:
    """Sizes in bytes; huge pages as counts."""
    memory = detect_memory(tree)
    sizes: tuple[tuple[str, int | None, FactRule, str], ...] = (
        ("memory.total", memory.total, "same", _DIMMS),
        ("memory.available", memory.available, "not below", "check leftover processes"),
        ("swap.total", memory.swap_total, "same", "check swap"),
        ("memory.shared_limit", memory.shared, "same", "check /dev/shm"),
    )
    for name, value, rule, look_at in sizes:
        if value is not None or name.startswith("memory.total"):
            size = None if value is None else float(value)
            yield Fact(name=name, value=size, unit="B", rule=rule, look_at=look_at)
    if memory.swap_total is not None and memory.swap_free is not None:
        # Pages of daemons stay in swap long after the job that displaced them: not a fault.
        used = float(memory.swap_total - memory.swap_free)
        yield Fact(name="swap.used", value=used, unit="B", rule="shown")
    shared = to_integer(fields(tree.text("/proc/meminfo")).get("Shmem", "").removesuffix(" kB"))
    if shared is not None:
        yield Fact(name="memory.shared", value=shared * 1024.0, unit="B", rule="shown")
    if memory.nodes:
        yield Fact(name="numa.nodes", value=len(memory.nodes), look_at="check BIOS settings")
    for node in memory.nodes:
        if node.memory is not None:
            yield Fact(
                name=f"numa.node{node.id}.memory",
                value=float(node.memory),
                unit="B",
                look_at=_DIMMS,
            )
    thp = "/sys/kernel/mm/transparent_hugepage"
    for name in ("enabled", "defrag"):
        if mode := chosen(tree.word(f"{thp}/{name}")):
            yield Fact(name=f"hugepages.{name}", value=mode, look_at="check huge pages")
    yield from _pools(tree)


def _pools(tree: Tree) -> Iterator[Fact]:
    for folder in tree.names(_HUGE):
        match = re.fullmatch(r"hugepages-(\d{1,9})kB", folder, re.ASCII)
        if match is None:
            continue
        total = tree.integer(f"{_HUGE}/{folder}/nr_hugepages")
        free = tree.integer(f"{_HUGE}/{folder}/free_hugepages")
        name = f"hugepages.{match[1]}kB"
        if total is not None:
            # A quantity: a kernel may find some pages less than it should reserve.
            yield Fact(name=f"{name}.total", value=float(total), look_at="check huge pages")
        if free is not None:
            yield Fact(
                name=f"{name}.free",
                value=float(free),
                rule="not below",
                look_at="check hugetlbfs files",
            )

"""Checks of memory settings and sizes."""

from __future__ import annotations

from assay.system.doctor.findings import CheckFinding
from assay.system.model import System
from assay.units import format_memory

# Shared memory that MPI libraries need within a node; containers have 64 MiB by default.
_LEAST_SHARED = 512 << 20
# Memory left for a problem that doesn't fit in caches.
_LEAST_AVAILABLE = 2 << 30


def huge_pages(system: System) -> list[CheckFinding]:
    """Can large arrays use huge pages?"""
    memory = system.memory
    if memory.transparent is None:
        return []
    if memory.transparent == "always":
        return [CheckFinding("huge-pages", "ok", "Transparent huge pages are on for all programs.")]
    if memory.transparent == "madvise":
        return [
            CheckFinding(
                "huge-pages",
                "note",
                "Transparent huge pages are on only for programs that request them (madvise).",
                "Other programs lose time in TLB misses on large arrays.",
                "To see the effect, as root: "
                "echo always > /sys/kernel/mm/transparent_hugepage/enabled.",
            )
        ]
    reserved = f"{memory.huge_pages} are reserved" if memory.huge_pages else "none is reserved"
    return [
        CheckFinding(
            "huge-pages",
            "warning",
            f"Transparent huge pages are off; of explicit huge pages {reserved}.",
            "Kernels on large arrays lose time in TLB misses, CG and DGEMM most.",
            "As root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled.",
        )
    ]


def numa_balancing(system: System) -> list[CheckFinding]:
    """Does the kernel move pages between NUMA nodes?"""
    if system.memory.numa_balancing is None or not system.memory.nodes:
        return []
    if len(system.memory.nodes) == 1:
        return [CheckFinding("numa-balancing", "ok", "There is one NUMA node.")]
    if not system.memory.numa_balancing:
        return [
            CheckFinding("numa-balancing", "ok", "The kernel does not move pages between nodes.")
        ]
    return [
        CheckFinding(
            "numa-balancing",
            "warning",
            f"NUMA balancing is on, over {len(system.memory.nodes)} nodes.",
            "The kernel unmaps and moves pages during the measurement: bandwidth drifts and dips.",
            "As root: sysctl kernel.numa_balancing=0. Bind ranks, so that it isn't needed.",
        )
    ]


def memory(system: System) -> list[CheckFinding]:
    """Is enough memory available, and is memory swapped out?"""
    found = system.memory
    if found.total is None or found.available is None:
        return []
    findings = []
    room = found.available
    if system.limits.memory is not None:
        room = min(room, system.limits.memory)
    if room < min(_LEAST_AVAILABLE, found.total // 2):
        findings.append(
            CheckFinding(
                "memory",
                "warning",
                f"Only {format_memory(room)} of memory is available.",
                "Arrays that must exceed the caches, or a large problem, may not fit.",
                "End the processes that use it, or measure smaller problems.",
            )
        )
    swapped = 0
    if found.swap_total is not None and found.swap_free is not None:
        swapped = found.swap_total - found.swap_free
    if found.swap_total and swapped > max(found.total // 100, 64 << 20):
        findings.append(
            CheckFinding(
                "memory",
                "warning",
                f"{format_memory(swapped)} are swapped out.",
                "Memory was short: pages may be read back from disk during a measurement.",
                "End the processes that use the memory, then as root: swapoff -a && swapon -a.",
            )
        )
    return findings or [
        CheckFinding("memory", "ok", f"{format_memory(room)} of memory is available.")
    ]


def shared_memory(system: System) -> list[CheckFinding]:
    """Is /dev/shm large enough for MPI?"""
    size = system.memory.shared
    if size is None:
        return []
    if size >= _LEAST_SHARED:
        return [CheckFinding("shared-memory", "ok", f"/dev/shm holds up to {format_memory(size)}.")]
    return [
        CheckFinding(
            "shared-memory",
            "warning",
            f"/dev/shm holds only up to {format_memory(size)}.",
            "MPI sends messages within a node through it: many ranks make launches slow or fail.",
            "docker run --shm-size=2g, or as root: mount -o remount,size=2G /dev/shm.",
        )
    ]


def locked_memory(system: System) -> list[CheckFinding]:
    """May MPI lock enough memory to register it with the fabric?"""
    kinds = {a.kind for a in system.adapters if a.physical} & {"infiniband", "omni-path"}
    if not kinds:
        return []
    limit = system.limits.memlock
    if limit is None or limit >= 1 << 30:
        return [CheckFinding("locked-memory", "ok", "Enough memory may be locked for the fabric.")]
    return [
        CheckFinding(
            "locked-memory",
            "warning",
            f"Only {format_memory(limit)} may be locked in memory, and there is a fabric.",
            "MPI may fail to register buffers and fall back to TCP, many times slower.",
            "ulimit -l unlimited; for jobs, LimitMEMLOCK=infinity in the scheduler's service.",
        )
    ]

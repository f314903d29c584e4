"""All checks of the machine's setup, as opposed to its current state."""

from __future__ import annotations

from assay.system.doctor.adapter_checks import adapters
from assay.system.doctor.device_checks import devices
from assay.system.doctor.findings import CheckFinding
from assay.system.doctor.memory_checks import (
    huge_pages,
    locked_memory,
    memory,
    numa_balancing,
    shared_memory,
)
from assay.system.doctor.processor_checks import (
    clock_cap,
    clock_source,
    energy,
    governor,
    smt,
    time_stamp_counter,
    turbo,
)
from assay.system.files import from_cpus
from assay.system.model import System


def virtual(system: System) -> list[CheckFinding]:
    """Is there a hypervisor?"""
    found = system.virtualisation
    if found.virtual is None:
        return []
    if not found.virtual:
        return [CheckFinding("virtual", "ok", "There is no sign of a hypervisor.")]
    name = f" ({found.hypervisor})" if found.hypervisor else ""
    return [
        CheckFinding(
            "virtual",
            "note",
            f"This is a virtual machine{name}. Evidence: {', '.join(found.evidence)}.",
            "Other guests share caches, memory and network; the topology shown may not be real.",
            "Repeat on other days before you rely on a difference; prefer whole-node instances.",
        )
    ]


def quota(system: System) -> list[CheckFinding]:
    """Does the CPU quota cover all visible CPUs?"""
    allowed, threads = system.limits.quota, system.usable_threads
    if allowed is None:
        known = system.limits.version is not None
        return [CheckFinding("cpu-quota", "ok", "No CPU quota is set.")] if known else []
    if threads is None or allowed >= threads:
        return [
            CheckFinding("cpu-quota", "ok", f"The CPU quota ({allowed:g} CPUs) covers all CPUs.")
        ]
    return [
        CheckFinding(
            "cpu-quota",
            "problem",
            f"The CPU quota allows {allowed:g} CPUs, but {threads} CPUs are visible.",
            "If more threads are busy, all are stopped for the rest of each period (usually "
            "0.1 s): rates drop in bursts and latencies get tails of tens of milliseconds.",
            f"Use at most {max(int(allowed), 1)} ranks × threads, or run without the quota "
            "(docker run --cpuset-cpus instead of --cpus; Kubernetes: static CPU manager).",
        )
    ]


def cpuset(system: System) -> list[CheckFinding]:
    """May this process use all CPUs?"""
    threads, usable = system.processor.threads, system.usable_threads
    if threads is None or usable is None:
        return []
    if usable >= threads:
        return [CheckFinding("cpuset", "ok", f"All {threads} CPUs may be used.")]
    allowed = system.limits.affinity or system.limits.cpuset or []
    inside = system.scheduler is not None and system.scheduler.job is not None
    return [
        CheckFinding(
            "cpuset",
            "note" if inside else "warning",
            f"Only {usable} of {threads} CPUs may be used: {from_cpus(allowed)}.",
            "Processes on the other CPUs share caches and memory bandwidth with the ranks.",
            "Request the whole node (Slurm: --exclusive)."
            if inside
            else "Start without taskset, numactl or a cpuset, unless you want to measure a subset.",
        )
    ]


def randomisation(system: System) -> list[CheckFinding]:
    """Is the memory layout of each process randomised?"""
    if system.os.aslr is None:
        return []
    if system.os.aslr == 0:
        return [CheckFinding("aslr", "note", "Address space randomisation is off.",
                        "One memory layout is measured, not the mean over layouts.",
                        "As root: sysctl kernel.randomize_va_space=2.")]  # fmt: skip
    return [
        CheckFinding(
            "aslr",
            "ok",
            "Address space randomisation is on: launches differ in memory layout, "
            "and replicates average over the layouts.",
        )
    ]


def mitigations(system: System) -> list[CheckFinding]:
    """Which mitigations of processor vulnerabilities are active?"""
    if not system.os.mitigations:
        return []
    names = ", ".join(system.os.mitigations)
    return [
        CheckFinding(
            "mitigations",
            "note",
            f"The kernel mitigates {len(system.os.mitigations)} processor flaws: {names}.",
            "System calls and context switches take longer, which affects network and storage.",
            "Compare only machines with the same mitigations.",
        )
    ]


def scheduler(system: System) -> list[CheckFinding]:
    """Does this process run inside a job?"""
    found = system.scheduler
    if found is None:
        return []
    if found.job is not None:
        return [CheckFinding("scheduler", "ok", f"This is {found.name} job {found.job}.")]
    return [
        CheckFinding(
            "scheduler",
            "warning",
            f"{found.name} is installed, but this is not inside one of its jobs.",
            "A login node is shared with other users, and may differ from the compute nodes.",
            "Measure inside an allocation (Slurm: salloc --exclusive).",
        )
    ]


MACHINE_CHECKS = (
    governor,
    turbo,
    clock_cap,
    smt,
    energy,
    virtual,
    huge_pages,
    numa_balancing,
    quota,
    cpuset,
    memory,
    shared_memory,
    locked_memory,
    clock_source,
    time_stamp_counter,
    randomisation,
    mitigations,
    adapters,
    devices,
    scheduler,
)

"""Checks of how the machine is set up: settings that stay until they are changed."""

from __future__ import annotations

from assay.system.doctor.adapter_checks import adapters
from assay.system.doctor.findings import CheckFinding
from assay.system.files import from_cpus
from assay.system.model import System
from assay.units import format_memory, format_quantity

# Shared memory that MPI libraries need within a node; containers have 64 MiB by default.
_LEAST_SHARED = 512 << 20
# Memory left for a problem that doesn't fit in caches.
_LEAST_AVAILABLE = 2 << 30
# Clocks that are read in user space within tens of nanoseconds.
_FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase")


def governor(system: System) -> list[CheckFinding]:
    """Does the kernel scale the clock?"""
    frequency = system.processor.frequency
    if not frequency.governors:
        if not system.virtualisation.virtual:
            return []
        return [
            CheckFinding(
                "governor",
                "note",
                "The clock can't be seen or set from inside this virtual machine.",
                "The host may change the clock during a measurement without a trace.",
                "Compare the measured clock rate of the samples; where it matters, use bare metal.",
            )
        ]
    names = ", ".join(frequency.governors)
    if frequency.governors == ["performance"]:
        return [CheckFinding("governor", "ok", "The frequency governor is 'performance'.")]
    # These two drivers' powersave still follows the load closely, by the hardware's own choice.
    gradual = frequency.driver in ("intel_pstate", "amd-pstate-epp")
    way = "quickly but not at once" if gradual else "only after milliseconds"
    return [
        CheckFinding(
            "governor",
            "warning",
            f"The frequency governor is {names}, not 'performance'.",
            f"The clock follows the load {way}: short kernels are timed while it still climbs.",
            "As root: cpupower frequency-set -g performance. "
            "Under Slurm: srun --cpu-freq=performance.",
        )
    ]


def turbo(system: System) -> list[CheckFinding]:
    """Is the clock above nominal allowed?"""
    if system.processor.frequency.turbo is None:
        return []
    if not system.processor.frequency.turbo:
        return [CheckFinding("turbo", "ok", "Turbo is off: the clock does not depend on the load.")]
    return [
        CheckFinding(
            "turbo",
            "note",
            "Turbo is on.",
            "The clock depends on temperature, power and how many cores are busy, so one core's "
            "result times the cores is not the machine's.",
            "Leave it for what users will see. To study steadiness switch it off, as root: "
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or "
            "echo 0 > /sys/devices/system/cpu/cpufreq/boost.",
        )
    ]


def clock_cap(system: System) -> list[CheckFinding]:
    """May the clock reach what the hardware can?"""
    limit, maximum = system.processor.frequency.limit, system.processor.frequency.maximum
    if limit is None or maximum is None:
        return []
    if limit >= 0.99 * maximum:
        return [CheckFinding("clock-cap", "ok", "The clock may reach the hardware's maximum.")]
    return [
        CheckFinding(
            "clock-cap",
            "warning",
            f"The clock is capped at {format_quantity(limit, 'Hz')}; "
            f"the hardware can do {format_quantity(maximum, 'Hz')}.",
            "All rates of computing are below what the hardware gives.",
            "As root: cpupower frequency-set -u MAXIMUM, or look for a power-saving profile.",
        )
    ]


def smt(system: System) -> list[CheckFinding]:
    """Do hardware threads share cores?"""
    processor = system.processor
    if processor.threads_per_core is None:
        return []
    if processor.threads_per_core == 1:
        return [CheckFinding("smt", "ok", "Each core has one hardware thread.")]
    return [
        CheckFinding(
            "smt",
            "note",
            f"SMT is on: {processor.cores} cores show as {processor.threads} CPUs.",
            "Two ranks on one core share its arithmetic and its caches, and each looks slow.",
            f"Use at most {system.usable_cores} ranks × threads here, bound to cores.",
        )
    ]


def energy(system: System) -> list[CheckFinding]:
    """Can it be measured what a placement takes of energy?"""
    readable = system.processor.energy_readable
    if readable is None:
        return []
    if readable:
        return [CheckFinding("energy", "ok", "The processors' counters of energy can be read.")]
    return [
        CheckFinding(
            "energy",
            "note",
            "The processors' counters of energy (RAPL) may be read by root alone.",
            "No placement can be recommended for its energy.",
            "As root, on each node: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj",
        )
    ]


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
            f"This is a virtual machine{name}, by {' and '.join(found.evidence)}.",
            "Neighbours share caches, memory and network; core and NUMA numbers may be made up.",
            "Repeat on other days before believing a difference; prefer whole-node instances.",
        )
    ]


def huge_pages(system: System) -> list[CheckFinding]:
    """Can large arrays have large pages?"""
    memory = system.memory
    if memory.transparent is None:
        return []
    if memory.transparent == "always":
        return [CheckFinding("huge-pages", "ok", "Transparent huge pages are always tried.")]
    if memory.transparent == "madvise":
        return [
            CheckFinding(
                "huge-pages",
                "note",
                "Transparent huge pages go only to programs that ask for them (madvise).",
                "Programs that don't ask pay for TLB misses on large arrays.",
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


def quota(system: System) -> list[CheckFinding]:
    """Is there CPU time for all the CPUs that are shown?"""
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
            f"The control group may use {allowed:g} CPUs' worth of time, but {threads} are shown.",
            "More busy threads than that are all stopped for the rest of each period (usually "
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
            "Whoever has the rest shares caches and memory bandwidth with the measurement.",
            "Ask for the whole node (Slurm: --exclusive)."
            if inside
            else "Start without taskset, numactl or a cpuset, unless the part is what you measure.",
        )
    ]


def memory(system: System) -> list[CheckFinding]:
    """Is there room, and does anything swap?"""
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
                f"Only {format_memory(room)} of memory can be had.",
                "Arrays that must exceed the caches, or a large problem, may not fit.",
                "End what uses it, or measure smaller problems.",
            )
        )
    swapped = (found.swap_total or 0) - (found.swap_free or 0)
    if found.swap_total and swapped > max(found.total // 100, 64 << 20):
        findings.append(
            CheckFinding(
                "memory",
                "warning",
                f"{format_memory(swapped)} are swapped out.",
                "Memory has been short: pages may come back from disk during a measurement.",
                "End what uses the memory, then as root: swapoff -a && swapon -a.",
            )
        )
    return findings or [
        CheckFinding("memory", "ok", f"{format_memory(room)} of memory can be had, nothing swaps.")
    ]


def shared_memory(system: System) -> list[CheckFinding]:
    """Has MPI room in /dev/shm?"""
    size = system.memory.shared
    if size is None:
        return []
    if size >= _LEAST_SHARED:
        return [CheckFinding("shared-memory", "ok", f"/dev/shm may hold {format_memory(size)}.")]
    return [
        CheckFinding(
            "shared-memory",
            "warning",
            f"/dev/shm may hold only {format_memory(size)}.",
            "MPI passes messages within a node through it: launches with many ranks fail or crawl.",
            "docker run --shm-size=2g, or as root: mount -o remount,size=2G /dev/shm.",
        )
    ]


def locked_memory(system: System) -> list[CheckFinding]:
    """May MPI register memory with the fabric?"""
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


def clock_source(system: System) -> list[CheckFinding]:
    """Is the clock cheap to read?"""
    name = system.os.clock_source
    if name is None:
        return []
    if name in _FAST_CLOCKS:
        return [CheckFinding("clock-source", "ok", f"The clock source is {name}.")]
    return [
        CheckFinding(
            "clock-source",
            "problem",
            f"The clock source is {name}, which is slow or coarse to read.",
            "Each reading costs a microsecond or more: short operations can't be timed singly.",
            "If the hardware allows: clocksource=tsc tsc=reliable on the kernel's command line "
            f"(available: {', '.join(system.os.clock_sources) or 'unknown'}).",
        )
    ]


def time_stamp_counter(system: System) -> list[CheckFinding]:
    """Can the processor's own counter be trusted?"""
    steady = system.processor.constant_tsc
    if steady is None:
        return []
    if not steady:
        return [
            CheckFinding(
                "tsc",
                "warning",
                "The time stamp counter is not constant or stops in idle states.",
                "Times taken from it depend on the clock and on idling.",
                "Look for a firmware update; else use another clock source.",
            )
        ]
    sources = system.os.clock_sources
    if sources and "tsc" not in sources and not system.virtualisation.virtual:
        return [
            CheckFinding(
                "tsc",
                "warning",
                "The kernel has rejected the time stamp counter.",
                "It found the counters of the cores to disagree, often the firmware's doing.",
                "See dmesg | grep -i tsc; look for a firmware update.",
            )
        ]
    return [CheckFinding("tsc", "ok", "The time stamp counter is constant.")]


def randomisation(system: System) -> list[CheckFinding]:
    """Does each process get another layout of memory?"""
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
            "which replicates average over.",
        )
    ]


def mitigations(system: System) -> list[CheckFinding]:
    """Which workarounds for processor flaws cost time?"""
    if not system.os.mitigations:
        return []
    names = ", ".join(system.os.mitigations)
    return [
        CheckFinding(
            "mitigations",
            "note",
            f"The kernel works around {len(system.os.mitigations)} processor flaws: {names}.",
            "System calls and context switches cost more: network and storage, hardly arithmetic.",
            "Compare only machines with the same mitigations.",
        )
    ]


def scheduler(system: System) -> list[CheckFinding]:
    """Is this a place to measure at all?"""
    found = system.scheduler
    if found is None:
        return []
    if found.job is not None:
        return [CheckFinding("scheduler", "ok", f"This is {found.name} job {found.job}.")]
    return [
        CheckFinding(
            "scheduler",
            "warning",
            f"{found.name} is here, but this is not one of its jobs.",
            "On a login node others work, and it may differ from the compute nodes.",
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
    scheduler,
)

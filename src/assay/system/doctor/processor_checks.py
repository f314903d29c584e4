"""Checks of the settings of the processor and its clocks."""

from __future__ import annotations

from assay.system.doctor.findings import CheckFinding
from assay.system.model import System
from assay.units import format_quantity

# Clock sources that user space reads within tens of nanoseconds.
_FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase")


def governor(system: System) -> list[CheckFinding]:
    """Is the frequency governor 'performance'?"""
    frequency = system.processor.frequency
    if not frequency.governors:
        if not system.virtualisation.virtual:
            return []
        return [
            CheckFinding(
                "governor",
                "note",
                "The clock can't be seen or set from inside this virtual machine.",
                "The host may change the clock during a measurement unnoticed.",
                "Compare the measured clock rate of the samples, or use bare metal.",
            )
        ]
    names = ", ".join(frequency.governors)
    if frequency.governors == ["performance"]:
        return [CheckFinding("governor", "ok", "The frequency governor is 'performance'.")]
    # With these two drivers even powersave follows the load closely: the hardware sets the clock.
    gradual = frequency.driver in ("intel_pstate", "amd-pstate-epp")
    way = "quickly but not immediately" if gradual else "only after milliseconds"
    return [
        CheckFinding(
            "governor",
            "warning",
            f"The frequency governor is {names}, not 'performance'.",
            f"The clock follows the load {way}: short kernels are timed while it still rises.",
            "As root: cpupower frequency-set -g performance. "
            "Under Slurm: srun --cpu-freq=performance.",
        )
    ]


def turbo(system: System) -> list[CheckFinding]:
    """Is turbo on?"""
    if system.processor.frequency.turbo is None:
        return []
    if not system.processor.frequency.turbo:
        return [CheckFinding("turbo", "ok", "Turbo is off: the clock does not depend on the load.")]
    return [
        CheckFinding(
            "turbo",
            "note",
            "Turbo is on.",
            "The clock depends on temperature, power and the number of busy cores, so results of "
            "one core don't scale to all cores.",
            "Leave it on to measure what users get. To study variation, switch it off as root: "
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or "
            "echo 0 > /sys/devices/system/cpu/cpufreq/boost.",
        )
    ]


def clock_cap(system: System) -> list[CheckFinding]:
    """Is the clock limited below the hardware's maximum?"""
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
            f"the hardware's maximum is {format_quantity(maximum, 'Hz')}.",
            "All compute rates are below what the hardware can reach.",
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
            "Two ranks on one core share its execution units and caches, and each is slower.",
            f"Use at most {system.usable_cores} ranks × threads here, bound to cores.",
        )
    ]


def energy(system: System) -> list[CheckFinding]:
    """Can the energy use of a placement be measured?"""
    readable = system.processor.energy_readable
    if readable is None:
        return []
    if readable:
        return [CheckFinding("energy", "ok", "The processors' energy counters can be read.")]
    return [
        CheckFinding(
            "energy",
            "note",
            "Only root may read the processors' energy counters (RAPL).",
            "Placements can't be compared by their energy.",
            "As root, on each node: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj",
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
            f"The clock source is {name}, which is slow to read or coarse.",
            "Each reading costs a microsecond or more: short operations can't be timed singly.",
            "If the hardware allows: clocksource=tsc tsc=reliable on the kernel's command line "
            f"(available: {', '.join(system.os.clock_sources) or 'unknown'}).",
        )
    ]


def time_stamp_counter(system: System) -> list[CheckFinding]:
    """Is the time stamp counter constant?"""
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
                "It found that the counters of the cores disagree, often because of the firmware.",
                "See dmesg | grep -i tsc; look for a firmware update.",
            )
        ]
    return [CheckFinding("tsc", "ok", "The time stamp counter is constant.")]

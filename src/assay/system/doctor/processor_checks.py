"""Checks of how the processor and its clocks are set up."""

from __future__ import annotations

from assay.system.doctor.findings import CheckFinding
from assay.system.model import System
from assay.units import format_quantity

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

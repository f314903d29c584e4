"""Checks of the current state of the machine, and of the toolchains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.system.doctor.findings import CheckFinding, Severity
from assay.system.doctor.probe import Probe
from assay.system.model import System
from assay.units import format_memory, format_quantity

if TYPE_CHECKING:
    from assay.kernels.builds.toolchain import Toolchain

# Use of CPUs by other processes: below the first limit, in CPUs, the machine is idle; above the
# second, as a share of all CPUs, it is a problem.
_IDLE_CPUS = 0.1
_SHARED_MACHINE = 0.5
# Steal time shifts a median by about its share: limits below and above the default precision, 1%.
_STEAL_WARNING, _STEAL_PROBLEM = 0.005, 0.05
_DISK_WARNING, _DISK_PROBLEM = 1 << 30, 100 << 20
_COARSE_CLOCK = 1e-6


def kernels_running(system: System, probe: Probe) -> list[CheckFinding]:
    """Is another measurement running?"""
    if not probe.kernels:
        return [CheckFinding("kernels-running", "ok", "No other assay-kernels are running.")]
    pids = ", ".join(map(str, probe.kernels))
    return [
        CheckFinding(
            "kernels-running",
            "problem",
            f"assay-kernels are running (process {pids}).",
            "Another measurement is running here, or a launch was left behind; it would disturb "
            "this one.",
            "Wait for them; if they are left over from your runs, end them by process id (kill).",
        )
    ]


def load(system: System, probe: Probe) -> list[CheckFinding]:
    """Do other processes use the CPUs?"""
    if probe.others is None:
        return []
    if probe.others < _IDLE_CPUS:
        return [CheckFinding("load", "ok", f"Other processes use {probe.others:.2f} CPUs.")]
    threads = system.usable_threads or 1
    severity: Severity = "problem" if probe.others > _SHARED_MACHINE * threads else "warning"
    names = ", ".join(f"{p.name} ({p.pid}): {p.cpus:.2f}" for p in probe.busiest if p.cpus >= 0.01)
    return [
        CheckFinding(
            "load",
            severity,
            f"Other processes use {probe.others:.2f} of {threads} CPUs"
            f"{': ' if names else ''}{names}.",
            "They take time, caches and memory bandwidth from the kernels.",
            "End them or wait, or measure in an exclusive allocation.",
        )
    ]


def steal(system: System, probe: Probe) -> list[CheckFinding]:
    """Does the hypervisor take CPU time for other guests?"""
    if probe.steal is None or not system.virtualisation.virtual:
        return []
    share = f"{100 * probe.steal:.1f}%"
    if probe.steal < _STEAL_WARNING:
        return [CheckFinding("steal", "ok", f"Steal time is {share} of the demanded CPU time.")]
    return [
        CheckFinding(
            "steal",
            "problem" if probe.steal >= _STEAL_PROBLEM else "warning",
            f"Steal time is {share} of the demanded CPU time.",
            "Ranks are stopped for milliseconds, and so are all ranks that wait for them.",
            "Measure at another time, or use instances with dedicated CPUs.",
        )
    ]


def throttling(system: System, probe: Probe) -> list[CheckFinding]:
    """Is the processor too hot?"""
    if probe.throttled is None:
        return []
    ever = system.processor.throttled or 0
    if probe.throttled:
        return [
            CheckFinding(
                "throttling",
                "problem",
                f"The processor throttled {probe.throttled} times during the observation.",
                "It is too hot and lowers its clock: all compute rates are too low.",
                "Check fans, filters and inlet temperature.",
            )
        ]
    if ever:
        return [
            CheckFinding(
                "throttling",
                "note",
                f"The processor has throttled {ever} times since boot, but not now.",
                "Under full load it may get too hot again.",
                "Compare the first and the last samples of a long run.",
            )
        ]
    return [CheckFinding("throttling", "ok", "The processor has never throttled since boot.")]


def clock_resolution(system: System, probe: Probe) -> list[CheckFinding]:
    """Is the clock's resolution sufficient?"""
    values = [v for v in (probe.clock_resolution, probe.clock_step) if v is not None]
    if not values:
        return []
    step = format_quantity(max(values), "s")
    if max(values) < _COARSE_CLOCK:
        return [CheckFinding("clock-resolution", "ok", f"The clock steps by {step} or less.")]
    return [
        CheckFinding(
            "clock-resolution",
            "problem",
            f"The clock steps by {step}.",
            "Operations shorter than a hundred steps can only be timed in batches.",
            "Check the clock source and high-resolution timers (kernel option highres).",
        )
    ]


def disk(system: System, probe: Probe) -> list[CheckFinding]:
    """Is there room for runs?"""
    if probe.disk is None:
        return []
    free = f"{format_memory(probe.disk)} are free in {probe.disk_path}"
    if probe.disk >= _DISK_WARNING:
        return [CheckFinding("disk", "ok", f"{free}.")]
    return [
        CheckFinding(
            "disk",
            "problem" if probe.disk < _DISK_PROBLEM else "warning",
            f"Only {free}, where runs are stored.",
            "A run that can't write its records loses measurements.",
            "Make room, or start assay in another folder.",
        )
    ]


def environment(system: System, probe: Probe) -> list[CheckFinding]:
    """Do environment variables tune a library?"""
    if system.tuning is None:
        return []
    tuning = dict(system.tuning)
    core = tuning.pop("OPENBLAS_CORETYPE", None)
    findings = []
    if core is not None:
        findings.append(
            CheckFinding(
                "environment",
                "warning",
                f"OPENBLAS_CORETYPE={core} is set.",
                f"OpenBLAS uses its kernels for {core} instead of those for this processor. "
                "This may halve the rate of DGEMM.",
                "unset OPENBLAS_CORETYPE, unless that is what you want to measure.",
            )
        )
    if tuning:
        named = ", ".join(f"{name}={value}" for name, value in tuning.items())
        findings.append(
            CheckFinding(
                "environment",
                "note",
                f"Environment variables tune the libraries: {named}.",
                "Results measured without them may differ; each run records them.",
                "Unset those that you didn't mean to set.",
            )
        )
    return findings or [
        CheckFinding("environment", "ok", "No variable tunes MPI, OpenMP, BLAS or the C library.")
    ]


NOW_CHECKS = (kernels_running, load, steal, throttling, clock_resolution, disk, environment)

_COMPILER = {"apt-get": "g++", "dnf": "gcc-c++", "zypper": "gcc-c++"}
_MPI = {"apt-get": "libmpich-dev", "dnf": "mpich-devel", "zypper": "mpich-devel"}
_MANAGERS = {
    **dict.fromkeys(("debian", "ubuntu", "linuxmint", "raspbian"), "apt-get"),
    **dict.fromkeys(("opensuse-leap", "opensuse-tumbleweed", "sles", "suse"), "zypper"),
}


def toolchains(system: System, found: Sequence[Toolchain]) -> list[CheckFinding]:
    """Can kernels be built?"""
    usable = [t for t in found if not t.problem]
    findings = [
        # One usable toolchain is enough; problems of the others are then only notes.
        CheckFinding(
            "toolchain",
            "note" if usable else "problem",
            f"Toolchain '{t.name}': {t.problem}",
            "Nothing can be measured with it.",
            t.fix,
        )
        for t in found
        if t.problem
    ]
    if usable:
        names = ", ".join(t.name for t in usable)
        return [CheckFinding("toolchain", "ok", f"Kernels can be built with: {names}."), *findings]
    if not any(t.cxx for t in found):
        findings.append(
            CheckFinding(
                "compiler",
                "problem",
                "No C++ compiler is found.",
                "Kernels are compiled on the machine they measure.",
                f"{_install(system, _COMPILER)}; or load your site's module (module load gcc).",
            )
        )
    if not found:
        findings.append(
            CheckFinding(
                "toolchain",
                "problem",
                "No MPI is found, neither in assay's Python environment nor on PATH.",
                "Nothing can be measured without one.",
                f"pip install mpich; or {_install(system, _MPI)}; or load your site's module.",
            )
        )
    return findings


def _install(system: System, packages: dict[str, str]) -> str:
    known = _MANAGERS.get(system.os.identifier or "")
    if known is None and system.os.identifier is None:
        return f"apt-get install {packages['apt-get']} or dnf install {packages['dnf']}"
    manager = known or "dnf"
    return f"{manager} install {packages[manager]}"

"""Human-readable description of a system: sections of labelled lines, with scaled units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.system.devices.describe import device_lines
from assay.system.files import from_cpus
from assay.system.model import Adapter, Cache, Frequency, System
from assay.system.peak import peak_flops
from assay.units import (
    MISSING,
    counted,
    format_duration,
    format_memory,
    format_quantity,
    format_size,
)

if TYPE_CHECKING:
    from assay.kernels.builds.toolchain import Toolchain


@dataclass(frozen=True)
class SystemSection:
    """A titled group of lines, each a label and its text."""

    title: str
    lines: list[tuple[str, str]]


def describe(system: System, toolchains: Sequence[Toolchain] | None = None) -> list[SystemSection]:
    """The sections of ``assay system``; unknown facts are a dash or are left out."""
    sections = [
        SystemSection("Processor", _processor(system)),
        SystemSection("Memory", _memory(system)),
        SystemSection("Host and limits", _host_and_limits(system)),
        SystemSection("Network", [(a.name, _adapter(a)) for a in _shown(system.adapters)]),
        SystemSection("Devices", [line for d in system.devices for line in device_lines(d)]),
        SystemSection("Environment", list((system.tuning or {}).items())),
    ]
    if toolchains is not None:
        lines = [(t.name, _toolchain(t)) for t in toolchains]
        sections.append(
            SystemSection("Toolchains", lines or [(MISSING, "none found: see `assay doctor`")])
        )
    return [section for section in sections if section.lines]


def _text(value: object) -> str:
    return MISSING if value is None or value == "" else str(value)


def _processor(system: System) -> list[tuple[str, str]]:
    p = system.processor
    numbers = [
        f"{label} {value}"
        for label, value in (("family", p.family), ("model", p.model), ("stepping", p.stepping))
        if value is not None
    ]
    topology = [
        f"{counted(value, noun)}"
        for value, noun in ((p.sockets, "socket"), (p.cores, "core"), (p.threads, "CPU"))
        if value is not None
    ]
    smt = {None: "", 1: ", no SMT"}.get(p.threads_per_core, f", {p.threads_per_core} per core")
    lines = [
        ("Model", _text(p.name or p.microarchitecture)),
        ("Vendor", ", ".join([_text(p.vendor), *numbers])),
        ("Microarchitecture", p.microarchitecture or "not in assay's table"),
        ("Topology", (" · ".join(topology) or MISSING) + smt + (", hybrid" * bool(p.hybrid))),
        ("Vectors", _vectors(system)),
        ("Clock", _clock(p.frequency)),
        *((_cache_name(c), _cache(c)) for c in p.caches),
    ]
    cores = system.usable_cores
    peak = peak_flops(system, cores) if cores else None
    if peak is not None:
        lines.append(("Peak", peak.explanation + (" (assumed)" if peak.assumed else "")))
    return lines


def _vectors(system: System) -> str:
    bits = system.processor.vector_bits
    widest = f" (up to {bits} bits)" if bits else ""
    return (" ".join(system.processor.vectors) or MISSING) + widest


def _clock(f: Frequency) -> str:
    parts = []
    if f.minimum is not None and f.maximum is not None:
        parts.append(f"{format_quantity(f.minimum, 'Hz')} to {format_quantity(f.maximum, 'Hz')}")
    elif f.maximum is not None:
        parts.append(f"up to {format_quantity(f.maximum, 'Hz')}")
    if f.base is not None:
        parts.append(f"base {format_quantity(f.base, 'Hz')}")
    if f.current is not None:
        parts.append(f"{format_quantity(f.current, 'Hz')} now")
    if f.turbo is not None:
        parts.append("turbo " + ("on" if f.turbo else "off"))
    governors = "/".join(f.governors)
    if governors:
        parts.append(f"governor {governors}" + (f" ({f.driver})" if f.driver else ""))
    elif parts:
        parts.append("no frequency control")
    return ", ".join(parts) or MISSING


def _cache_name(cache: Cache) -> str:
    letter = {"data": "d", "instruction": "i"}.get(cache.kind or "", "")
    return f"L{cache.level}{letter}"


def _cache(cache: Cache) -> str:
    parts = [format_size(cache.size)]
    if cache.count is not None:
        parts[0] = f"{cache.count} × {parts[0]}"
    if cache.shared_by is not None and cache.shared_by > 1:
        parts.append(f"shared by {cache.shared_by} CPUs")
    if cache.line is not None:
        parts.append(f"{cache.line} B lines")
    if cache.ways is not None:
        parts.append(f"{cache.ways} ways")
    return ", ".join(parts)


def _size(size: int | None) -> str:
    return "unknown" if size is None else format_memory(size)


def _memory(system: System) -> list[tuple[str, str]]:
    m = system.memory
    swap = "no swap"
    if m.swap_total:
        used = "" if m.swap_free is None else f", {format_memory(m.swap_total - m.swap_free)} used"
        swap = f"swap {format_memory(m.swap_total)}{used}"
    elif m.swap_total is None:
        swap = "swap unknown"
    lines = [
        (
            "Main memory",
            f"{_size(m.total)}, {_size(m.available)} available, {swap}",
        ),
        (
            "Huge pages",
            f"transparent: {_text(m.transparent)}, defrag: {_text(m.defrag)}, "
            f"reserved: {_text(m.huge_pages)} of {format_size(m.page)}",
        ),
    ]
    # A single node owns all of the memory above, though the kernel may report less for it.
    for node in m.nodes if len(m.nodes) > 1 else ():
        distances = " ".join(map(str, node.distances))
        lines.append(
            (
                f"NUMA node {node.id}",
                f"CPUs {from_cpus(node.cpus) or 'none'}, {format_memory(node.memory)}"
                + (f", distances {distances}" if len(node.distances) > 1 else ""),
            )
        )
    return lines


def _host_and_limits(system: System) -> list[tuple[str, str]]:
    o, v, limits = system.os, system.virtualisation, system.limits
    virtual = {None: "unknown", False: "none detected"}.get(v.virtual, v.hypervisor or "yes")
    if v.virtual and v.steal is not None:
        virtual += f", steal time {100 * v.steal:.2g}% since boot"
    bounds = []
    if limits.quota is not None:
        bounds.append(f"{limits.quota:g} CPUs of time")
    if system.usable_threads is not None and system.usable_threads != system.processor.threads:
        allowed = limits.affinity if limits.affinity is not None else limits.cpuset
        bounds.append(f"CPUs {from_cpus(allowed or [])}")
    if limits.memory is not None:
        bounds.append(f"{format_memory(limits.memory)} of memory")
    clocks = [c for c in o.clock_sources if c != o.clock_source]
    lines = [
        ("Host", _text(o.hostname)),
        (
            "System",
            f"{_text(o.name)}, kernel {_text(o.kernel)}, {_text(system.processor.architecture)}",
        ),
        ("Up", f"{format_duration(o.uptime)}, load {_load(o.load)}"),
        ("Virtual machine", virtual),
        ("Container", v.container or "none detected"),
        ("Limits", ", ".join(bounds) or "none"),
        (
            "Clock source",
            _text(o.clock_source) + (f" (also: {', '.join(clocks)})" if clocks else ""),
        ),
        ("Scheduler", _scheduler(system)),
    ]
    if o.isolated:
        lines.append(("Isolated CPUs", from_cpus(o.isolated)))
    return lines


def _load(load: list[float] | None) -> str:
    return MISSING if load is None else " ".join(f"{value:.2f}" for value in load)


def _scheduler(system: System) -> str:
    found = system.scheduler
    if found is None:
        return "none found"
    nodes = f" on {counted(found.nodes, 'node')}" if found.nodes else ""
    job = f"job {found.job}{nodes}" if found.job else "not inside a job"
    return f"{found.name}{' ' + found.version if found.version else ''}, {job}"


def _shown(adapters: Sequence[Adapter]) -> list[Adapter]:
    """Physical adapters, and virtual ones that are up."""
    return [a for a in adapters if a.physical or (a.kind != "loopback" and a.state == "up")]


def _adapter(a: Adapter) -> str:
    speed = "speed unknown"
    if a.speed is not None:
        speed = f"{format_quantity(a.speed * 8, 'bit/s')} = {format_quantity(a.speed, 'B/s')}"
    parts = [_text(a.kind), _text(a.state), f"{a.rate}, {speed}" if a.rate else speed]
    if a.mtu is not None:
        parts.append(f"MTU {a.mtu:,} B")
    if a.driver:
        parts.append(a.driver)
    if a.node is not None:
        parts.append(f"NUMA node {a.node}")
    return ", ".join(parts)


def _toolchain(toolchain: Toolchain) -> str:
    if toolchain.problem:
        return f"can't be used: {toolchain.problem}"
    flavour = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}
    blas = toolchain.blas
    parts = [
        f"{flavour.get(toolchain.mpi_flavour, 'MPI')} {toolchain.mpi_version or ''}".strip(),
        toolchain.cxx_version or toolchain.cxx,
        f"{blas.name} {blas.version or ''}".strip() if blas else "no BLAS",
        *(f"{name}={value}" for name, value in toolchain.environment.items()),
        toolchain.mpicxx,
    ]
    return ", ".join(part for part in parts if part)

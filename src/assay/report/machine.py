"""The machine and the provenance of the results, as tables of facts."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Iterable, Mapping, Sequence

from assay.console import harmless
from assay.errors import AssayError
from assay.model.choices import grouped_choices
from assay.questions.common.tables import Column, Entry, Table, TableBuilder, Tone, fact_table
from assay.records.model import LaunchRecord, Manifest, RunData
from assay.report.hosts import clock_notes, clock_text, network_text, node_tables
from assay.system.devices.describe import devices_text
from assay.system.model import Processor, System
from assay.units import (
    counted,
    format_duration,
    format_half_width,
    format_memory,
    format_quantity,
    format_share,
)

Facts = Iterable[tuple[str, str]]

_CACHE_KINDS = {"data": "d", "instruction": "i"}


def system_table(manifest: Manifest) -> Table:
    """The machine, as detected at the start of the run."""
    try:
        facts = list(_system_facts(System.from_dict(manifest.system)))
        notes: list[str] = []
    except AssayError as error:
        facts = [(name, _text(value)) for name, value in manifest.system.items()]
        notes = [str(error)]
    return fact_table("system", "System", facts, notes)


def provenance_tables(run: RunData) -> list[Table]:
    """Command, plan and seed of the run, its hosts, toolchains and launches."""
    tables = [_origin(run), *node_tables(run)]
    if run.manifest.plan.choices:
        tables.append(_choices(run.manifest.plan.choices))
    if run.manifest.toolchains:
        tables.append(_toolchains(run.manifest.toolchains))
    if run.launches:
        tables.append(_launches(run))
    return tables


def _system_facts(system: System) -> Facts:
    processor, memory, os = system.processor, system.memory, system.os
    frequency, virtual = processor.frequency, system.virtualisation
    yield "Processor", " · ".join(filter(None, (processor.name, processor.microarchitecture)))
    yield "Cores", _cores(processor, system)
    yield "Vectors", _vectors(processor)
    yield (
        "Caches",
        ", ".join(
            f"L{cache.level}{_CACHE_KINDS.get(cache.kind or '', '')} {format_memory(cache.size)}"
            + (f" × {cache.count}" if cache.count else "")
            for cache in processor.caches
        ),
    )
    yield (
        "Clock",
        ", ".join(
            f"{word} {format_quantity(value, 'Hz')}"
            for word, value in (
                ("base", frequency.base),
                ("maximum", frequency.maximum),
                ("at the start", frequency.current),
            )
            if value
        ),
    )
    yield "Governor", ", ".join(frequency.governors)
    yield "Turbo", "" if frequency.turbo is None else ("on" if frequency.turbo else "off")
    yield "Memory", format_memory(memory.total) if memory.total else ""
    yield "NUMA nodes", str(len(memory.nodes)) if memory.nodes else ""
    yield "Huge pages", f"transparent: {memory.transparent}" if memory.transparent else ""
    if virtual.virtual is not None:
        steal = (
            ""
            if virtual.steal is None
            else f", steal time {format_share(virtual.steal)} since boot"
        )
        yield (
            "Virtual machine",
            f"yes ({virtual.hypervisor or 'unknown'}{steal})" if virtual.virtual else "no",
        )
    yield "Container", virtual.container or ""
    yield "CPU quota", f"{system.limits.quota:g} CPUs" if system.limits.quota else ""
    yield (
        "Network",
        ", ".join(
            f"{adapter.name} ({adapter.kind or 'unknown kind'}"
            + (f", {format_quantity(adapter.speed * 8, 'bit/s')}" if adapter.speed else "")
            + ")"
            for adapter in system.adapters
            if adapter.kind != "loopback"
        ),
    )
    yield "Devices", devices_text(system.devices)
    yield (
        "Scheduler",
        " ".join(filter(None, (system.scheduler.name, system.scheduler.version)))
        if system.scheduler
        else "none found",
    )
    yield "Environment variables", " ".join(f"{k}={v}" for k, v in (system.tuning or {}).items())
    yield "Operating system", os.name or ""
    yield "Kernel", os.kernel or ""
    yield "Host", os.hostname or ""


def _cores(processor: Processor, system: System) -> str:
    if not processor.cores:
        return ""
    words = [counted(processor.cores, "core")]
    if processor.sockets:
        words.append(f"in {counted(processor.sockets, 'socket')}")
    if processor.threads and processor.threads != processor.cores:
        words.append(f"with {processor.threads} hardware threads")
    if system.usable_threads and system.usable_threads != processor.threads:
        words.append(f"({system.usable_threads} hardware threads usable here)")
    return " ".join(words)


def _vectors(processor: Processor) -> str:
    if not processor.vector_bits:
        return ""
    fused = {True: ", fused multiply-add", False: ", no fused multiply-add", None: ""}
    return f"{processor.vector_bits} bits{fused[processor.fma]}"


def _origin(run: RunData) -> Table:
    manifest = run.manifest
    replication = manifest.plan.replication
    clocks = [m.clock for m in run.measurements if m.clock is not None]
    facts = [
        ("Run", manifest.run),
        ("Directory", harmless(str(run.path or ""))),
        ("Command", shlex.join(manifest.command)),
        ("assay", manifest.assay),
        ("Suite", f"{manifest.plan.name}: {manifest.plan.title}"),
        ("Cells", str(len(manifest.plan.cells))),
        ("Notes", " ".join(manifest.plan.notes)),
        ("Seed", str(manifest.plan.seed)),
        (
            "Precision requested",
            f"{format_half_width(replication.precision)} at {100 * replication.confidence:g}%",
        ),
        ("Budget", format_duration(replication.budget)),
        (
            "Sessions",
            f"{replication.planned}, one every {format_duration(replication.every)}"
            if replication.repeated
            else "",
        ),
        ("Clock", ", ".join(dict.fromkeys(clock.source for clock in clocks))),
        (
            "Clock overhead",
            format_quantity(statistics.median(c.overhead for c in clocks), "s") if clocks else "",
        ),
        (
            "Clock resolution",
            format_quantity(max(c.resolution for c in clocks), "s") if clocks else "",
        ),
        ("Pinning of ranks", _pinning(run)),
        ("Sent between hosts", network_text(run)),
        ("Hosts' clocks", clock_text(run)),
    ]
    return fact_table("origin", "Provenance", facts, clock_notes(run))


def _choices(choices: Sequence[str]) -> Table:
    """What the plan left open and the machine decided."""
    return (
        TableBuilder(grouped_choices(choices))
        .text("choice", "Choice", str)
        .table("choices", "Chosen for this machine", folded=True)
    )


def _pinning(run: RunData) -> str:
    """Whether ranks were pinned, and whether they shared cores, as the ranks reported."""
    ranks = {(m.launch, rank.rank): rank for m in run.measurements for rank in m.ranks}
    if not ranks:
        return ""
    unpinned = sum(1 for rank in ranks.values() if not rank.pinned)
    sharing = sum(1 for rank in ranks.values() if rank.oversubscribed)
    words = [f"{unpinned} of {len(ranks)} ranks not pinned" if unpinned else "every rank pinned"]
    if sharing:
        words.append(f"{sharing} of {len(ranks)} shared a core")
    return ", ".join(words)


def _toolchains(toolchains: Mapping[str, Mapping[str, object]]) -> Table:
    """One row per fact, one column per toolchain."""
    names = list(toolchains)
    keys = list(dict.fromkeys(key for found in toolchains.values() for key in found))
    rows = []
    for key in keys:
        values = [_text(toolchains[name].get(key)) for name in names]
        if key != "name" and any(values):
            rows.append([Entry(key.replace("_", " ")), *(Entry(value, value) for value in values)])
    return Table(
        id="toolchains",
        title="Toolchains",
        columns=[Column("fact", "Fact"), *(Column(name, name) for name in names)],
        rows=rows,
    )


def _launches(run: RunData) -> Table:
    tones: dict[str, Tone] = {"complete": "", "interrupted": "warn"}
    start = run.manifest.utc
    notes: dict[str, int] = {}

    def note(launch: LaunchRecord) -> str:
        why = launch.error or ("" if launch.outcome == "complete" else launch.stderr.strip()[-500:])
        return str(notes.setdefault(why, len(notes) + 1)) if why else ""

    def after(launch: LaunchRecord) -> Entry:
        return Entry(format_duration(max(launch.utc - start, 0.0)), launch.utc - start)

    def end(launch: LaunchRecord) -> Entry:
        return Entry("" if launch.exit is None else str(launch.exit), launch.exit)

    return (
        TableBuilder(run.launches)
        .column("launch", "Launch", lambda launch: Entry(launch.launch, launch.launch))
        .text("toolchain", "Toolchain", lambda launch: launch.toolchain)
        .numbers("start", "Start", after, unit="s")
        .numbers(
            "wall",
            "Duration",
            lambda launch: Entry(format_quantity(launch.wall, "s"), launch.wall),
            unit="s",
        )
        .column(
            "outcome",
            "Outcome",
            lambda launch: Entry(launch.outcome, tone=tones.get(launch.outcome, "bad")),
        )
        .numbers("exit", "Exit", end)
        .text("notes", "Notes", note)
        .text("command", "Command", lambda launch: shlex.join(launch.command), tone="quiet")
        .table("launches", "Launches", notes=notes, folded=True)
    )


def _text(value: object) -> str:
    """A stored fact of any type, on one line."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        inner = [f"{key} {text}" for key, item in value.items() if (text := _text(item))]
        return ", ".join(inner)
    if isinstance(value, (list, tuple)):
        return " ".join(text for item in value if (text := _text(item)))
    return f"{value:g}" if isinstance(value, float) else str(value)

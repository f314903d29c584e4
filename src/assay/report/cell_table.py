"""The table of all cells: headline metrics with their uncertainty and caveats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from assay.kernels import known_kernel
from assay.kernels.naming import metric_name, parameters_text, placement_text, program_name
from assay.kernels.npb.own_code import code_note
from assay.kernels.outside import APP
from assay.questions.common.tables import NOTHING, Column, Entry, Table, Tone, count, quantity
from assay.stats.core.model import UNTRIED, CellSummary, DeviceEnergy, MetricSummary
from assay.units import MISSING, counted, format_quantity

_STOPS = {
    "precision": "precision",
    "budget": "budget",
    "launches": "launches",
    "interrupted": "interrupted",
    "failed": "failed",
    "imported": "imported",
}


_ENERGY = (
    "The energy of devices refers to one operation; ± is the most by which the times of reading "
    "it may change it."
)


def cell_table(cells: Sequence[CellSummary]) -> Table:
    """One row per cell: its kernel's headline metric, or why it has no result."""
    notes: dict[str, int] = {}
    several = len({cell.cell.toolchain for cell in cells}) > 1
    # Hosts are shown where cells with the same number of nodes ran on different hosts.
    placed = {(cell.cell.placement.nodes, hosts) for cell in cells for hosts in cell.hosts}
    scattered = len(placed) > len({nodes for nodes, _ in placed})
    programs = _programs(cells)
    rows = [_row(cell, several, scattered, programs, notes) for cell in cells]
    powered = any(cell.device_energy is not None for cell in cells)
    if powered:
        rows = [
            [*row[:-1], _energy(cell.device_energy), row[-1]]
            for row, cell in zip(rows, cells, strict=True)
        ]
    if not notes:
        rows = [row[:-1] for row in rows]
    return Table(
        id="cells",
        title="All cells",
        caption=" ".join(
            part
            for part in (
                f"{counted(len(cells), 'cell')}: one row per kernel, parameters and placement, "
                "with the kernel's headline metric. Intervals are nonparametric 95% intervals of "
                "the median over launches; fewer than six launches have none. Min and max are "
                "over all samples after warm-up, CoV is between launches, n is the number of "
                "launches.",
                *(f"`{name}` is the command `{command}`." for command, name in programs.items()),
                _ENERGY if any(cell.device_energy for cell in cells) else "",
                code_note(cell.cell.kernel for cell in cells),
            )
            if part
        ),
        columns=[
            Column("kernel", "Kernel"),
            Column("parameters", "Parameters"),
            Column("placement", "Placement"),
            *([Column("toolchain", "Toolchain")] if several else []),
            *([Column("hosts", "Hosts")] if scattered else []),
            Column("metric", "Metric"),
            Column("median", "Median [95% interval]", numeric=True),
            Column("min", "Min", numeric=True),
            Column("max", "Max", numeric=True),
            Column("cov", "CoV", numeric=True),
            Column("launches", "n", numeric=True),
            Column("samples", "Samples", numeric=True),
            Column("stop", "Stop"),
            *([Column("device_energy", "Energy of devices", numeric=True)] if powered else []),
            *([Column("notes", "Notes")] if notes else []),
        ],
        rows=rows,
        notes=list(notes),
    )


def _programs(cells: Sequence[CellSummary]) -> dict[str, str]:
    """The name of the program of each user's command, where it differs from the names of all
    others.
    """
    commands = {
        str(cell.cell.parameters["command"])
        for cell in cells
        if cell.kernel == APP and "command" in cell.cell.parameters
    }
    names = {command: program_name(command) for command in sorted(commands)}
    counts = Counter(names.values())
    return {
        command: name for command, name in names.items() if counts[name] == 1 and name != command
    }


def headline(cell: CellSummary) -> tuple[str, MetricSummary] | None:
    """The kernel's headline metric, or otherwise the first metric; None if there are no metrics."""
    if not cell.metrics:
        return None
    kernel = known_kernel(cell.kernel)
    name = kernel.headline if kernel else ""
    if name not in cell.metrics:
        name = next(iter(cell.metrics))
    return name, cell.metrics[name]


def _row(
    cell: CellSummary,
    several: bool,
    scattered: bool,
    programs: Mapping[str, str],
    notes: dict[str, int],
) -> list[Entry]:
    command = str(cell.cell.parameters.get("command", ""))
    first = [
        Entry(cell.kernel),
        Entry(programs.get(command) or parameters_text(cell.cell)),
        Entry(placement_text(cell.cell.placement), cell.cell.placement.ranks),
        *([Entry(cell.cell.toolchain)] if several else []),
        *([Entry("; ".join(cell.hosts))] if scattered else []),
    ]
    why = list(cell.caveats)
    if cell.verified is False:
        why.insert(0, "Verification failed, so the cell's numbers are not reported.")
    if cell.error:
        why.insert(0, cell.error)
    numbers = Entry(", ".join(str(_note(sentence, notes)) for sentence in why))
    found = headline(cell)
    if found is None:
        state: str = "wrong result" if cell.verified is False else cell.status
        tone: Tone = "bad"
        if cell.error == UNTRIED:
            state, tone = "not tried", "quiet"
        elif cell.left_out:
            state, tone = "left out", "quiet"
        blank = [NOTHING] * 5
        return [
            *first,
            NOTHING,
            Entry(state, tone=tone),
            *blank,
            Entry(state if tone == "quiet" else cell.status),
            numbers,
        ]
    name, metric = found
    return [
        *first,
        Entry(metric_name(name)),
        quantity(metric.median, metric.unit, metric.ci95),
        quantity(metric.min, metric.unit),
        quantity(metric.max, metric.unit),
        Entry(MISSING if metric.cov is None else f"{metric.cov:.2%}", metric.cov),
        count(metric.n),
        Entry(f"{metric.samples:,}", metric.samples),
        Entry(_STOPS[metric.stop], tone="" if metric.stop == "precision" else "warn"),
        numbers,
    ]


def energy_text(energy: DeviceEnergy) -> str:
    """``1.2 J ± 0.1 J (power, integrated)``."""
    how = "their counters" if energy.source == "counter" else "power, integrated"
    value, error = (format_quantity(each, "J") for each in (energy.value, energy.error))
    return f"{value} ± {error} ({how})"


def _energy(energy: DeviceEnergy | None) -> Entry:
    return NOTHING if energy is None else Entry(energy_text(energy), energy.value)


def _note(sentence: str, notes: dict[str, int]) -> int:
    return notes.setdefault(sentence, len(notes) + 1)

"""Measured machines as the nodes of a catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from assay.design.parts.measured_devices import accelerator_lines
from assay.design.parts.written import NO_INTERVAL, figure_text, plain
from assay.errors import AssayError
from assay.kernels.outside import APP
from assay.records.model import RunData
from assay.stats.core.model import CellSummary, MetricSummary

_LAUNCHERS = {
    "mpirun",
    "mpiexec",
    "srun",
    "env",
    "time",
    "numactl",
    "taskset",
    "exec",
    "sh",
    "bash",
}


@dataclass(frozen=True)
class MeasuredRun:
    """A stored run with its cells, and the ``day`` on which it was measured."""

    run: RunData
    cells: Sequence[CellSummary]
    day: str


def catalogue_of_runs(runs: Sequence[MeasuredRun]) -> str:
    """A catalogue (TOML) with the machine of each run as a node, and its device as an accelerator.

    A run that measured only devices has no node. The user fills in price, power and size. Raises
    AssayError if a run lacks DGEMM or STREAM on a whole node.
    """
    lines = [
        "# Measured machines as nodes. Fill in what a run can't say: price, power, rack units, and",
        "# the networks that are on board.",
        'currency = "USD"',
        'kind = "measured"',
    ]
    taken: set[str] = set()
    for one in runs:
        devices = list(accelerator_lines(one.run, one.cells, one.day))
        if devices and not _has_node(one.cells):
            lines += ["", *devices]
            continue
        name = f"{_machine(one.run)}, measured"
        if name in taken:
            name = f"{name} in {one.run.manifest.run}"
        taken.add(name)
        lines += ["", *_node(one, name)]
        lines += ["", *devices] if devices else []
    return "\n".join(lines) + "\n"


def _has_node(cells: Sequence[CellSummary]) -> bool:
    """Whether a run measured a node's own rates."""
    return any(cell.kernel in ("compute.dgemm", "memory.stream") for cell in cells)


def _machine(run: RunData) -> str:
    processor = _facts(run.manifest.system, "processor")
    return plain(str(processor.get("name") or processor.get("vendor") or "node"))


def _node(measured: MeasuredRun, name: str) -> Iterator[str]:
    run, cells = measured.run, measured.cells
    system = run.manifest.system
    processor, memory = _facts(system, "processor"), _facts(system, "memory")
    total = memory.get("total")
    dgemm = _best(cells, "compute.dgemm", "rate")
    triad = _best(cells, "memory.stream", "bandwidth", op="triad")
    peak = _best(cells, "compute.peak", "rate")
    missing = [
        text
        for text, found in (("compute.dgemm", dgemm), ("memory.stream", triad))
        if found is None
    ]
    if dgemm is None or triad is None:
        raise AssayError(
            f"The run has no {' and no '.join(missing)} on one node.",
            where=str(run.path),
            fix="Measure it: assay run quick.",
        )
    yield "[[node]]"
    yield f'name = "{name}"'
    yield f'source = "assay run {run.manifest.run}"'
    yield f'date = "{measured.day}"'
    yield f"sockets = {processor.get('sockets') or 1}"
    yield f"cores = {processor.get('cores') or 1}"
    yield f"peak = {figure_text(peak if peak is not None else dgemm)}"
    yield f"dgemm = {figure_text(dgemm)}"
    yield f"bandwidth = {figure_text(triad)}"
    yield f'memory = "{total} B"' if total else '# memory = "64 GiB"'
    yield '# price = { value = 5000, kind = "quoted", source = "offer of …" }'
    yield '# power = { value = "400 W", kind = "assumed" }'
    yield "# units = 1"
    rates = [*_npb(cells), *_applications(cells)]
    if rates:
        yield "[node.rates]"
        yield from (f'"{label}" = {figure}' for label, figure in rates)


def _facts(system: Mapping[str, object], part: str) -> Mapping[str, object]:
    facts = system.get(part)
    return facts if isinstance(facts, dict) else {}


def _best(
    cells: Sequence[CellSummary], kernel: str, metric: str, **parameters: str
) -> MetricSummary | None:
    """The metric of the cell with the most cores of one node; the largest of several."""
    found = [
        (cell.cell.placement.ppn * cell.cell.placement.threads, cell.metrics[metric])
        for cell in cells
        if cell.kernel == kernel
        and cell.status == "ok"
        and metric in cell.metrics
        and cell.cell.placement.nodes == 1
        and all(cell.cell.parameters.get(key) == value for key, value in parameters.items())
    ]
    return max(found, key=lambda pair: (pair[0], pair[1].median))[1] if found else None


def _npb(cells: Sequence[CellSummary]) -> Iterator[tuple[str, str]]:
    """The whole node's rate of each kernel and class, under the name of the workload."""
    names = sorted(
        {
            (cell.kernel, str(cell.cell.parameters["class"]))
            for cell in cells
            if cell.kernel.startswith("npb.") and "class" in cell.cell.parameters
        }
    )
    for kernel, problem in names:
        metric = _best(cells, kernel, "rate", **{"class": problem})
        if metric is not None:
            yield f"{kernel}.{problem}", figure_text(metric)


def _applications(cells: Sequence[CellSummary]) -> Iterator[tuple[str, str]]:
    """Runs per second of each application on the whole node, as ``app.PROGRAM``."""
    commands = sorted(
        {str(cell.cell.parameters["command"]) for cell in cells if cell.kernel == APP}
    )
    taken: set[str] = set()
    for command in commands:
        metric = _fastest(cells, command)
        if metric is None:
            continue
        program = _program(command)
        label = next(
            name
            for number in range(1, len(commands) + 1)
            if (name := f"app.{program}{'' if number == 1 else f'-{number}'}") not in taken
        )
        taken.add(label)
        yield label, _per_second(metric)


def _fastest(cells: Sequence[CellSummary], command: str) -> MetricSummary | None:
    """The time of a command on one node where it is shortest."""
    found = [
        cell.metrics["time"]
        for cell in cells
        if cell.kernel == APP
        and cell.status == "ok"
        and "time" in cell.metrics
        and cell.cell.placement.nodes == 1
        and cell.cell.parameters["command"] == command
    ]
    return min(found, key=lambda metric: metric.median, default=None)


def _program(command: str) -> str:
    """The name of the program in a command, without a launcher before it."""
    words = [PurePath(word).name for word in command.split()]
    named = [
        word
        for word in words
        if re.fullmatch(r"[A-Za-z_][\w.+-]*", word) and word not in _LAUNCHERS
    ]
    return named[0] if named else "program"


def _per_second(metric: MetricSummary) -> str:
    """The reciprocal of a time as a figure."""
    value = f'value = "{1.0 / metric.median:.6g} op/s"'
    if metric.ci95 is None or metric.ci95[0] <= 0.0:
        return f"{{ {value}, uncertainty = {NO_INTERVAL} }}"
    low, high = (f'"{1.0 / end:.6g} op/s"' for end in reversed(metric.ci95))
    return f"{{ {value}, interval = [{low}, {high}] }}"

"""A measured machine as the node of a catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.errors import AssayError
from assay.records.model import RunData
from assay.stats.core.model import CellSummary, MetricSummary

_NO_INTERVAL = 0.05  # uncertainty of a number with an unknown interval


def node_of_run(run: RunData, cells: Sequence[CellSummary], day: str) -> str:
    """A catalogue (TOML) with the run's machine as its node.

    The user fills in price, power and size.

    ``day``: the date of the run. Raises AssayError if the run lacks DGEMM or STREAM on a whole
    node.
    """
    system = run.manifest.system
    processor, memory = _facts(system, "processor"), _facts(system, "memory")
    name = str(processor.get("name") or processor.get("vendor") or "node")
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
    rates = [f'  "{label}" = {_figure(metric)},' for label, metric in _npb(cells)]
    lines = [
        "# The machine of a run as a node. Fill in what a run can't say: price, power, rack units;",
        "# and the networks that are on board.",
        'currency = "USD"',
        'kind = "measured"',
        f'source = "assay run {run.manifest.run}"',
        f'date = "{day}"',
        "",
        "[[node]]",
        f'name = "{_plain(name)}, measured"',
        f"sockets = {processor.get('sockets') or 1}",
        f"cores = {processor.get('cores') or 1}",
        f"peak = {_figure(peak if peak is not None else dgemm)}",
        f"dgemm = {_figure(dgemm)}",
        f"bandwidth = {_figure(triad)}",
        f'memory = "{total} B"' if total else '# memory = "64 GiB"',
        '# price = { value = 5000, kind = "quoted", source = "offer of …" }',
        '# power = { value = "400 W", kind = "assumed" }',
        "# units = 1",
    ]
    if rates:
        lines += ["[node.rates]", *(line.strip().rstrip(",") for line in rates)]
    return "\n".join(lines) + "\n"


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


def _npb(cells: Sequence[CellSummary]) -> Iterator[tuple[str, MetricSummary]]:
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
            yield f"{kernel}.{problem}", metric


def _figure(metric: MetricSummary) -> str:
    value = f'value = "{metric.median:.6g} {metric.unit}"'
    if metric.ci95 is None:
        return f"{{ {value}, uncertainty = {_NO_INTERVAL} }}"
    low, high = (f'"{end:.6g} {metric.unit}"' for end in metric.ci95)
    return f"{{ {value}, interval = [{low}, {high}] }}"


def _plain(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable() and letter not in '"\\')

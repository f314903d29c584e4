"""The output of ``assay measure``: every metric of each cell, its uncertainty, and confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.kernels.naming import cell_name, metric_name, placement_text
from assay.kernels.npb.own_code import code_note
from assay.questions.common.confidence import is_broken, judge
from assay.questions.common.selection import headline_point
from assay.report.cell_table import energy_text
from assay.stats.core.model import CellSummary, MetricSummary, SampledPairs
from assay.units import counted, format_quantity

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_cells(cells: Sequence[CellSummary], console: Console) -> None:
    """Print for each cell a heading, one line per metric, and the caveats.

    The confidence in the headline metrics of all cells follows, with its reason.
    """
    from rich.text import Text

    for index, cell in enumerate(cells):
        if index:
            console.print()
        _print_cell(cell, console)
    points = [point for cell in cells if (point := headline_point(cell)) is not None]
    if points:
        confidence, why = judge(points, list(filter(is_broken, cells)), complete=True)
        console.print(Text(f"{confidence} confidence: {why}", style="dim"))


def _print_cell(cell: CellSummary, console: Console) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    heading = Text(cell_name(cell.cell), style="bold")
    heading.append(f"  {placement_text(cell.cell.placement)}, {cell.cell.toolchain}", style="dim")
    console.print(heading)
    if cell.metrics:
        grid = Table.grid(padding=(0, 2))
        for name, metric in cell.metrics.items():
            grid.add_row(*_line(name, metric))
        console.print(Padding(grid, (0, 0, 0, 2)))
    if cell.device_energy is not None:
        text = f"energy of devices per operation: {energy_text(cell.device_energy)}"
        console.print(Padding(Text(text), (0, 0, 0, 2)))
    if cell.error:
        console.print(Padding(Text(cell.error, style="red"), (0, 0, 0, 2)))
    elif cell.verified:
        console.print(Padding(Text("result verified", style="green"), (0, 0, 0, 2)))
    if cell.sampled is not None and cell.sampled.pairs < cell.sampled.in_all:
        console.print(Padding(Text(_sampled_text(cell.sampled)), (0, 0, 0, 2)))
    about = code_note([cell.cell.kernel]) if cell.metrics else ""
    if about:
        console.print(Padding(Text(about, style="dim"), (0, 0, 0, 2)))
    for caveat in cell.caveats:
        console.print(Padding(Text(f"! {caveat}", style="yellow"), (0, 0, 0, 2)))


def _sampled_text(sampled: SampledPairs) -> str:
    """How many pairs were measured, and why not all."""
    why = (
        f"`most` permits {sampled.most:,} pairs per launch"
        if sampled.most is not None
        else "a pass over all pairs would take too long"
    )
    return (
        f"{sampled.pairs:,} of {sampled.in_all:,} pairs measured, at random, "
        f"{sampled.per_launch:,} per launch: {why}"
    )


def _line(name: str, metric: MetricSummary) -> list[RenderableType]:
    from rich.text import Text

    low, high = (format_quantity(value, metric.unit) for value in (metric.min, metric.max))
    spread = "" if metric.cov is None else f", CoV {metric.cov:.2%}"
    launches = counted(metric.n, "launch")
    return [
        Text(metric_name(name)),
        Text(format_quantity(metric.median, metric.unit, metric.ci95), style="bold cyan"),
        Text(f"{low} … {high}"),
        Text(f"{launches}, {metric.samples:,} samples{spread}, stop: {metric.stop}", style="dim"),
    ]

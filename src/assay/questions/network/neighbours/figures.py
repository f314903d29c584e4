"""The figure of exchanges between neighbours: methods against the neighbourhood collective."""

from __future__ import annotations

from assay.charts.figure import Figure
from assay.questions.network.against import ratios_figure
from assay.questions.network.neighbours.findings import NeighbourFindings, method, operation


def figures(found: NeighbourFindings) -> list[Figure]:
    """The ratios of the methods against size, if there are at least two."""
    figure = ratios_figure(
        found.methods,
        lambda times: f"{operation(times.above)}, {method(times.above)}".replace("_", " "),
        id="neighbours-methods",
        title="Exchange between neighbours against the neighbourhood collective",
        axis="time / time of the collective",
        series="operation and method",
        equal="On the dashed line a method takes as long as the collective.",
    )
    return [] if figure is None else [figure]

"""The figures, as Vega-Lite specifications over plain rows: a module a kind.

Specifications are plain dictionaries: altair would build the same ones, but costs a second to
import and brings a validator that nobody needs for figures that are fixed. Data stay in SI base
units, so that what is downloaded is what was measured; a specification scales them for the eye.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.answers.steadiness import Steadiness
from assay.records.model import RunData
from assay.report.figures.benchmarks import benchmark_figures
from assay.report.figures.causes import causes_figures
from assay.report.figures.collectives import collective_figures
from assay.report.figures.concurrency import concurrency_figures
from assay.report.figures.dgemm import dgemm_figure
from assay.report.figures.fabric import fabric_figures
from assay.report.figures.linpack import linpack_figures
from assay.report.figures.memory_access import (
    hierarchy_figure,
    saturation_figure,
    strided_figure,
    strided_ratio_figure,
)
from assay.report.figures.messages import bandwidth_figure, latency_figure
from assay.report.figures.noise import noise_figures
from assay.report.figures.peak import peak_figure
from assay.report.figures.placement import placement_figures
from assay.report.figures.placement_why import why_figures
from assay.report.figures.storage import metadata_figure, parallel_figure, record_figures
from assay.report.figures.stream import stream_figure
from assay.report.figures.variation import variation_figures
from assay.report.model import Figure
from assay.stats.model import CellSummary

Figures = list[Figure | None]


def figures_of(
    question: str,
    cells: Sequence[CellSummary],
    run: RunData,
    steadiness: Steadiness | None = None,
    history: Sequence[RunData] = (),
) -> list[Figure]:
    """Every figure that belongs to a question and for which this run holds data."""
    made = _FIGURES[question](cells, run) if question in _FIGURES else []
    if question == "steadiness" and steadiness is not None:
        made = [*variation_figures(steadiness), *causes_figures(steadiness.causes), *made]
    if question == "placement":
        made = [*made, *why_figures(cells, run, history)]
    return [figure for figure in made if figure is not None]


def _speed(cells: Sequence[CellSummary], run: RunData) -> Figures:
    return [
        stream_figure(cells),
        saturation_figure(cells),
        strided_figure(cells),
        strided_ratio_figure(cells),
        hierarchy_figure(cells, run),
        dgemm_figure(cells, run),
        peak_figure(cells),
        *linpack_figures(cells, run),
        *benchmark_figures(cells),
        *record_figures(cells),
        parallel_figure(cells),
        metadata_figure(cells),
    ]


def _network(cells: Sequence[CellSummary], run: RunData) -> Figures:
    return [
        latency_figure(cells, run),
        bandwidth_figure(cells, run),
        *concurrency_figures(cells),
        *collective_figures(cells, run),
        *fabric_figures(cells, run),
    ]


_FIGURES: dict[str, Callable[[Sequence[CellSummary], RunData], Figures]] = {
    "speed": _speed,
    "network": _network,
    "steadiness": noise_figures,
    "placement": placement_figures,
}

"""The figures, as Vega-Lite specifications over plain rows: a module a kind.

Specifications are plain dictionaries: altair would build the same ones, but costs a second to
import and brings a validator that nobody needs for figures that are fixed. Data stay in SI base
units, so that what is downloaded is what was measured; a specification scales them for the eye.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.answers.benchmarks import TITLES
from assay.records.model import RunData
from assay.report.figures.benchmarks import benchmark_figure
from assay.report.figures.dgemm import dgemm_figure
from assay.report.figures.messages import bandwidth_figure, latency_figure
from assay.report.figures.stream import stream_figure
from assay.report.model import Figure
from assay.stats.model import CellSummary

Figures = list[Figure | None]


def figures_of(question: str, cells: Sequence[CellSummary], run: RunData) -> list[Figure]:
    """Every figure that belongs to a question and for which this run holds data."""
    made = _FIGURES[question](cells, run) if question in _FIGURES else []
    return [figure for figure in made if figure is not None]


def _speed(cells: Sequence[CellSummary], run: RunData) -> Figures:
    return [
        stream_figure(cells),
        dgemm_figure(cells, run),
        *(benchmark_figure(cells, kernel) for kernel in TITLES),
    ]


def _network(cells: Sequence[CellSummary], run: RunData) -> Figures:
    return [latency_figure(cells, run), bandwidth_figure(cells, run)]


_FIGURES: dict[str, Callable[[Sequence[CellSummary], RunData], Figures]] = {
    "speed": _speed,
    "network": _network,
}

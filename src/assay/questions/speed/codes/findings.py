"""Findings on codes: code factors, and published results with and without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.kernels.naming import kernel_name
from assay.questions.common.code_factors import CellFactor, factor_of, factors_of
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point, chosen_best, points
from assay.reference.papers.loading import clusters_by_id, figures
from assay.reference.papers.model import PublishedFigure
from assay.stats.compare.code_factor import without_code
from assay.stats.core.intervals import Estimate
from assay.units import Interval

LINPACK = "linpack"
_NPB = "npb."
# Names of published times that represent the benchmark; other names are extremes and spread.
_TYPICAL = ("mean run time", "run time", "mean time")


@dataclass(frozen=True)
class PublishedComparison:
    """A published result of the NPB or of Linpack, compared with the best result measured here."""

    #: Id of the published result (``assay references ID``).
    figure: str
    #: Name of the published cluster.
    system: str
    #: Benchmark and class, or Linpack.
    what: str
    #: Name of assay's kernel.
    kernel: str
    #: ``code``, ``processes``: code and number of processes of the published result; ``processes``
    #: is None if the paper doesn't state it.
    code: str
    processes: int | None
    #: Id of the measured cell.
    here: str
    #: Number of cores that the measured cell used.
    cores: int
    #: Rate of assay's code here over the published rate of the other code.
    ratio: float
    #: 95% interval of the ratio; the published number counts as exact.
    ratio_ci95: Interval | None
    #: Factor of assay's code over the other code, from the site's executable measured here.
    factor: CellFactor | None
    #: Ratio of the machines: ``ratio`` divided by the factor. ``factor``, ``machine`` and
    #: ``machine_ci95`` are None without a code factor; then ``ratio`` doesn't compare machines.
    machine: float | None
    #: 95% interval of the ratio of machines.
    machine_ci95: Interval | None


@dataclass(frozen=True)
class CodesFindings:
    """Findings on codes: code factors and published results."""

    #: Code factors by cell, in the plan's order.
    factors: tuple[CellFactor, ...]
    #: Published results for the benchmarks and classes that were measured.
    published: tuple[PublishedComparison, ...]


def find(measured: Measured) -> CodesFindings | None:
    """Code factors and published results; None if there are neither."""
    judged = measured.without_candidates()
    usable = {cell.id for cell in measured.cells}
    planned = {cell.id for cell in measured.run.manifest.plan.cells}
    factors = factors_of(measured.run, without=planned - usable)
    published = [
        compared
        for figure in figures()
        if (point := _point_for(figure, judged)) is not None
        and (compared := _compared(figure, point, factors)) is not None
    ]
    return CodesFindings(tuple(factors), tuple(published)) if factors or published else None


def _point_for(figure: PublishedFigure, measured: Measured) -> Point | None:
    """The best measured point of the benchmark that a figure publishes.

    None if the benchmark was not measured, or if the paper doesn't name the code.
    """
    if figure.per or figure.upper or not figure.code:  # no factor is known for an unknown code
        return None
    if figure.kernel == LINPACK:
        fits = figure.metric == "rate" and figure.si_unit == "flop/s"
        found = points(measured.cells, LINPACK, "rate") if fits else []
    elif figure.kernel.startswith(_NPB) and figure.size.startswith("class "):
        fits = figure.metric == "time" and figure.si_unit == "s" and figure.quantity in _TYPICAL
        size = figure.size.removeprefix("class ")
        of_kernel = points(measured.cells, figure.kernel, "time") if fits else []
        found = [point for point in of_kernel if point.parameter("class") == size]
    else:
        return None
    return chosen_best(found) if found else None


def _compared(
    figure: PublishedFigure, point: Point, factors: Sequence[CellFactor]
) -> PublishedComparison | None:
    metric, value = point.metric, figure.si
    if value <= 0.0 or metric.median <= 0.0:
        return None
    times = metric.unit == "s"
    ratio = value / metric.median if times else metric.median / value
    interval = metric.ci95
    if interval is not None and interval[0] > 0:
        low, high = interval
        interval = (value / high, value / low) if times else (low / value, high / value)
    else:
        interval = None
    factor = factor_of(factors, point.summary.cell, figure.code)
    machine = None
    if factor is not None:
        machine = without_code(Estimate(ratio, interval), factor.factor.estimate)
    cluster = clusters_by_id().get(figure.cluster)
    name = cluster.name if cluster else figure.cluster
    return PublishedComparison(
        figure=figure.id,
        system=name,
        what=" ".join(
            filter(
                None,
                (
                    kernel_name(figure.kernel).capitalize()
                    if figure.kernel == LINPACK
                    else kernel_name(figure.kernel),
                    figure.size,
                ),
            )
        ),
        kernel=figure.kernel,
        code=figure.code,
        processes=figure.processes,
        here=point.summary.id,
        cores=point.cores,
        ratio=ratio,
        ratio_ci95=interval,
        factor=factor,
        machine=machine.value if machine else None,
        machine_ci95=machine.interval if machine and interval else None,
    )

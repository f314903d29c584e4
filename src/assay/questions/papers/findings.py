"""Findings of a run that repeats a paper, exhibit by exhibit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.kernels.npb.own_code import OWN_CODE
from assay.questions.common.answer import Bound
from assay.questions.common.code_factors import CellFactor, factor_of, factors_of
from assay.questions.common.findings import INTERNAL
from assay.questions.common.gate import MOST
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point, headline_point
from assay.questions.papers.curves import PaperCurve, curve_of, up_to
from assay.questions.papers.loading import chosen_figures, exhibits_of
from assay.questions.papers.model import Apart, Exhibit, PaperSuite, Quantity
from assay.questions.papers.points import RunCells, run_cells
from assay.questions.papers.quantities import PaperValue, unit_of, value_of
from assay.questions.papers.statements import StatementFound, judged, states_direction
from assay.reference.papers.loading import clusters_by_id, figures_of, paper
from assay.reference.papers.model import PublishedFigure
from assay.stats.compare.code_factor import without_code
from assay.stats.core.intervals import Estimate
from assay.units import Interval

Kind = Literal["hardware", "definition", "conditions", "code", "projection", "missing"]


@dataclass(frozen=True)
class Beside:
    """A published number beside a measured one."""

    #: Id of the published number.
    figure: str
    #: Name of the machine; empty if the paper gives none.
    cluster: str
    #: Published number, in the unit of the measured one.
    value: float
    #: Upper end of a published range, in the unit of the measured number; None for a single number.
    upper: float | None
    #: How the paper qualifies the number.
    bound: str
    #: Problem size, as printed.
    size: str
    #: Conditions of the measurement, as printed.
    conditions: str
    #: Program that the authors measured, as far as it is printed.
    code: str
    #: Measured over published number, for times and latencies, too. A number within a published
    #: range has the ratio 1; else the nearest end counts. None if the ratio would be meaningless
    #: (``Quantity.comparable``), or if the number may be negative.
    ratio: float | None
    #: 95% interval of ``ratio``.
    ratio_ci95: Interval | None
    #: Ratio of both numbers divided by cores (processes). None if these are unknown, or if the
    #: number doesn't grow with the machine.
    per_core: float | None
    #: Ratio of both numbers divided by nodes. None if these are unknown, or if the number doesn't
    #: grow with the machine.
    per_node: float | None
    #: Ratio without the code factor, if the run measured it. Only this ratio compares machines.
    machines: float | None
    #: 95% interval of ``machines``.
    machines_ci95: Interval | None


@dataclass(frozen=True)
class QuantityFound:
    """A number of an exhibit: measured here and published."""

    #: Name of the quantity.
    name: str
    #: Title of the quantity.
    title: str
    #: Number on this machine; None if not measured.
    here: PaperValue | None
    #: Program that measured the number here.
    code: str
    #: Published numbers.
    published: tuple[Beside, ...]
    #: Name of the quantity in the summary of changes since the paper.
    since: str
    #: Reservation about the number; empty without one.
    note: str
    #: What limits the numerator of a share.
    bound: Bound = ""
    #: Limit of a share's numerator, in the unit of the numerator.
    limit: float | None = None
    #: Numerator of a share.
    whole: PaperValue | None = None
    #: Unit of a count or of a number that is derived from others; "" if the parts or the published
    #: number have units.
    unit: str = ""


@dataclass(frozen=True)
class ExhibitFound:
    """A figure, table or section of the paper."""

    #: Number of the exhibit, as in the paper.
    number: str
    #: Title of the exhibit.
    title: str
    #: Reason why none of its numbers was measured; empty if some were, or if the exhibit has no
    #: numbers.
    missing: str
    #: Other commands or questions of assay that answer the exhibit.
    also: str
    #: Numbers of the exhibit.
    quantities: tuple[QuantityFound, ...]
    #: Charts of the exhibit.
    curves: tuple[PaperCurve, ...]
    #: Conclusions of the exhibit.
    statements: tuple[StatementFound, ...]


@dataclass(frozen=True)
class NotCompared:
    """Published numbers without a measured counterpart."""

    #: Kind of the reason: hardware, definition, conditions, code, projection or missing.
    kind: Kind
    #: Reason in words.
    reason: str
    #: Ids of the published numbers.
    figures: tuple[str, ...]


@dataclass(frozen=True)
class PaperFindings:
    """Findings of a run that repeats a paper."""

    #: Name of the suite.
    suite: str
    #: Paper, as it is cited.
    paper: str
    #: Title of the paper.
    title: str
    #: Year of publication.
    year: int
    #: Question that the paper asks.
    asks: str
    #: How the experiments are scaled to this machine.
    scaled: str
    #: Exhibits in the paper's order.
    exhibits: tuple[ExhibitFound, ...]
    #: Published numbers without a measured counterpart.
    apart: tuple[NotCompared, ...]
    #: Headline points of the cells that decide conclusions.
    deciding: tuple[Point, ...] = field(default=(), metadata=INTERNAL)


def find(measured: Measured) -> PaperFindings | None:
    """The findings of a run of a suite that repeats a paper; None for another run."""
    plan = measured.run.manifest.plan
    suite = exhibits_of(plan.name)
    if suite is None or not plan.cells:
        return None
    run = run_cells(measured)
    factors = factors_of(measured.run)
    values: dict[str, PaperValue | None] = {}
    curves: dict[str, PaperCurve | None] = {}
    exhibits = []
    for exhibit in suite.exhibit:
        curves |= {curve.name: curve_of(curve, run) for curve in exhibit.curve}
        for quantity in exhibit.quantity:
            known = {name: value for name, value in values.items() if value is not None}
            values[quantity.name] = (
                up_to(curves[quantity.up_to]) if quantity.up_to else value_of(quantity, run, known)
            )
        exhibits.append(
            _exhibit(
                suite=suite, exhibit=exhibit, run=run, values=values, curves=curves, factors=factors
            )
        )
    source = paper(suite.paper)
    return PaperFindings(
        suite=plan.name,
        paper=source.short,
        title=source.title,
        year=source.year,
        asks=suite.asks,
        scaled=suite.scaled,
        exhibits=tuple(exhibits),
        apart=tuple(_apart(suite, each) for each in suite.apart),
        deciding=_deciding(measured, exhibits),
    )


def _deciding(measured: Measured, exhibits: Sequence[ExhibitFound]) -> tuple[Point, ...]:
    """The headline points of the cells with launches, of exhibits with tested conclusions."""
    wanted = {
        cell
        for exhibit in exhibits
        if any(each.outcome != "not measured" for each in exhibit.statements)
        for quantity in exhibit.quantities
        if quantity.here is not None and quantity.here.ci95 is not None
        for cell in quantity.here.cells
    }
    points = (headline_point(cell) for cell in measured.cells if cell.id in wanted)
    return tuple(point for point in points if point is not None and point.metric.ci95 is not None)


def _apart(suite: PaperSuite, apart: Apart) -> NotCompared:
    ids = tuple(figure.id for figure in chosen_figures(suite.paper, apart.figures))
    return NotCompared(apart.kind, apart.reason, ids)


def _exhibit(
    suite: PaperSuite,
    exhibit: Exhibit,
    run: RunCells,
    values: dict[str, PaperValue | None],
    curves: dict[str, PaperCurve | None],
    factors: Sequence[CellFactor],
) -> ExhibitFound:
    limits = {each.name: _limit(each, values) for each in exhibit.quantity}
    quantities = tuple(
        QuantityFound(
            name=quantity.name,
            title=quantity.title,
            here=values[quantity.name],
            code=code_of(values[quantity.name]),
            published=tuple(
                _beside(figure, quantity, values[quantity.name], run, factors)
                for figure in chosen_figures(suite.paper, quantity.published)
            ),
            since=quantity.since,
            note=quantity.note,
            bound=quantity.bound,
            limit=limits[quantity.name][0],
            whole=limits[quantity.name][1],
            unit=unit_of(quantity),
        )
        for quantity in exhibit.quantity
        if not quantity.figure
    )
    # No conclusion is based on an impossible share (``questions.common.gate``).
    comparisons = sum(states_direction(each) for one in suite.exhibit for each in one.statement)
    bounds = {each.name: each.bound for one in suite.exhibit for each in one.quantity if each.bound}
    possible = {
        name: None
        if value is not None and name in bounds and value.value > MOST[bounds[name]]
        else value
        for name, value in values.items()
    }
    drawn = tuple(found for curve in exhibit.curve if (found := curves[curve.name]) is not None)
    measured = drawn or any(each.here is not None for each in quantities)
    parts = exhibit.quantity or exhibit.curve
    return ExhibitFound(
        number=exhibit.number,
        title=exhibit.title,
        missing=""
        if measured or not parts
        else exhibit.needs or "this run measured none of its numbers",
        also=exhibit.also,
        quantities=quantities,
        curves=drawn,
        statements=tuple(judged(each, possible, curves, comparisons) for each in exhibit.statement),
    )


def _limit(
    quantity: Quantity, values: Mapping[str, PaperValue | None]
) -> tuple[float | None, PaperValue | None]:
    """The limit of a share's numerator, and the numerator; None if unknown."""
    share = values[quantity.name]
    whole = values.get(quantity.of)
    if not quantity.bound or share is None or whole is None or share.value == 0.0:
        return None, None
    return whole.value / share.value, whole


def code_of(value: PaperValue | None) -> str:
    """The program that measured a number here."""
    if value is None or not value.kernels:
        return ""
    if any(name.startswith("npb.") for name in value.kernels):
        return OWN_CODE
    return "assay's " + " and ".join(value.kernels)


def _beside(
    figure: PublishedFigure,
    quantity: Quantity,
    here: PaperValue | None,
    run: RunCells,
    factors: Sequence[CellFactor],
) -> Beside:
    cluster = clusters_by_id().get(figure.cluster)
    by = figures_of(figure.paper)[quantity.published_over].si if quantity.published_over else 1.0
    low, high = figure.si / by, None if figure.si_upper is None else figure.si_upper / by
    ratio, interval = _ratio(here, low, high) if quantity.comparable else (None, None)
    per_core = per_node = None
    if quantity.extensive and here is not None and ratio is not None:
        processes, nodes = figure.processes, figure.nodes
        if here.cores and processes:
            per_core = ratio * processes / here.cores
        if here.nodes and nodes:
            per_node = ratio * nodes / here.nodes
    machines, machines_ci95 = _machines(
        figure=figure, here=here, ratio=ratio, interval=interval, run=run, factors=factors
    )
    return Beside(
        figure=figure.id,
        cluster=cluster.name if cluster else "",
        value=low,
        upper=high,
        bound=figure.bound,
        size=figure.size,
        conditions=figure.conditions,
        code=figure.code,
        ratio=ratio,
        ratio_ci95=interval,
        per_core=per_core,
        per_node=per_node,
        machines=machines,
        machines_ci95=machines_ci95,
    )


def _ratio(
    here: PaperValue | None, low: float, high: float | None
) -> tuple[float | None, Interval | None]:
    """Measured over published number; for a range, over its nearest end (1 within the range).

    None if a number is not clearly positive, such as a gain that may be a loss.
    """
    if here is None or min((here.value, *(here.ci95 or ()))) < 0.0:
        return None, None
    if high is not None and low <= here.value <= high:
        return 1.0, None
    end = high if high is not None and here.value > high else low
    if end == 0.0:
        return None, None
    interval = here.ci95 and (here.ci95[0] / end, here.ci95[1] / end)
    return here.value / end, interval


def _machines(
    figure: PublishedFigure,
    here: PaperValue | None,
    ratio: float | None,
    interval: Interval | None,
    run: RunCells,
    factors: Sequence[CellFactor],
) -> tuple[float | None, Interval | None]:
    """The ratio of the machines: the ratio of the numbers without the code factor, if it is
    known.
    """
    if here is None or ratio is None or len(here.cells) != 1 or not figure.code or not factors:
        return None, None
    if not here.better:
        return None, None
    cell = next(each.cell for each in run.measured.cells if each.id == here.cells[0])
    factor = factor_of(factors, cell, figure.code)
    if factor is None:
        return None, None
    speed = Estimate(ratio, interval)
    if here.better == "less":
        speed = Estimate(1 / ratio, interval and (1 / interval[1], 1 / interval[0]))
    found = without_code(speed, factor.factor.estimate)
    return found.value, found.interval

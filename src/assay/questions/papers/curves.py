"""The charts of an exhibit: a metric, or a ratio of it, over a parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.hostnames import natural
from assay.model.placement import Value
from assay.questions.common.findings import INTERNAL
from assay.questions.common.selection import Point, ratio
from assay.questions.papers.model import ExhibitCurve
from assay.questions.papers.points import RunCells, named_value
from assay.questions.papers.quantities import (
    PaperValue,
    cpu_times_of,
    launches_of,
    per_value,
)
from assay.questions.papers.trials import SHOWN, trials_of
from assay.units import Interval

if TYPE_CHECKING:
    from assay.arrays import Floats


@dataclass(frozen=True)
class CurvePoint:
    """A point of a chart."""

    #: Line to which the point belongs.
    line: str
    #: Position along the horizontal axis.
    x: Value
    #: Value at ``x``.
    value: float
    #: 95% interval of ``value``; None if unknown.
    ci95: Interval | None
    #: Number of launches.
    launches: int
    #: Ids of the cells from which the value was computed.
    cells: tuple[str, ...]


@dataclass(frozen=True)
class PaperCurve:
    """A chart of an exhibit on this machine.

    Internal: ``written``, the chart as the exhibits define it.
    """

    #: Name of the chart.
    name: str
    #: Title of the chart.
    title: str
    #: Parameter or property along the horizontal axis.
    x: str
    #: Unit of the values.
    unit: str
    #: Points in the order of lines and x.
    points: tuple[CurvePoint, ...]
    #: Chart as the exhibits define it.
    written: ExhibitCurve = field(metadata=INTERNAL)


def curve_of(curve: ExhibitCurve, run: RunCells) -> PaperCurve | None:
    """The chart's points; None if none was measured."""
    found = [point for kernel in curve.kernel for point in run.points(kernel, curve.metric)]
    drawn = [point for point in found if run.meets(point, curve.where)]
    rows: list[CurvePoint] = []
    unit = drawn[0].metric.unit if drawn else ""
    if curve.over:
        rows = [
            _ratio_row(curve, run, point, below)
            for point in drawn
            if not run.meets(point, curve.over)
            and (below := _denominator(curve, run, point, found)) is not None
        ]
        unit = ""
    elif curve.form in _ROWS:
        rows = [row for point in drawn for row in _ROWS[curve.form](curve, run, point)]
    else:
        rows = [_row(curve, run, point) for point in drawn]
    if not rows:
        return None
    # The order doesn't depend on which points were measured, so a line has the same colour in every
    # chart.
    lines = sorted({row.line for row in rows}, key=natural)
    numeric = all(isinstance(row.x, int | float) for row in rows)
    rows.sort(key=lambda row: (lines.index(row.line), row.x if numeric else 0))
    return PaperCurve(
        name=curve.name, title=curve.title, x=curve.x, unit=unit, points=tuple(rows), written=curve
    )


def up_to(curve: PaperCurve | None) -> PaperValue | None:
    """The largest x up to which all points of the chart are above 1; None without a chart.

    It is 0 if the points at the first x are not.
    """
    if curve is None:
        return None
    xs = sorted({float(p.x) for p in curve.points if isinstance(p.x, int | float)})
    reached = 0.0
    for x in xs:
        if any(point.value <= 1.0 for point in curve.points if point.x == x):
            break
        reached = x
    cells = tuple(dict.fromkeys(cell for point in curve.points for cell in point.cells))
    launches = min(point.launches for point in curve.points)
    return PaperValue(
        value=reached,
        ci95=None,
        unit="count",
        better="",
        cells=cells,
        kernels=curve.written.kernel,
        launches=launches,
        where=curve.name,
    )


def _denominator(
    curve: ExhibitCurve, run: RunCells, point: Point, among: Sequence[Point]
) -> Point | None:
    wanted = _same(curve, run, point)
    return next(
        (
            other
            for other in among
            if run.meets(other, curve.over) and _same(curve, run, other) == wanted
        ),
        None,
    )


def _same(curve: ExhibitCurve, run: RunCells, point: Point) -> tuple[object, ...]:
    names = run.names(point)
    return tuple(names.get(name) for name in ("kernel", *curve.same))


def _line(curve: ExhibitCurve, run: RunCells, point: Point) -> str:
    names = run.names(point)
    kernel = point.summary.kernel
    words = [
        named_value(name, names[name], kernel)
        for name in curve.lines
        if name in names and names[name] != ""
    ]
    return ", ".join(words)


def _x(curve: ExhibitCurve, run: RunCells, point: Point) -> Value:
    value = run.names(point).get(curve.x, "")
    if isinstance(value, str) or curve.x == "kernel":
        return named_value(curve.x, value, point.summary.kernel)
    return value


def _row(curve: ExhibitCurve, run: RunCells, point: Point) -> CurvePoint:
    by, metric = per_value(curve.per, point), point.metric
    interval = metric.ci95 and (metric.ci95[0] / by, metric.ci95[1] / by)
    return CurvePoint(
        line=_line(curve, run, point),
        x=_x(curve, run, point),
        value=metric.median / by,
        ci95=interval,
        launches=metric.n,
        cells=(point.summary.id,),
    )


def _ratio_row(curve: ExhibitCurve, run: RunCells, point: Point, below: Point) -> CurvePoint:
    """The point over its denominator; with ``inverse`` the reverse, for ratios of times."""
    pair = (below.metric, point.metric) if curve.inverse else (point.metric, below.metric)
    value, interval = ratio(*pair)
    return CurvePoint(
        line=_line(curve, run, point),
        x=_x(curve, run, point),
        value=value,
        ci95=interval,
        launches=min(point.metric.n, below.metric.n),
        cells=(point.summary.id, below.summary.id),
    )


def _launch_rows(curve: ExhibitCurve, run: RunCells, point: Point) -> list[CurvePoint]:
    return _numbered(curve, run, point, _values(curve, run, point))


def _trial_rows(curve: ExhibitCurve, run: RunCells, point: Point) -> list[CurvePoint]:
    trials = trials_of(run, point, curve.metric)
    return _numbered(curve, run, point, trials[0][:SHOWN]) if trials else []


def _histogram_rows(curve: ExhibitCurve, run: RunCells, point: Point) -> list[CurvePoint]:
    """A point per bin: its centre, and the number of launches in it."""
    from assay.stats.core.histogram import histogram

    values = _values(curve, run, point)
    bins = histogram(values) if values.size > 1 else None
    if bins is None:
        return []
    line = _line(curve, run, point)
    centres = (bins.edges[:-1] + bins.edges[1:]) / 2.0
    return [
        CurvePoint(
            line=line,
            x=float(centre),
            value=float(count),
            ci95=None,
            launches=int(count),
            cells=(point.summary.id,),
        )
        for centre, count in zip(centres, bins.counts, strict=True)
    ]


_ROWS: Mapping[str, Callable[[ExhibitCurve, RunCells, Point], list[CurvePoint]]] = {
    "launches": _launch_rows,
    "trials": _trial_rows,
    "histogram": _histogram_rows,
}


def _values(curve: ExhibitCurve, run: RunCells, point: Point) -> Floats:
    """The metric or the CPU time of each launch."""
    if curve.statistic == "cpu":
        return cpu_times_of(run, point)
    return launches_of(run, point, curve.metric)


def _numbered(curve: ExhibitCurve, run: RunCells, point: Point, values: Floats) -> list[CurvePoint]:
    line = _line(curve, run, point)
    return [
        CurvePoint(
            line=line,
            x=number,
            value=float(value),
            ci95=None,
            launches=1,
            cells=(point.summary.id,),
        )
        for number, value in enumerate(values, 1)
    ]

"""The figures of a paper, numbered as there, with this machine's values."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from assay.charts.axes import count_axis, count_span, order_axis, size_axis
from assay.charts.builder import Chart, named, numbers
from assay.charts.columns import DataColumn
from assay.charts.figure import Field, Figure
from assay.charts.levels import named_level
from assay.charts.marks import Row, Spec, ratio_fields, scale_of
from assay.charts.plot import Plot, at
from assay.kernels.naming import metric_name
from assay.questions.common.figure_rows import intervals_text
from assay.questions.papers.curves import CurvePoint, PaperCurve
from assay.questions.papers.findings import ExhibitFound, PaperFindings
from assay.reference.papers.loading import figures as published_figures
from assay.units import counted

_SIZES = ("bytes", "record", "file_size")
_COUNTS = ("nodes", "ppn", "ranks", "threads", "cores")
_WORDS = {"ppn": "ranks per node", "n": "order N", "bytes": "message size", "record": "record"}
# What a point of a chart without intervals is.
_POINTS = {"launches": "launch", "trials": "trial"}
# Maximum number of characters of an axis title.
_SHORT = 20
# "BT, rate per process", "CG: performance for a fixed number of nodes", "FT in a smaller class".
_OF_BENCHMARK = re.compile(r"([A-Z]{2})[:,]? (.+)")


def figures(found: PaperFindings | None) -> list[Figure]:
    """Every chart of the exhibits that was measured, in the paper's order.

    Charts of one subject for several benchmarks become small multiples at the position of the
    first.
    """
    if found is None:
        return []
    drawn = [
        _figure(exhibit, curve)
        for exhibit in found.exhibits
        for curve in exhibit.curves
        if _compares(curve)
    ]
    together = Counter(figure.group for figure in drawn if figure.group)
    captions: dict[str, list[str]] = {}
    for figure in drawn:
        captions.setdefault(figure.group, []).append(figure.caption)
    places = {group: number for number, group in reversed([*enumerate(f.group for f in drawn)])}
    shown = [
        msgspec.structs.replace(figure, caption=" ".join(dict.fromkeys(captions[figure.group])))
        if together[figure.group] > 1
        else msgspec.structs.replace(figure, group="", panel="")
        for figure in drawn
    ]
    order = {
        figure.id: places[figure.group] if figure.group else number
        for number, figure in enumerate(shown)
    }
    return sorted(shown, key=lambda figure: order[figure.id])


def _compares(curve: PaperCurve) -> bool:
    """Whether the chart has several positions along x; tables show single numbers."""
    return len({point.x for point in curve.points}) > 1


def _figure(exhibit: ExhibitFound, curve: PaperCurve) -> Figure:
    written = curve.written
    rows = [_row(point) for point in curve.points]
    ratio = bool(written.over)
    if written.form == "histogram":
        return _histogram(exhibit, curve)
    launches = written.form in ("launches", "trials")
    named_ratio = written.what if len(written.what) <= _SHORT else "ratio"
    what = named_ratio if ratio else written.what or metric_name(written.metric)
    if written.per:
        what += f" per {written.per}"
    bars = written.form == "bars" or isinstance(curve.points[0].x, str)
    lines = Counter(point.line for point in curve.points)
    # A band needs two points of a line.
    dots = not bars and not launches and max(lines.values()) == 1
    chart = Chart(
        rows,
        _axis(curve, bars),
        what,
        curve.unit,
        hue="line",
        names=[("line", ""), ("x", _WORDS.get(written.x, written.x))],
        scale=(1.0, "") if ratio else None,
        logarithmic=written.logarithmic and all(float(row["median"] or 0) > 0 for row in rows),
        zero=not launches,
        height=230,
    )
    if launches:
        chart.points(40)
    elif bars and written.logarithmic:
        chart.points(70, beside="line").whiskers()
    elif bars:
        chart.bars(beside="line").whiskers()
    elif dots:
        chart.points(60).whiskers(coloured=True)
    else:
        chart.curves()
    if ratio:
        chart.level(1.0)
    drawn = {each.id: each for each in published_figures()}
    for name in written.levels:
        figure = drawn[name]
        chart.add(*named_level(figure.si / chart.factor, f"published: {figure.value}"))
    subject = written.title or exhibit.title
    title = f"{exhibit.number}: {subject}"
    of_benchmark = _OF_BENCHMARK.fullmatch(subject)
    values = [point.value for point in curve.points]
    intervals = (
        f"Each point is a {_POINTS[written.form]}."
        if launches
        else intervals_text(rows, "whiskers" if bars or dots else "band")
    )
    compared = "" if what == written.what else f"Ratio: {written.what}. "
    compared += "The dashed line is 1."
    caption = f"{compared} {intervals}" if ratio else intervals
    only = next(iter(lines))
    if len(lines) == 1 and only and of_benchmark is None:  # a single line has no legend
        caption = f"Here: {only}. {caption}"
    drawn_as = chart.figure(
        f"papers-{curve.name.replace(' ', '-')}",
        title,
        caption=caption,
        alt=f"{title}: {what} over {_WORDS.get(written.x, written.x)}, from {min(values):.3g} to "
        f"{max(values):.3g} {curve.unit}.".replace(" .", "."),
        fields=[
            Field("line", "", ", ".join(written.lines) or "one line"),
            Field("x", "", _WORDS.get(written.x, written.x)),
        ],
        statistics=ratio_fields(f"ratio: {what}") if ratio else None,
        width="full",
    )
    if of_benchmark is None:
        return drawn_as
    benchmark, rest = of_benchmark.groups()
    number = f"{exhibit.number[0].lower()}{exhibit.number[1:]}"
    return msgspec.structs.replace(
        drawn_as, group=f"{rest[0].upper()}{rest[1:]}", panel=f"{benchmark}, {number}"
    )


def _histogram(exhibit: ExhibitFound, curve: PaperCurve) -> Figure:
    """Numbers of launches by value; the bins of a chart have equal widths."""
    points = curve.points
    half = (float(points[1].x) - float(points[0].x)) / 2.0
    factor, prefix = scale_of([float(points[-1].x)])
    unit = f"{prefix}{curve.unit}"
    columns = [
        DataColumn("low", "least value of the bin", curve.unit, f"from ({unit})", ".4~g",
                   factor=factor, of=lambda each: float(each.x) - half),
        DataColumn("high", "greatest value of the bin", curve.unit, f"to ({unit})", ".4~g",
                   factor=factor, of=lambda each: float(each.x) + half),
        DataColumn("launches", "number of launches in the bin", title="launches",
                   of=lambda each: each.launches),
    ]  # fmt: skip
    what = curve.written.what or metric_name(curve.written.metric)
    plot = Plot.of(points, columns, height=230)
    plot.bars(
        x=plot.axis("low", f"{what} ({unit})", zero=False),
        x2="high",
        y=plot.axis("launches", "launches"),
        y2=at(0),
        tips=("low", "high", "launches"),
    )
    subject = curve.written.title or exhibit.title
    return plot.figure(
        f"papers-{curve.name.replace(' ', '-')}",
        f"{exhibit.number}: {subject}",
        caption=f"{counted(sum(each.launches for each in points), 'launch')}.",
        alt=f"{exhibit.number}: histogram of {what} in {counted(len(points), 'bin')}.",
        width="half",
    )


def _row(point: CurvePoint) -> Row:
    low, high = point.ci95 or (None, None)
    return {
        "line": point.line or "this machine",
        "x": point.x,
        "median": point.value,
        "low": low,
        "high": high,
        "launches": point.launches,
    }


def _axis(curve: PaperCurve, bars: bool) -> Spec:
    written = curve.written
    title = _WORDS.get(written.x, written.x)
    if written.form in _POINTS:
        axis = {"format": "d", "tickMinStep": 1}
        scale = {"zero": False, "nice": False, "padding": 12}
        return numbers("x", _POINTS[written.form], scale=scale, axis=axis)
    if bars:
        return named("x", title=None if isinstance(curve.points[0].x, str) else title)
    xs = sorted({int(point.x) for point in curve.points if not isinstance(point.x, str)})
    if written.x in _SIZES:
        return size_axis("x", title, xs)
    if written.x in _COUNTS:
        span = count_span(xs) if len(xs) > 1 else {}
        return count_axis("x", title, xs, **span)
    return numbers("x", title, **order_axis(xs))

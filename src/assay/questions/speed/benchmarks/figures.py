"""Figures of rates and speedups of the NPB, as figures 4 to 6 of Edmundsson et al. (2004)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from assay.charts.axes import count_axis, count_span
from assay.charts.builder import STATISTICS, Chart, marked, named
from assay.charts.figure import Datum, Field, Figure
from assay.charts.levels import ideal_line
from assay.charts.marks import Row, Spec, scale_of
from assay.kernels.naming import placement_text
from assay.kernels.npb import CLASS_ORDER
from assay.kernels.npb.own_code import OWN_CODE
from assay.questions.common.figure_rows import by_size, intervals_text, statistics
from assay.questions.common.selection import MOST_MEGA, Point, scaled
from assay.questions.speed.benchmarks.findings import (
    BenchmarkFindings,
    BenchmarksFindings,
    ClassScaling,
)
from assay.questions.speed.benchmarks.phase_figures import phase_figure
from assay.units import counted, listed

_MEGA = (1e6, "M")


def _scale(rows: Sequence[Row]) -> tuple[float, str]:
    """The factor and prefix of an axis of rates (op/s)."""
    most = max(float(row["median"] or 0.0) for row in rows)
    return _MEGA if most < MOST_MEGA else scale_of([most])


# Least number of core counts for which rates are drawn as lines instead of bars.
_MIN_COUNTS_OF_LINES = 3
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4]]
# Largest number of core counts that fit a figure of half width.
_FEW_COUNTS = 4
_SHAPES = [
    *("circle", "square", "diamond", "triangle-up"),
    *("triangle-down", "cross", "triangle-right", "triangle-left"),
]


def figures(found: BenchmarksFindings) -> list[Figure]:
    """The rate of each benchmark, the speedup of all benchmarks, and the phases of each one."""
    drawn = [
        *(rate_figure(benchmark) for benchmark in found.benchmarks),
        speedup_figure(found),
        *(phase_figure(benchmark) for benchmark in found.benchmarks),
    ]
    return [figure for figure in drawn if figure is not None]


def rate_figure(found: BenchmarkFindings) -> Figure:
    """Mop/s per core of one benchmark: lines over core counts, or bars for few counts."""
    counts = {point.cores for point in found.measured}
    drawn = _bars(found) if len(counts) < _MIN_COUNTS_OF_LINES else _lines(found)
    group = drawn.title.replace(f"NPB {found.title}", "NPB")
    return msgspec.structs.replace(drawn, group=group, panel=found.title)


def _bars(found: BenchmarkFindings) -> Figure:
    measured = found.measured
    several = len({point.summary.cell.toolchain for point in measured}) > 1
    rows: list[Row] = [
        {
            "placement": placement_text(point.summary.cell.placement),
            "cores": point.cores,
            "class": str(point.parameter("class"))
            + (f" · {point.summary.cell.toolchain}" if several else ""),
            **statistics(point, per=point.cores),
        }
        for point in sorted(measured, key=by_size)
    ]
    chart = Chart(
        rows,
        named("placement"),
        "rate",
        "op/s per core",
        hue="class",
        hue_title="class",
        names=[("placement", "placement"), ("class", "class")],
        scale=_scale(rows),
        height=240,
    )
    counts = [counted(count, "core") for count in sorted({p.cores for p in measured})]
    return (
        chart.bars(beside="class")
        .whiskers()
        .figure(
            found.kernel.replace(".", "-"),
            f"NPB {found.title}: rate per core",
            caption="Bars of equal height would be perfect scaling. "
            f"{intervals_text(chart.rows, 'whiskers')} NPB: {OWN_CODE}.",
            alt=f"Bar chart of NPB {found.title} Mop/s per core for class "
            f"{listed(_classes(measured))} on {listed(counts)}.",
            fields=[
                Field("placement", "", "ranks and threads"),
                Field("cores", "", "cores in use"),
                Field("class", "", "problem class"),
            ],
        )
    )


def _lines(found: BenchmarkFindings) -> Figure:
    """A line per class, kind of placement and toolchain, through the best point per core count."""
    measured = found.measured
    noun, nouns = _counted_by(p.summary.cell.placement.threads == 1 for p in measured)
    several = len({line.toolchain for line in found.lines}) > 1
    rows: list[Row] = [
        {
            "cores": count,
            "class": line.size,
            "kind": line.kind + (f" · {line.toolchain}" if several else ""),
            "placement": placement_text(point.summary.cell.placement),
            **statistics(point, per=count),
        }
        for line in found.lines
        for count, point in line.points.items()
    ]
    best = len(_values("kind", rows)) > len(_DASHES)
    if best:
        rows = _best(rows)
    counts = sorted({point.cores for point in measured})
    chart = Chart(
        rows,
        count_axis("cores", nouns, counts, **count_span(counts)),
        "rate",
        f"op/s per {noun}",
        hue="class",
        hue_title="class",
        names=[("cores", "cores"), ("class", "class"), ("placement", "placement")],
        scale=_scale(rows),
    )
    kinds = len(_values("kind", rows)) > 1
    legend = {"title": "cores used by", "symbolSize": 60} if kinds else None
    return chart.curves(
        strokeDash=marked("kind", _values("kind", rows), _DASHES, legend),
        shape=marked("kind", _values("kind", rows), _SHAPES, legend),
    ).figure(
        found.kernel.replace(".", "-"),
        f"NPB {found.title}: rate per {noun}",
        caption="A level line would be perfect scaling; a rising one is superlinear. "
        + ("Each point is the best placement on its number of cores. " if best else "")
        + f"{intervals_text(chart.rows, 'band')} The axis of counts is logarithmic. "
        + f"NPB: {OWN_CODE}.",
        alt=f"Line chart of NPB {found.title} Mop/s per {noun} for class "
        f"{listed(_classes(measured))} on {counts[0]} to {counts[-1]} {nouns}.",
        fields=[
            Field("cores", "", "cores in use"),
            Field("class", "", "problem class"),
            Field("kind", "", "processes, threads or both"),
            Field("placement", "", "ranks and threads"),
        ],
    )


def _best(rows: Sequence[Row]) -> list[Row]:
    """The best row of each class, toolchain and number of cores.

    The number of dash patterns limits the kinds of placements that readers can distinguish.
    """
    kept: dict[tuple[Datum, ...], Row] = {}
    for row in rows:
        toolchain = str(row["kind"]).partition(" · ")[2] or "best"
        place = (row["class"], toolchain, row["cores"])
        if place not in kept or float(row["median"] or 0) > float(kept[place]["median"] or 0):
            kept[place] = {**row, "kind": toolchain}
    classes = _values("class", rows)
    return sorted(
        kept.values(),
        key=lambda row: (classes.index(row["class"]), str(row["kind"]), float(row["cores"] or 0)),
    )


def _counted_by(plain: Iterable[bool]) -> tuple[str, str]:
    return ("process", "processes") if all(plain) else ("core", "cores")


def _classes(found: Sequence[Point]) -> list[str]:
    return [name for name in CLASS_ORDER if any(p.parameter("class") == name for p in found)]


def _values(field: str, rows: Sequence[Row]) -> list[Datum]:
    return list(dict.fromkeys(row[field] for row in rows))


def speedup_figure(found: BenchmarksFindings) -> Figure | None:
    """Speedup over processes with the ideal line; a line per benchmark and class.

    None for two counts, since the evidence has their only speedup.

    The speedup on the fewest processes of a line is set to the number of processes. It has no
    interval, since its ratio is 1 by definition.
    """
    known: list[ClassScaling] = []
    rows: list[Row] = []
    for benchmark in found.benchmarks:
        drawn = [scaling for scaling in benchmark.drawn if scaling.speedups]
        known += drawn
        for number, scaling in enumerate(drawn):
            rows += _speedup_rows(benchmark.title, scaling, leads=number == 0)
    counts = sorted({count for scaling in known for count in scaling.curve.points})
    if len(counts) < _MIN_COUNTS_OF_LINES:
        return None
    _, nouns = _counted_by(scaling.curve.processes for scaling in known)
    wide = len(counts) > _FEW_COUNTS
    names = [("benchmark", "benchmark"), ("class", "class"), ("cores", "cores")]
    chart = Chart(
        rows,
        count_axis("cores", nouns, counts, **count_span(counts)),
        "speedup",
        "",
        hue="benchmark",
        names=names,
        scale=(1.0, ""),
        height=360 if wide else 260,
    )
    chart.y = count_axis("y", "speedup", counts, nice=False, padding=12)
    hue = {**(chart.hue or {}), "scale": {"domain": _values("benchmark", rows)}}
    chart.hue = hue
    dash: Spec = {"condition": {"test": "datum.leads", "value": [1, 0]}, "value": [5, 4]}
    chart.add(*ideal_line("cores", (counts[0], counts[0]), (counts[-1], counts[-1])))
    of_class: Spec = {"field": "class", "type": "nominal"}
    chart.lines(0, width=1.5, detail=of_class, strokeDash=dash).whiskers()
    shapes = marked("benchmark", _values("benchmark", rows), _SHAPES, hue["legend"])
    chart.points(shape=shapes, opaque=True)
    dashed = not all(row["leads"] for row in rows)
    return chart.figure(
        "npb-speedup",
        f"NPB: speedup over {nouns}",
        caption=f"Rate over the rate of the fewest {nouns} of each line, times their number. "
        "Points above the ideal line are superlinear. "
        + ("Solid: the largest class of each benchmark; dashed: other classes. " if dashed else "")
        + f"Both axes logarithmic. {intervals_text(chart.rows, 'whiskers')}",
        alt=f"Line chart of the speedup of {listed([scaling.title for scaling in known])} from "
        f"{counts[0]} to {counts[-1]}, with the ideal line.",
        fields=[
            Field("benchmark", "", "benchmark"),
            Field("class", "", "problem class"),
            Field("leads", "", "whether it is the largest class of its benchmark"),
            Field("cores", "", "cores in use"),
            Field("placement", "", "ranks and threads"),
            STATISTICS,
        ],
        width="full" if wide else "half",
    )


def _speedup_rows(title: str, scaling: ClassScaling, *, leads: bool) -> list[Row]:
    curve = scaling.curve
    by_count = {speedup.most.cores: speedup for speedup in scaling.speedups}
    rows: list[Row] = []
    for count, point in curve.points.items():
        speedup = by_count.get(count)
        interval = scaled(speedup.interval, curve.few) if speedup else None
        rows.append(
            {
                "benchmark": title,
                "class": curve.size,
                "leads": leads,
                "cores": count,
                "placement": placement_text(point.summary.cell.placement),
                "median": (speedup.value if speedup else 1.0) * curve.few,
                "low": interval[0] if interval else None,
                "high": interval[1] if interval else None,
                "launches": point.metric.n,
            }
        )
    return rows

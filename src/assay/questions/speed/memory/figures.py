"""Figures of memory: bandwidth against cores, strided access, latency of dependent loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.charts.axes import count_axis, size_axis
from assay.charts.builder import Chart, named, numbers
from assay.charts.figure import Field, Figure
from assay.charts.levels import level, vertical_rule
from assay.charts.marks import Row, Spec, ratio_fields
from assay.kernels.memory import STREAM_WORK
from assay.questions.common.figure_rows import by_size, intervals_text, statistics
from assay.questions.common.selection import Point, best, labeller
from assay.questions.speed.memory.access import StridedRatios
from assay.questions.speed.memory.bandwidth import SaturationCurves
from assay.questions.speed.memory.findings import MemoryFindings
from assay.questions.speed.memory.hierarchy import MemoryLevel, working_set
from assay.questions.speed.memory.load_figures import cores_figure, loaded_figure, numa_figures
from assay.units import counted, format_size, listed

_NANOSECONDS = (1e-9, "n")
_MIN_ON_A_CURVE = 3
_BARS_IN_HALF = 16  # at most this number of bars fits half of the text's width
_STRIDED_FIELDS = (
    Field("stride", "", "elements of 8 bytes from one access to the next"),
    Field("operation", "", "operation per element"),
)


def figures(found: MemoryFindings) -> list[Figure]:
    """STREAM, strided access, the memory hierarchy, NUMA nodes, load, transfers between CPUs."""
    curves = found.curves
    saturation = _saturation(curves.saturation)
    several = len({point.parameter("op") for point in curves.stream}) > 1
    drawn = (
        # For a single operation the curve over cores has all the values.
        None if saturation and not several else _stream(curves.stream),
        saturation,
        _strided(curves.strided),
        _strided_ratio(curves.strided),
        _hierarchy(curves.latencies, found.levels),
        *numa_figures(curves.numa),
        loaded_figure(found.loaded) if found.loaded else None,
        cores_figure(found.cores) if found.cores else None,
    )
    return [figure for figure in drawn if figure is not None]


def _stream(found: Sequence[Point]) -> Figure | None:
    """Bars of bandwidth, grouped by operation, with one bar per placement.

    If some placements have several operations, ``_saturation`` draws the placements with a single
    one.
    """
    if not found:
        return None
    label = labeller(found)
    operated = Counter(label(point) for point in found)
    if max(operated.values()) > 1:
        found = [point for point in found if operated[label(point)] > 1]
    rows = [
        {"operation": str(point.parameter("op")), "placement": label(point), **statistics(point)}
        for point in sorted(found, key=by_size)
    ]
    operations = [op for op in STREAM_WORK if any(row["operation"] == op for row in rows)]
    chart = Chart(
        rows,
        named("operation", sort=operations),
        "bandwidth",
        "B/s",
        hue="placement",
        names=[("operation", "operation"), ("placement", "placement")],
    )
    top = best(found)
    return (
        chart.bars(beside="placement")
        .whiskers()
        .figure(
            "stream",
            "STREAM: sustained memory bandwidth",
            caption=f"Median over launches. {intervals_text(rows, 'whiskers')}",
            alt=f"Bar chart of STREAM bandwidth for {listed(operations)}; the highest bar is "
            f"{top.parameter('op')} on {counted(top.cores, 'core')}.",
            fields=[
                Field("operation", "", "STREAM operation"),
                Field("placement", "", "ranks and threads"),
            ],
            width="half" if len(rows) <= _BARS_IN_HALF else "full",
        )
    )


def _saturation(found: SaturationCurves | None) -> Figure | None:
    """STREAM's bandwidth against cores, a line per binding; None for fewer than three counts."""
    counts = sorted({cores for line in found.lines.values() for cores in line}) if found else []
    if found is None or len(counts) < _MIN_ON_A_CURVE:
        return None
    rows: list[Row] = [
        {"cores": cores, "binding": binding, **statistics(point)}
        for binding, line in found.lines.items()
        for cores, point in line.items()
    ]
    x = numbers(
        "cores",
        "cores",
        scale={"domain": [0, counts[-1]], "nice": False},
        axis={"values": counts, "format": "d", "labelOverlap": "greedy"},
    )
    names = [("cores", "cores"), ("binding", "binding")]
    chart = Chart(rows, x, "bandwidth", "B/s", hue="binding", names=names).curves()
    saturates, at = "", ""
    if found.saturated is not None:
        saturates = " Saturated: the bandwidth certainly grows by less than 5% beyond these cores."
        at = f"; it saturates at {counted(found.saturated, 'core')}"
        chart.add(*vertical_rule("cores", found.saturated, f"saturates at {found.saturated}"))
    return chart.figure(
        "saturation",
        "STREAM triad: bandwidth against cores",
        caption=intervals_text(rows, "band") + saturates,
        alt=f"Line chart of STREAM triad's bandwidth on {counts[0]} to {counts[-1]} cores{at}.",
        fields=[
            Field("cores", "", "cores in use"),
            Field("binding", "", "how ranks are pinned"),
        ],
    )


def _strided(found: StridedRatios) -> Figure | None:
    """Time per access against stride, on one core and on all."""
    rows: list[Row] = [
        {"stride": stride, "operation": op, "cores": point.cores, **statistics(point)}
        for op, ratios in found.items()
        for stride, ratio in ratios.items()
        for point in (ratio.below, ratio.above)
    ]
    if not _several_strides(found):
        return None
    counts = sorted({int(row["cores"] or 0) for row in rows})
    chart = Chart(
        rows,
        _stride_axis(found),
        "time per access",
        "s",
        hue="operation",
        names=[("operation", "operation"), ("stride", "stride"), ("cores", "cores")],
        scale=_NANOSECONDS,
        logarithmic=True,
        height=300,
    ).curves(
        strokeDash={
            "field": "cores",
            "type": "nominal",
            "scale": {"domain": counts, "range": [[1, 0], *([[4, 2]] * (len(counts) - 1))]},
            "legend": None,
        }
    )
    return chart.figure(
        "strided",
        "Strided access: time per access, one core and all",
        caption="Solid: one core; dashed: all cores. Both axes logarithmic. Strides count "
        "elements of 8 bytes; the caches are flushed before each pass. "
        f"{intervals_text(rows, 'band')}",
        alt=f"Line chart of the time per access of {listed(list(found))} against stride, on 1 and "
        f"on {counts[-1]} cores.",
        fields=[*_STRIDED_FIELDS, Field("cores", "", "cores in use")],
        width="full",
    )


def _strided_ratio(found: StridedRatios) -> Figure | None:
    """Luecke, Li & Cuma's ratio: the time on all cores over the time on one, against stride."""
    if not _several_strides(found):
        return None
    rows: list[Row] = []
    for op, ratios in found.items():
        for stride, ratio in ratios.items():
            low, high = ratio.ci95 or (None, None)
            value = {"median": ratio.value, "low": low, "high": high, "launches": ratio.launches}
            rows.append({"stride": stride, "operation": op, **value})
    most = next(ratio.above.cores for ratios in found.values() for ratio in ratios.values())
    chart = Chart(
        rows,
        _stride_axis(found),
        f"time on {most} cores / time on 1",
        "",
        hue="operation",
        names=[("operation", "operation"), ("stride", "stride")],
        scale=(1.0, ""),
        zero=False,
    )
    return (
        chart.curves()
        .add(level(1))
        .figure(
            "strided-ratio",
            "Strided access: all cores against one",
            caption="At a ratio of 1 (dashed) memory serves all cores concurrently without loss. "
            f"{intervals_text(rows, 'band')}",
            alt=f"Line chart of the ratio of access times on {most} cores and on 1 against stride, "
            f"for {listed(list(found))}.",
            fields=_STRIDED_FIELDS,
            statistics=ratio_fields("time per access on all cores over the time on one"),
            width="full",
        )
    )


def _hierarchy(found: Sequence[Point], levels: Sequence[MemoryLevel]) -> Figure | None:
    """Latency against working set, with the sizes of the caches."""
    sizes = sorted({working_set(point) for point in found})
    if len(sizes) < _MIN_ON_A_CURVE:
        return None
    label = labeller(found)
    rows: list[Row] = [
        {
            "bytes": working_set(point),
            "pages": f"{label(point)}, {point.parameter('pages')} pages",
            **statistics(point),
        }
        for point in sorted(found, key=lambda p: (*by_size(p)[:2], str(p.parameter("pages"))))
    ]
    chart = Chart(
        rows,
        size_axis("bytes", "working set", sizes),
        "time of a load",
        "s",
        hue="pages",
        names=[("bytes", "bytes"), ("pages", "placement and pages")],
        scale=_NANOSECONDS,
        logarithmic=True,
        height=300,
    ).curves()
    caches = {c.name: c.size for c in levels if c.size and sizes[0] < c.size < sizes[-1]}
    for name, size in caches.items():
        chart.add(*vertical_rule("bytes", float(size), f"{name} {format_size(size)}"))
    return chart.figure(
        "hierarchy",
        "Latency of dependent loads against working set",
        caption="Both axes logarithmic. Dashed: sizes of the caches. "
        f"{intervals_text(rows, 'band')}",
        alt=f"Line chart of the time of a load for working sets of {format_size(sizes[0])} to "
        f"{format_size(sizes[-1])}, with rules at the sizes of {len(caches)} caches.",
        fields=[
            Field("bytes", "B", "working set of a rank"),
            Field("pages", "", "ranks, and whether pages may be huge"),
        ],
        width="full",
    )


def _several_strides(found: StridedRatios) -> bool:
    return len({stride for ratios in found.values() for stride in ratios}) > 1


def _stride_axis(found: StridedRatios) -> Spec:
    strides = sorted({stride for ratios in found.values() for stride in ratios})
    return count_axis("stride", "stride (elements)", strides, nice=False)

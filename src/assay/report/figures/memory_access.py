"""Memory as it is used: by more and more cores, at strides, and by loads that wait for loads."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.bandwidth import saturation
from assay.answers.hierarchy import latencies, levels, working_set
from assay.answers.memory_access import Pair, strided_pairs
from assay.answers.select import Point, best_by, labeller, on_any_memory, points, ratio
from assay.records.model import RunData
from assay.report.marks import (
    Row,
    Spec,
    by_size,
    colour,
    curve_layers,
    data_fields,
    listed,
    logarithmic_axis,
    scale_of,
    scaled_fields,
    size_axis,
    statistics,
    tooltip,
    vertical_rule,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted, format_size

_NS = 1e-9
_FEWEST_ON_A_CURVE = 3


def saturation_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """STREAM's bandwidth against cores, a line a binding; STREAM's bars show fewer than three."""
    found = [
        point
        for point in on_any_memory(points(cells, "memory.stream", "bandwidth"))
        if point.parameter("op") == "triad"
    ]
    if len({point.cores for point in found}) < _FEWEST_ON_A_CURVE:
        return None
    several = len({point.summary.cell.toolchain for point in found}) > 1

    def label(point: Point) -> str:
        binding = point.summary.cell.placement.binding
        return f"{binding} · {point.summary.cell.toolchain}" if several else binding

    lines = dict.fromkeys(label(point) for point in found)
    rows: list[Row] = [
        {"cores": cores, "binding": line, **statistics(point)}
        for line in lines
        for cores, point in best_by(
            (p for p in found if label(p) == line), lambda p: p.cores
        ).items()
    ]
    factor, prefix = scale_of(point.metric.median for point in found)
    counts = sorted({point.cores for point in found})
    arrived = saturation(best_by(found, lambda point: point.cores))
    spec: Spec = {
        "height": 260,
        "transform": scaled_fields(factor),
        "encoding": {
            "x": {
                "field": "cores",
                "type": "quantitative",
                "title": "cores",
                "scale": {"domain": [0, counts[-1]], "nice": False},
                "axis": {"values": counts, "format": "d", "labelOverlap": "greedy"},
            }
        },
        "layer": [
            *curve_layers(
                y_axis(f"bandwidth ({prefix}B/s)", zero=True),
                colour("binding", rows),
                tooltip([("cores", "cores"), ("binding", "binding")], f"{prefix}B/s"),
            ),
            *(
                vertical_rule("cores", arrived, f"saturates at {arrived}")
                if arrived < counts[-1]
                else []
            ),
        ],
    }
    return Figure(
        id="saturation",
        title="STREAM triad: bandwidth against cores",
        caption="The band is the 95% interval. Saturated: from where 95% of the best is reached.",
        alt=f"Line chart of STREAM triad's bandwidth on {counts[0]} to {counts[-1]} cores; "
        f"{counted(arrived, 'core')} reach 95% of the best.",
        fields=[
            Field("cores", "", "cores at work"),
            Field("binding", "", "how ranks are pinned"),
            *data_fields("B/s"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def strided_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Time per access against stride, on one core and on all."""
    rows: list[Row] = [
        {"stride": stride, "operation": op, "cores": point.cores, **statistics(point)}
        for op, pairs in strided_pairs(cells).items()
        for stride, pair in pairs.items()
        for point in pair
    ]
    if not _several_strides(rows):
        return None
    counts = sorted({int(row["cores"] or 0) for row in rows})
    most = counts[-1]
    spec: Spec = {
        "height": 300,
        "transform": scaled_fields(_NS),
        "encoding": {"x": _stride_axis(rows)},
        "layer": curve_layers(
            logarithmic_axis("time per access (ns)", rows, _NS),
            colour("operation", rows),
            tooltip([("operation", "operation"), ("stride", "stride"), ("cores", "cores")], "ns"),
            strokeDash={
                "field": "cores",
                "type": "nominal",
                "scale": {"domain": counts, "range": [[1, 0], *([[4, 2]] * (len(counts) - 1))]},
                "legend": None,
            },
        ),
    }
    return Figure(
        id="strided",
        title="Strided access: time per access, one core and all",
        caption="Solid: one core, dashed: all. Both axes logarithmic. Stride in elements of 8 "
        "bytes; the caches are flushed before each pass. The band is the 95% interval.",
        alt=f"Line chart of the time per access of {listed(_operations(rows))} against stride, on "
        f"1 and on {most} cores.",
        fields=[*_strided_fields(), Field("cores", "", "cores at work"), *data_fields("s")],
        rows=rows,
        spec=spec,
    )


def strided_ratio_figure(cells: Sequence[CellSummary]) -> Figure | None:
    """Luecke, Li & Cuma's ratio: the time on all cores over that on one, against stride."""
    pairs = strided_pairs(cells)
    rows: list[Row] = [
        {"stride": stride, "operation": op, **_ratio_statistics(pair)}
        for op, of_op in pairs.items()
        for stride, pair in of_op.items()
    ]
    if not _several_strides(rows):
        return None
    most = next(iter(next(iter(pairs.values())).values()))[1].cores
    spec: Spec = {
        "height": 260,
        "transform": scaled_fields(1.0),
        "encoding": {"x": _stride_axis(rows)},
        "layer": [
            *curve_layers(
                y_axis(f"time on {most} cores / time on 1", zero=False),
                colour("operation", rows),
                tooltip([("operation", "operation"), ("stride", "stride")], "ratio"),
            ),
            {
                "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5},
                "data": {"values": [{}]},
                "encoding": {
                    "x": {"value": 0},
                    "x2": {"value": "width"},
                    "y": {"datum": 1},
                },
            },
        ],
    }
    return Figure(
        id="strided-ratio",
        title="Strided access: all cores against one",
        caption="At 1, dashed, memory carries all cores at once. The band is the 95% interval.",
        alt=f"Line chart of the ratio of access times on {most} cores and on 1 against stride, for "
        f"{listed(_operations(rows))}.",
        fields=[*_strided_fields(), *data_fields("", " of the two times' quotient")],
        rows=rows,
        spec=spec,
    )


def hierarchy_figure(cells: Sequence[CellSummary], run: RunData) -> Figure | None:
    """Latency against working set, with the caches' sizes."""
    found = latencies(cells)
    sizes = sorted({working_set(point) for point in found})
    if len(sizes) < _FEWEST_ON_A_CURVE:
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
    caches = [level for level in levels(run) if level.size and sizes[0] < level.size < sizes[-1]]
    spec: Spec = {
        "height": 300,
        "transform": scaled_fields(_NS),
        "encoding": {"x": size_axis("bytes", "working set", sizes)},
        "layer": [
            *curve_layers(
                logarithmic_axis("time of a load (ns)", rows, _NS),
                colour("pages", rows),
                tooltip([("bytes", "bytes"), ("pages", "placement and pages")], "ns"),
            ),
            *(
                layer
                for level in caches
                for layer in vertical_rule(
                    "bytes", float(level.size or 0), f"{level.name} {format_size(level.size)}"
                )
            ),
        ],
    }
    return Figure(
        id="hierarchy",
        title="Latency of dependent loads against working set",
        caption="Both axes logarithmic; dashed, the sizes of the caches. The band is the 95% "
        "interval.",
        alt=f"Line chart of the time of a load for working sets of {format_size(sizes[0])} to "
        f"{format_size(sizes[-1])}, with rules at the sizes of {len(caches)} caches.",
        fields=[
            Field("bytes", "B", "working set of a rank"),
            Field("pages", "", "ranks, and whether pages may be huge"),
            *data_fields("s"),
        ],
        rows=rows,
        spec=spec,
    )


def _several_strides(rows: Sequence[Row]) -> bool:
    return len({row["stride"] for row in rows}) > 1


def _operations(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["operation"]) for row in rows))


def _stride_axis(rows: Sequence[Row]) -> Spec:
    strides = sorted({int(row["stride"] or 0) for row in rows})
    return {
        "field": "stride",
        "type": "quantitative",
        "title": "stride (elements)",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"values": strides, "format": "d", "labelOverlap": "greedy"},
    }


def _strided_fields() -> list[Field]:
    return [
        Field("stride", "", "elements of 8 bytes from one access to the next"),
        Field("operation", "", "what is done per element"),
    ]


def _ratio_statistics(pair: Pair) -> Row:
    value, interval = ratio(pair[1].metric, pair[0].metric)
    low, high = interval or (None, None)
    launches = min(pair[0].metric.n, pair[1].metric.n)
    return {"median": value, "low": low, "high": high, "launches": launches}

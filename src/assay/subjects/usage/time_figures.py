"""Figures of use over time: hour by hour, by node, and single jobs on nodes."""

from __future__ import annotations

import numpy as np

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec
from assay.subjects.usage.model import UsageFindings
from assay.units import counted, format_duration, format_share
from assay.usage.analysis.model import UsageByNode, UsageCourse

# Steps of the course, and rows and cells of the map, that are drawn; of more, several become one. A
# report draws 1,000 points of a figure.
_MOST_STEPS = _MOST_CELLS = 1000
_MOST_ROWS = 25
_HOUR = 3600.0
# Pixels of a row of nodes.
_ROW, _MOST_HEIGHT = 14, 420
_IN_USE, _UP, _DOWN = "in use", "available", "down"


def _axis(found: UsageFindings, name: str) -> Spec:
    """The axis of a time in s, as dates where the log has these."""
    if found.period.calendar:
        return {"field": name, "type": "temporal", "scale": {"type": "utc"}, "title": None,
                "axis": {"labelOverlap": "greedy", "tickCount": 8}}  # fmt: skip
    return {"field": name, "type": "quantitative", "title": "day of the log"}


def _drawn(found: UsageFindings, utc: str, name: str) -> Spec:
    """The transform from a time in s to the axis."""
    factor = "1000 *" if found.period.calendar else "1 / 86400 *"
    return {"calculate": f"{factor} datum.{utc}", "as": name}


def hourly(found: UsageFindings) -> Figure | None:
    """Processors in use, available and down over time."""
    course = found.course
    if course is None or len(course.utc) < 2:
        return None
    rows, several = _steps(course)
    step = several * course.step
    each = "hour" if step == _HOUR else format_duration(step)
    layers: list[Spec] = [
        _layer(found, "busy", _IN_USE, {"type": "rect"}),
        _layer(found, "available", _UP, {"type": "line", "interpolate": "step-after",
                                         "strokeWidth": 1}),
    ]  # fmt: skip
    if course.down is not None:
        layers.append(_layer(found, "down", _DOWN, {"type": "line", "interpolate": "step-after",
                                                    "strokeWidth": 1.5}))  # fmt: skip
    spec: Spec = {
        "height": 200,
        "transform": [_drawn(found, "utc", "from"), _drawn(found, "to", "until")],
        "layer": layers,
    }
    most = max(course.busy)
    return Figure(
        id="usage-hours",
        title="Use hour by hour",
        caption=f"Processors, mean of each {each} (UTC on the axis).",
        alt=f"Processors in use in {counted(len(rows), 'step')} of {each}; most {most:,.0f}.",
        fields=[
            Field("utc", "s", "Unix time of the begin"),
            Field("to", "s", "Unix time of the end"),
            Field("busy", "", "processors in use"),
            Field("available", "", "processors available"),
            *([] if course.down is None else [Field("down", "", "processors down")]),
        ],
        rows=rows,
        spec=spec,
    )


def _layer(found: UsageFindings, field: str, name: str, mark: Spec) -> Spec:
    encoding: Spec = {
        "x": _axis(found, "from"),
        "y": {"field": field, "type": "quantitative", "title": "processors",
              "axis": {"grid": True, "tickCount": 5}},
        "color": {"datum": name, "type": "nominal",
                  "scale": {"domain": [_IN_USE, _UP, _DOWN] if found.course and found.course.down
                            is not None else [_IN_USE, _UP]},
                  "legend": {"title": None}},
    }  # fmt: skip
    if mark["type"] == "rect":
        encoding["x2"] = {"field": "until"}
        encoding["y2"] = {"datum": 0}
        encoding["tooltip"] = [
            {"field": "from", "type": "temporal", "title": "from", "format": "%Y-%m-%d %H:%M"}
            if found.period.calendar
            else {"field": "from", "title": "day", "format": ".2f"},
            {"field": "busy", "title": "in use", "format": ".4~g"},
            {"field": "available", "title": "available", "format": ".4~g"},
        ]
    return {"mark": mark, "encoding": encoding}


def _steps(course: UsageCourse) -> tuple[list[Row], int]:
    """The rows that are drawn, and how many steps each is the mean of."""
    edges = np.append(course.utc, course.end)
    several = -(-len(course.utc) // _MOST_STEPS)
    first = np.arange(0, len(course.utc), several)
    width = np.diff(edges)
    ends = np.append(edges[first[1:]], edges[-1])
    columns = {"busy": course.busy, "available": course.available}
    if course.down is not None:
        columns["down"] = course.down
    means = {
        name: np.add.reduceat(np.array(values) * width, first) / (ends - edges[first])
        for name, values in columns.items()
    }
    rows: list[Row] = []
    for place, low in enumerate(first):
        row: Row = {"utc": float(edges[low]), "to": float(ends[place])}
        row.update({name: round(float(values[place]), 3) for name, values in means.items()})
        rows.append(row)
    return rows, several


def node_map(found: UsageFindings) -> Figure | None:
    """The share of each node's processors in use, over time."""
    use = found.by_node
    if use is None or use.nodes < 2:
        return None
    rows, together = _cells(use)
    x, x2 = _axis(found, "from"), {"field": "until"}
    y: Spec = {"field": "name", "type": "nominal", "sort": None, "title": None,
               "axis": {"labelOverlap": "greedy"}}  # fmt: skip
    tooltip: list[Spec] = [
        {"field": "name", "title": "node"},
        {"field": "percent", "title": "in use (%)", "format": ".3~g"},
        {"field": "off", "title": "down (%)", "format": ".3~g"},
    ]
    layers: list[Spec] = [
        {
            "mark": {"type": "rect"},
            "encoding": {
                "x": x,
                "x2": x2,
                "y": y,
                "color": {"field": "percent", "type": "quantitative", "title": "in use (%)",
                          "scale": {"scheme": "viridis", "domain": [0, 100]},
                          "legend": {"gradientLength": 140}},
                "tooltip": tooltip,
            },
        }
    ]  # fmt: skip
    down = any(any(row.down) for row in use.rows)
    if down:
        layers.append(
            {
                "transform": [{"filter": "datum.down > 0"}],
                "mark": {"type": "rect", "color": "#c4372f"},
                "encoding": {
                    "x": x,
                    "x2": x2,
                    "y": y,
                    "opacity": {"field": "down", "type": "quantitative", "legend": None,
                                "scale": {"domain": [0, 1], "range": [0, 1]}},
                    "tooltip": tooltip,
                },
            }
        )  # fmt: skip
    of = "node" if use.nodes == len(rows) // _intervals(use)[1] else f"{together} nodes"
    red = " Red: down by the log's node events." if down else ""
    length = format_duration((use.edges[1] - use.edges[0]) * _intervals(use)[0])
    idle = min(use.rows, key=lambda row: sum(row.busy))
    return Figure(
        id="usage-nodes",
        title="Use by node",
        caption=f"Share of the processors in use, in intervals of {length}, by {of}, in the "
        f"order of their names. A job's processors are spread evenly over its nodes.{red}",
        alt=f"Use of {counted(use.nodes, 'node')} over time; least used: {idle.name}, "
        f"{format_share(sum(idle.busy) / len(idle.busy))}.",
        fields=[
            Field("row", "", "place in the order of names"),
            Field("name", "", "node or nodes"),
            Field("utc", "s", "Unix time of the begin"),
            Field("to", "s", "Unix time of the end"),
            Field("busy", "1", "share of the processors in use"),
            Field("down", "1", "share of the time that they were down"),
        ],
        rows=rows,
        spec={
            "height": min(_ROW * min(len(use.rows), _MOST_ROWS), _MOST_HEIGHT),
            "transform": [
                _drawn(found, "utc", "from"),
                _drawn(found, "to", "until"),
                {"calculate": "100 * datum.busy", "as": "percent"},
                {"calculate": "100 * datum.down", "as": "off"},
            ],
            "layer": layers,
        },
    )


def _intervals(use: UsageByNode) -> tuple[int, int]:
    """How many intervals become one, and how many then there are."""
    number = len(use.edges) - 1
    several = -(-number // (_MOST_CELLS // min(len(use.rows), _MOST_ROWS)))
    return several, -(-number // several)


def _cells(use: UsageByNode) -> tuple[list[Row], int]:
    """A row per cell of the map, and the nodes of most rows of cells."""
    several, number = _intervals(use)
    joined = -(-len(use.rows) // _MOST_ROWS)
    edges = [use.edges[place] for place in range(0, len(use.edges) - 1, several)] + use.edges[-1:]
    rows: list[Row] = []
    for place, low in enumerate(range(0, len(use.rows), joined)):
        group = use.rows[low : low + joined]
        nodes = [row.nodes for row in group]
        name = group[0].name.partition(" to ")[0]
        if sum(nodes) > 1:
            name = f"{name} to {group[-1].name.rpartition(' to ')[2].removeprefix('node ')}"
        shares = {
            what: np.average([getattr(row, what) for row in group], axis=0, weights=nodes)
            for what in ("busy", "down")
        }
        for k in range(number):
            row: Row = {"row": place, "name": name, "utc": edges[k], "to": edges[k + 1]}
            for what, values in shares.items():
                row[what] = round(float(values[k * several : (k + 1) * several].mean()), 4)
            rows.append(row)
    return rows, sum(row.nodes for row in use.rows[:joined])


def gantt(found: UsageFindings) -> Figure | None:
    """Single jobs as bars on the nodes that they ran on."""
    use = found.by_node
    if use is None or not use.bars or use.bars_since is None:
        return None
    low, high = use.bars_since, use.edges[-1]
    rows: list[Row] = [
        {
            "job": bar.job,
            "first": bar.first,
            "beyond": bar.last + 1,
            "utc": max(bar.start, low),
            "to": min(bar.end, high),
            "processors": bar.processors,
            "state": bar.state,
        }
        for bar in use.bars
        if bar.end > low and bar.start < high
    ]
    names = _names(use)
    labels = f"{names}[floor(datum.value)]"
    spec: Spec = {
        "height": min(_ROW * use.nodes, _MOST_HEIGHT),
        "transform": [_drawn(found, "utc", "from"), _drawn(found, "to", "until")],
        "mark": {"type": "rect", "stroke": "white", "strokeWidth": 0.7, "fillOpacity": 0.75},
        "encoding": {
            "x": _axis(found, "from"),
            "x2": {"field": "until"},
            "y": {"field": "first", "type": "quantitative", "title": None,
                  "scale": {"domain": [0, use.nodes], "reverse": True, "nice": False},
                  "axis": {"values": [place + 0.5 for place in range(use.nodes)],
                           "labelExpr": labels, "grid": False, "ticks": False,
                           "labelOverlap": "greedy"}},
            "y2": {"field": "beyond"},
            "color": {"field": "state", "type": "nominal", "legend": {"title": "outcome"}},
            "tooltip": [
                {"field": "job", "title": "job"},
                {"field": "processors", "title": "processors"},
                {"field": "state", "title": "outcome"},
            ],
        },
    }  # fmt: skip
    part = "" if low <= use.edges[0] else f" The last {format_duration(high - low)} of the log."
    return Figure(
        id="usage-gantt",
        title="Jobs on nodes",
        caption=f"Each bar is a job on consecutive nodes, from its start to its end.{part}",
        alt=f"{counted(len(rows), 'bar')} of jobs on {counted(use.nodes, 'node')}.",
        fields=[
            Field("job", "", "job"),
            Field("first", "", "first node, from 0"),
            Field("beyond", "", "the node after the last one"),
            Field("utc", "s", "Unix time of its start, or of the begin of the figure"),
            Field("to", "s", "Unix time of its end"),
            Field("processors", "", "of the whole job"),
            Field("state", "", "how it ended"),
        ],
        rows=rows,
        spec=spec,
    )


def _names(use: UsageByNode) -> str:
    """The nodes' names as a list of a Vega expression."""
    import json

    return json.dumps([row.name for row in use.rows])

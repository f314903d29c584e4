"""Figures of use over time: hour by hour, by node, and single jobs on nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assay.charts.columns import DataColumn, in_percent, instant
from assay.charts.figure import Datum, Figure
from assay.charts.marks import Row, Spec
from assay.charts.plot import Plot, at
from assay.subjects.usage.model import UsageFindings
from assay.units import counted, format_duration, format_share
from assay.usage.analysis.model import UsageByNode, UsageCourse

# Maximum numbers of steps of the course, and of rows and cells of the map. If there are more,
# several are combined. A report draws 1,000 points of a figure.
_MOST_STEPS = _MOST_CELLS = 1000
_MOST_ROWS = 25
_HOUR, _DAY = 3600.0, 86400.0
# Height of a row of nodes, pixels.
_ROW, _MOST_HEIGHT = 14, 420
_IN_USE, _UP, _DOWN = "in use", "available", "down"


def time_column(
    name: str, meaning: str, calendar: bool, *, of: Callable[[Any], Datum] | None = None
) -> DataColumn:
    """A time in s, drawn as a date if the log has dates, otherwise as a day of the log."""
    if calendar:
        return instant(name, meaning, "from", of=of)
    return DataColumn(name, meaning, "s", "day", ".2f", factor=_DAY, of=of)


def time_axis(plot: Plot, calendar: bool) -> Spec:
    """The axis of the column ``utc``."""
    if calendar:
        return plot.axis("utc", "", label_overlap="greedy", tick_count=8)
    return plot.axis("utc", "day of the log")


def hourly(found: UsageFindings) -> Figure | None:
    """Processors in use, available and down over time."""
    course = found.course
    if course is None or len(course.utc) < 2:
        return None
    rows, several = _steps(course)
    step = several * course.step
    each = "hour" if step == _HOUR else format_duration(step)
    calendar, down = found.period.calendar, course.down is not None
    columns = [
        time_column("utc", "Unix time of the begin", calendar),
        time_column("to", "Unix time of the end", calendar),
        DataColumn("busy", "processors in use", title=_IN_USE, format=".4~g"),
        DataColumn("available", "processors available", title=_UP, format=".4~g"),
        *([DataColumn("down", "processors down", title=_DOWN)] if down else []),
    ]
    plot = Plot(columns, rows, height=200)
    names = [_IN_USE, _UP, _DOWN] if down else [_IN_USE, _UP]
    legend: Spec = {"scale": {"domain": names}, "legend": {"title": None}}
    plot.share(x=time_axis(plot, calendar))

    def course_of(name: str) -> dict[str, Spec]:
        y = plot.axis(name, "processors", grid=True, tick_count=5)
        return {"y": y, "colour": {**at(plot.columns[name].label), **legend}}

    plot.boxes(**course_of("busy"), x2="to", y2=at(0), tips=("utc", "busy", "available"))
    plot.line(**course_of("available"), interpolate="step-after", stroke_width=1)
    if down:
        plot.line(**course_of("down"), interpolate="step-after", stroke_width=1.5)
    most = max(course.busy)
    return plot.figure(
        "usage-hours",
        "Use hour by hour",
        caption=f"Processors: mean over each {each} (the axis is in UTC).",
        alt=f"Processors in use in {counted(len(rows), 'step')} of {each}; most {most:,.0f}.",
    )


def _steps(course: UsageCourse) -> tuple[list[Row], int]:
    """The rows that are drawn, and the number of steps that each row averages."""
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
    calendar = found.period.calendar
    columns = [
        DataColumn("row", "place in the order of names"),
        DataColumn("name", "node or nodes", title="node", kind="name"),
        time_column("utc", "Unix time of the begin", calendar),
        time_column("to", "Unix time of the end", calendar),
        in_percent("busy", "share of the processors in use", "in use (%)"),
        in_percent("down", "share of the time that they were down", "down (%)"),
    ]
    height = min(_ROW * min(len(use.rows), _MOST_ROWS), _MOST_HEIGHT)
    plot = Plot(columns, rows, height=height)
    place = {"x": time_axis(plot, calendar), "x2": "to",
             "y": plot.names("name", label_overlap="greedy"),
             "tips": ("name", "busy", "down")}  # fmt: skip
    legend = {"gradient_length": 140}
    shade = plot.shade("busy", None, legend, scheme="viridis", domain=[0, 100])
    plot.boxes(**place, colour=shade)
    down = any(any(row.down) for row in use.rows)
    if down:
        fade = plot.shade("down", domain=[0, 100], range=[0, 1])
        plot.boxes(**place, only="datum.down > 0", color="#c4372f", fade=fade)
    of = "node" if use.nodes == len(rows) // _intervals(use)[1] else f"{together} nodes"
    red = " Red: down according to the log's node events." if down else ""
    length = format_duration((use.edges[1] - use.edges[0]) * _intervals(use)[0])
    idle = min(use.rows, key=lambda row: sum(row.busy))
    return plot.figure(
        "usage-nodes",
        "Use by node",
        caption=f"Share of the processors in use, in intervals of {length}, by {of}, in the "
        f"order of their names. A job's processors are spread evenly over its nodes.{red}",
        alt=f"Use of {counted(use.nodes, 'node')} over time; least used: {idle.name}, "
        f"{format_share(sum(idle.busy) / len(idle.busy))}.",
    )


def _intervals(use: UsageByNode) -> tuple[int, int]:
    """The number of intervals that are combined into one, and the resulting number of intervals."""
    number = len(use.edges) - 1
    several = -(-number // (_MOST_CELLS // min(len(use.rows), _MOST_ROWS)))
    return several, -(-number // several)


def _cells(use: UsageByNode) -> tuple[list[Row], int]:
    """A row per cell of the map, and the number of nodes of most rows."""
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
    calendar = found.period.calendar
    columns = [
        DataColumn("job", "job", kind="name"),
        DataColumn("first", "first node, from 0"),
        DataColumn("beyond", "the node after the last one"),
        time_column("utc", "Unix time of the start, or of the begin of the figure", calendar),
        time_column("to", "Unix time of the end", calendar),
        DataColumn("processors", "of the whole job"),
        DataColumn("state", "how it ended", title="outcome", kind="name"),
    ]
    plot = Plot(columns, rows, height=min(_ROW * use.nodes, _MOST_HEIGHT))
    plot.boxes(
        stroke="white", stroke_width=0.7, fill_opacity=0.75,
        x=time_axis(plot, calendar), x2="to",
        y=plot.axis(
            "first", "", domain=[0, use.nodes], reverse=True, nice=False, grid=False, ticks=False,
            values=[place + 0.5 for place in range(use.nodes)], label_overlap="greedy",
            label_expr=f"{_names(use)}[floor(datum.value)]",
        ),
        y2="beyond", colour=plot.key("state", {"title": "outcome"}, sort="ascending"),
        tips=("job", "processors", "state"),
    )  # fmt: skip
    part = "" if low <= use.edges[0] else f" The last {format_duration(high - low)} of the log."
    return plot.figure(
        "usage-gantt",
        "Jobs on nodes",
        caption=f"Each bar is a job on consecutive nodes, from its start to its end.{part}",
        alt=f"{counted(len(rows), 'bar')} of jobs on {counted(use.nodes, 'node')}.",
    )


def _names(use: UsageByNode) -> str:
    """The names of the nodes as a list in a Vega expression."""
    import json

    return json.dumps([row.name for row in use.rows])

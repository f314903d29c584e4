"""The figure on the page of a promise: what was measured, beside what was promised."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.marks import Row, scale_of
from assay.charts.plot import Plot, at, where
from assay.subjects.acceptance.model import (
    JudgedAvailability,
    JudgedCommitment,
    JudgedVariation,
)
from assay.units import counted, format_limit, format_quantity, format_share

HEIGHT = 240
_DOT, _BAD, _LATER = "#0072b2", "#b3392f", "#b8bec6"
_PROMISED, _WORSE = "#57606a", "#57606a"
_DASHED, _DOTTED = (6, 4), (2, 3)


def commitment_figure(each: JudgedCommitment, number: int) -> Figure | None:
    """Launches or nodes beside the promise and the margin; None without a result."""
    if each.promised is None or not (each.series or each.node_medians):
        return None
    promised = [end for end in (each.low, each.high) if end is not None]
    worse = [] if each.low is None else [each.low * (1.0 - each.margin)]
    worse += [] if each.high is None else [each.high * (1.0 + each.margin)]
    return (
        _nodes(each, number, promised, worse)
        if each.node_medians
        else _launches(each, number, promised, worse)
    )


def _launches(
    each: JudgedCommitment, number: int, promised: Sequence[float], worse: Sequence[float]
) -> Figure:
    # Before the first look, no launch is too late.
    used = each.used or len(each.series)
    rows: list[Row] = [
        {"place": place, "value": value, "used": "used" if place <= used else "later"}
        for place, value in enumerate(each.series, start=1)
    ]
    columns = [
        DataColumn("place", "number of the launch in order of time", title="launch"),
        *_value_columns(each.series, [*promised, *worse], each.unit, each.metric),
        DataColumn("used", "whether the launch counts for the decision", kind="name"),
    ]
    plot, y = _drawn(columns, rows, promised, worse)
    plot.dots(
        size=45, opacity=1, x=_places(plot, rows), y=y,
        colour=where("datum.used === 'used'", _DOT, _LATER),
        tips=("place", "value", "used"),
    )  # fmt: skip
    later = len(each.series) - used
    return plot.figure(
        f"acceptance-promise-{number}",
        "Launches, the promise and the margin",
        caption=f"Dots: medians of the launches in order of time. {_lines(each.margin)}"
        + (" Pale dots: launches after the decision, which don't count." if later > 0 else ""),
        alt=f"{counted(len(rows), 'launch')} of {each.name}; {each.promise}.",
    )


def _nodes(
    each: JudgedCommitment, number: int, promised: Sequence[float], worse: Sequence[float]
) -> Figure:
    rows: list[Row] = [
        {
            "place": place,
            "value": node.value,
            "node": node.node,
            "state": "worse than promised" if node.slow else "not worse with certainty",
        }
        for place, node in enumerate(each.node_medians, start=1)
    ]
    values = [node.value for node in each.node_medians]
    columns = [
        DataColumn("place", "place of the node, from the lowest value to the highest",
                   title="nodes, from the lowest value to the highest"),
        *_value_columns(values, [*promised, *worse], each.unit, each.metric),
        DataColumn("node", "name of the node", kind="name"),
        DataColumn("state", "whether the node is worse than promised", kind="name"),
    ]  # fmt: skip
    plot, y = _drawn(columns, rows, promised, worse)
    plot.dots(
        size=30, opacity=1, x=_places(plot, rows), y=y,
        colour=where("datum.state === 'worse than promised'", _BAD, _DOT),
        tips=("node", "value", "state"),
    )  # fmt: skip
    slow = sum(node.slow for node in each.node_medians)
    return plot.figure(
        f"acceptance-promise-{number}",
        "Nodes, the promise and the margin",
        caption=f"Dots: medians of the nodes' launches. {_lines(each.margin)}"
        + (" Red: worse than promised." if slow else ""),
        alt=f"Medians of {counted(len(rows), 'node')} for {each.name}, {slow} of them worse than "
        f"promised; {each.promise}.",
    )


def _lines(margin: float) -> str:
    return f"Dashed line: promised. Dotted line: worse by the margin of {format_limit(margin)}."


def variation_figure(each: JudgedVariation, number: int) -> Figure | None:
    """Launches or days beside the promised variation; None without a result."""
    if each.value is None or not each.series:
        return None
    mean = sum(each.series) / len(each.series)
    ends = [mean * (1.0 - each.at_most), mean * (1.0 + each.at_most)]
    rows: list[Row] = [
        {"place": place, "value": value} for place, value in enumerate(each.series, start=1)
    ]
    noun = "day" if each.between == "days" else "launch"
    columns = [
        DataColumn("place", f"number of the {noun} in order of time", title=noun),
        *_value_columns(each.series, ends, each.unit, each.metric),
    ]
    plot, y = _drawn(columns, rows, [], ends)
    plot.dots(
        size=45, opacity=1, color=_DOT, y=y, tips=("place", "value"),
        x=_places(plot, rows),
    )  # fmt: skip
    return plot.figure(
        f"acceptance-promise-{number}",
        f"How much {'days' if noun == 'day' else 'launches'} vary",
        caption=f"Dots: medians of {'days' if noun == 'day' else 'launches'} in order of time. "
        f"Dotted lines: their mean, plus and minus the promised variation of "
        f"{format_limit(each.at_most)}. At this variation most dots are between the lines.",
        alt=f"{counted(len(rows), noun)} with a coefficient of variation of "
        f"{format_share(each.value)} around {format_quantity(mean, each.unit)}.",
    )


def availability_figure(each: JudgedAvailability, number: int) -> Figure | None:
    """The availability of each day; None without a log."""
    rows: list[Row] = [
        {"day": day.utc * 1e3, "value": day.available}
        for day in each.days
        if day.available is not None
    ]
    if not rows:
        return None
    columns = [
        DataColumn("day", "begin of the day, Unix time", "ms", title="day (UTC)", kind="time",
                   format="%d %b"),
        in_percent("value", "share of the day's node hours that were available",
                   "node hours available (%)"),
    ]  # fmt: skip
    plot = Plot(columns, rows, height=HEIGHT)
    y = plot.axis("value", grid=True, zero=False, nice=True, padding=8)
    plot.rules(data=[{}], color=_PROMISED, stroke_dash=list(_DASHED), y=at(100.0 * each.at_least))
    plot.line(
        x=plot.axis("day", padding=8), y=y, color=_DOT, point={"color": _DOT, "size": 35},
        tips=("day", "value"),
    )  # fmt: skip
    worst = min(rows, key=lambda row: float(row["value"] or 0.0))
    return plot.figure(
        f"acceptance-promise-{number}",
        "Availability of each day",
        caption="Share of each day's node hours that were available. Dashed line: promised for "
        "the whole period.",
        alt=f"Availability of {counted(len(rows), 'day')}; the least is "
        f"{format_share(float(worst['value'] or 0.0))}.",
    )


def _value_columns(
    values: Sequence[float], lines: Sequence[float], unit: str, metric: str
) -> list[DataColumn]:
    factor, prefix = scale_of([*values, *lines])
    title = f"{metric} ({prefix}{unit})" if prefix + unit else metric
    return [
        DataColumn(
            "value", f"median of {metric}", unit,
            title=title, factor=factor, format=".4~g",
        )
    ]  # fmt: skip


def _places(plot: Plot, rows: list[Row]) -> dict[str, object]:
    """The horizontal axis of numbered rows."""
    return plot.axis(
        "place", tick_min_step=1, format="d", domain=[0.5, len(rows) + 0.5], nice=False
    )


def _drawn(
    columns: list[DataColumn], rows: list[Row], promised: Sequence[float], worse: Sequence[float]
) -> tuple[Plot, dict[str, object]]:
    """The figure with its lines, and its vertical axis, which holds them."""
    factor = next(each.factor for each in columns if each.name == "value")
    plot = Plot(columns, rows, height=HEIGHT)
    values = [float(row["value"] or 0.0) / factor for row in rows]
    drawn = [*values, *(end / factor for end in (*promised, *worse))]
    room = 0.06 * (max(drawn) - min(drawn)) or 0.01 * abs(drawn[0])
    y = plot.axis(
        "value", grid=True, zero=False, nice=False, domain=[min(drawn) - room, max(drawn) + room]
    )
    for ends, colour, dash in ((promised, _PROMISED, _DASHED), (worse, _WORSE, _DOTTED)):
        for end in ends:
            plot.rules(data=[{}], color=colour, stroke_dash=list(dash), y=at(end / factor))
    return plot, y

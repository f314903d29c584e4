"""Results over months, as in Kramer & Ryan (2003), figure 3: trends, and a calendar."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from assay.charts.figure import Datum, Field, Figure
from assay.charts.marks import Row, Spec, scale_of
from assay.kernels.naming import metric_name
from assay.subjects.history.model import CellHistory, History, HistoryDay
from assay.subjects.history.words import cell_name, state_text
from assay.units import capitalised, counted, format_change

# Maximum number of cells with a trend, of cells in the overview, and of dots of a trend; of more
# runs, a dot is the median of several.
MAX_TRENDS, MAX_ROWS, MAX_DOTS = 12, 60, 600
# Maximum number of trends if nothing changed.
_MAX_STEADY_TRENDS = 6
_DAY = 86400.0
_MOST_WEEKS = 12  # with a label
_WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
# Minimum and maximum of the deviation at the ends of the calendar's colour scale.
_WEAKEST, _STRONGEST = 0.01, 0.2


def figures(history: History) -> list[Figure]:
    """Overview, calendar, and the trends of the cells that changed most."""
    whole = [overview(history), calendar(history)]
    chosen = shown_cells(history)
    trends = [trend(cell, number, len(history.systems) > 1) for number, cell in enumerate(chosen)]
    return [figure for figure in [*whole, *trends] if figure is not None]


def shown_cells(history: History) -> list[CellHistory]:
    """The cells whose trend is drawn: those that changed, else the first ones."""
    changed = [c for c in history.cells if c.events or c.suspect is not None]
    order = {"regression": 0, "improvement": 1, "steady": 2, "variable": 3, "short": 4}
    changed.sort(key=lambda c: (order[c.state], -abs(c.against or 0.0), -len(c.events)))
    return (
        changed[:MAX_TRENDS]
        or [c for c in history.cells if len(c.points.utc) > 1][:_MAX_STEADY_TRENDS]
    )


def overview(history: History) -> Figure | None:
    """Each cell's present level relative to its best earlier level; left is worse."""
    compared = [cell for cell in history.cells if cell.against is not None]
    if not compared:
        return None
    compared.sort(key=lambda c: -c.worsening(c.against or 0.0))
    shown = compared if len(compared) <= MAX_ROWS else compared[: MAX_ROWS - 10] + compared[-10:]
    rows: list[Row] = []
    for cell in shown:
        low, high = cell.against_ci95 or (None, None)
        rows.append(
            {
                "cell": cell_name(cell, history),
                "state": cell.state,
                "change": cell.against,
                "low": low,
                "high": high,
                "better": -cell.worsening(cell.against or 0.0),
                "better_low": None if low is None else -cell.worsening(low),
                "better_high": None if high is None else -cell.worsening(high),
            }
        )
    y: Spec = {"field": "cell", "type": "nominal", "sort": None, "title": None,
               "axis": {"labelLimit": 330}}  # fmt: skip
    x: Spec = {
        "field": "percent",
        "type": "quantitative",
        "title": "change (%)",
        "axis": {"grid": True, "format": "+.6~g", "tickCount": 8},
        "scale": {"padding": 12},
    }
    spec: Spec = {
        "height": 22 * len(shown),
        "transform": [
            {"calculate": "100 * datum.better", "as": "percent"},
            {"calculate": "100 * datum.better_low", "as": "from"},
            {"calculate": "100 * datum.better_high", "as": "to"},
        ],
        "encoding": {"y": y},
        "layer": [
            {"mark": {"type": "rule", "strokeDash": [6, 4]},
             "encoding": {"x": {"datum": 0}, "y": {"value": 0}, "y2": {"value": "height"}}},
            {"mark": {"type": "rule", "strokeWidth": 1.5},
             "encoding": {"x": {"field": "from", "type": "quantitative"}, "x2": {"field": "to"}}},
            {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
             "encoding": {"x": x,
                          "shape": {"field": "state", "sort": None, "legend": {"title": None}},
                          "color": {"field": "state", "type": "nominal", "sort": None,
                                    "legend": {"title": None}}}},
        ],
    }  # fmt: skip
    left_out = len(compared) - len(shown)
    more = f" {counted(left_out, 'cell')} with changes between these not shown." if left_out else ""
    worst = shown[0]
    return Figure(
        id="history-overview",
        title="Present level relative to the best earlier level",
        caption=f"Cells whose level has changed; whiskers: 95% intervals.{more}",
        alt=f"Present level of {counted(len(shown), 'cell')} relative to their best earlier level; "
        f"worst {worst.label} ({format_change(worst.against or 0.0)}).",
        fields=[
            Field("cell", "", "system, kernel, parameters and placement"),
            Field("state", "", "regression, improvement, steady or variable"),
            Field("change", "1", "relative change of the metric"),
            Field("low", "1", "lower end of its 95% interval"),
            Field("high", "1", "upper end of its 95% interval"),
        ],
        rows=rows,
        spec=spec,
    )


def calendar(history: History) -> Figure | None:
    """A square per day: the median deviation of its runs from the reference levels."""
    if len(history.days) < 3:
        return None
    rows: list[Row] = [
        {
            "day": day.day,
            "week": day.utc - _DAY * _weekday(day),
            "weekday": _WEEKDAYS[_weekday(day)],
            "deviation": day.deviation,
            "runs": day.runs,
            "cells": day.cells,
            "worst": day.worst,
            "worst_cell": day.worst_cell,
        }
        for day in history.days
    ]
    # The colour scale ends at the 98% quantile, so that a few days do not make the others pale.
    far = float(np.quantile([abs(day.deviation) for day in history.days], 0.98))
    end = 100 * min(max(far, _WEAKEST), _STRONGEST)
    weeks = _mondays(rows)
    spec: Spec = {
        "height": 20 * len(_WEEKDAYS),
        "transform": [
            {"calculate": "1000 * datum.week", "as": "from"},
            {"calculate": "1000 * (datum.week + 604800)", "as": "to"},
            # As elsewhere: what is worse is below zero.
            {"calculate": "-100 * datum.deviation", "as": "percent"},
            {"calculate": "-100 * datum.worst", "as": "worst_percent"},
        ],
        "mark": {"type": "rect", "stroke": "white", "strokeWidth": 1},
        "encoding": {
            "x": {"field": "from", "type": "temporal", "scale": {"type": "utc"},
                  "title": "week from Monday",
                  "axis": {"format": "%-d %b %Y" if len(weeks) > 60 else "%-d %b",
                           "values": weeks, "labelOverlap": "greedy", "labelAlign": "left",
                           "labelBound": False, "labelFlush": False}},
            "x2": {"field": "to"},
            "y": {"field": "weekday", "type": "ordinal", "sort": _WEEKDAYS,
                  "scale": {"domain": _WEEKDAYS}, "title": None, "axis": {"grid": False}},
            "color": {
                "field": "percent",
                "type": "quantitative",
                "title": "change from the reference level (%)",
                "scale": {"scheme": "blueorange", "domain": [-end, end], "domainMid": 0,
                          "reverse": True, "clamp": True},
                "legend": {"gradientLength": 220, "format": "+.6~g", "titleLimit": 260},
            },
            "tooltip": [
                {"field": "day", "title": "day"},
                {"field": "percent", "title": "median change (%)", "format": "+.2~f"},
                {"field": "runs", "title": "runs"},
                {"field": "cells", "title": "cells"},
                {"field": "worst_cell", "title": "worst"},
                {"field": "worst_percent", "title": "its change (%)", "format": "+.2~f"},
            ],
        },
    }  # fmt: skip
    worst_day = max(history.days, key=lambda day: day.deviation)
    return Figure(
        id="history-calendar",
        title="Calendar",
        caption="Each square is a day (UTC) with runs. Colour: median over cells and runs of the "
        "change from the cell's best earlier level, or from its present level if it has not "
        "changed; below 0 is worse. Days without runs are empty.",
        alt=f"Calendar of {counted(len(rows), 'day')} with runs; worst {worst_day.day}, "
        f"{format_change(worst_day.deviation)}.",
        fields=[
            Field("day", "", "UTC"),
            Field(
                "deviation", "1", "median over cells and runs; positive is worse than the reference"
            ),
            Field("runs", "", "number of runs"),
            Field("cells", "", "number of cells"),
            Field("worst", "1", "greatest deviation of a run of a cell"),
            Field("worst_cell", "", "the cell of that deviation"),
        ],
        rows=rows,
        spec=spec,
    )


def _mondays(rows: Sequence[Row]) -> list[Spec]:
    """The beginnings of weeks that get a tick, equally many weeks apart."""
    begins = [float(row["week"] or 0.0) for row in rows]
    first, last = min(begins), max(begins)
    count = round((last - first) / (7 * _DAY)) + 1
    step = math.ceil(count / _MOST_WEEKS)
    days = (
        datetime.datetime.fromtimestamp(first + 7 * _DAY * week, datetime.UTC)
        for week in range(0, count, step)
    )
    return [{"year": d.year, "month": d.month, "date": d.day, "utc": True} for d in days]


def _weekday(day: HistoryDay) -> int:
    return datetime.date.fromisoformat(day.day).weekday()


def trend(cell: CellHistory, number: int, several: bool) -> Figure | None:
    """A cell's results over time, its levels, and the dates of changes with their intervals."""
    if not cell.points.utc:
        return None
    factor, prefix = scale_of(cell.points.value)
    rows = [*_dots(cell), *_levels(cell), *_changes(cell)]
    kinds = {row["kind"] for row in rows}  # a layer without rows would have a scale without ends
    unit = f"{prefix}{cell.unit}"
    spec: Spec = {
        "height": 220,
        "transform": [
            {"calculate": "1000 * datum.utc", "as": "t"},
            {"calculate": "isValid(datum.to) ? 1000 * datum.to : null", "as": "t_to"},
            *(
                {"calculate": f"isValid(datum.{name}) ? datum.{name} / {factor!r} : null", "as": to}
                for name, to in (("value", "y"), ("low", "y_low"), ("high", "y_high"),
                                 ("value_to", "y_to"))
            ),
        ],
        "encoding": {
            "x": {"field": "t", "type": "temporal", "scale": {"type": "utc"}, "title": None,
                  "axis": {"labelOverlap": "greedy", "tickCount": 6}},
        },
        "layer": [layer for kind, layer in _layers(cell, unit) if kind in kinds],
    }  # fmt: skip
    system = f"{cell.system}: " if several else ""
    thinned = len(cell.points.utc) > MAX_DOTS
    return Figure(
        id=f"history-{number}-{re.sub(r'[^a-z0-9]+', '-', cell.cell.kernel.lower()).strip('-')}",
        title=f"{system}{cell.label}",
        caption=f"{_state_text(cell)}"
        + (
            " Each dot is the median of several runs; its line: 5% to 95% quantile."
            if thinned
            else ""
        ),
        alt=f"{metric_name(cell.metric)} of {cell.label} in "
        f"{counted(len(cell.points.utc), 'run')}: "
        f"{_state_text(cell)}",
        fields=[
            Field("kind", "", "run, runs (several), level (of a segment) or change"),
            Field("utc", "s", "run: its time; level: its first run; change: earliest date"),
            Field("to", "s", "level: its last run; change: latest date"),
            Field("value", cell.unit, "run: its median; level: at the start of the segment"),
            Field("value_to", cell.unit, "level: at the end of the segment"),
            Field("low", cell.unit, "runs: 5% quantile; level: lower end of its 95% interval"),
            Field("high", cell.unit, "runs: 95% quantile; level: upper end of its 95% interval"),
            Field("runs", "", "number of runs"),
            Field("apart", "", "whether it is a single outlying run"),
            Field("name", "", "the run's name"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def _state_text(cell: CellHistory) -> str:
    words = {
        "regression": "Regressed",
        "improvement": "Improved",
        "steady": "Steady" if not cell.events else "Steady at present",
        "variable": capitalised(state_text(cell)),
        "short": "Too few runs",
    }[cell.state]
    change = (
        ""
        if cell.against is None
        else f" ({format_change(cell.against)} {metric_name(cell.metric)})"
    )
    events = f", {counted(len(cell.events), 'change')}" if cell.events else ""
    return f"{words}{change}{events}."


def _layers(cell: CellHistory, unit: str) -> list[tuple[str, Spec]]:
    """The layers of each kind of row, from back to front."""
    return [
        ("change", _layer("change", {"type": "rect", "opacity": 0.22},
               x2={"field": "t_to"}, y={"value": 0}, y2={"value": "height"})),
        ("run", _layer("run", {"type": "point", "filled": True, "size": 26, "opacity": 0.65},
               y=_y(cell, unit), tooltip=_tooltip(unit),
               shape={"field": "apart", "type": "nominal", "legend": None,
                      "scale": {"domain": ["no", "yes"], "range": ["circle", "cross"]}})),
        ("runs", _layer("runs", {"type": "rule", "opacity": 0.4},
               y={"field": "y_low", "type": "quantitative"}, y2={"field": "y_high"})),
        ("runs", _layer("runs", {"type": "point", "filled": True, "size": 20, "opacity": 0.8},
               y=_y(cell, unit), tooltip=_tooltip(unit))),
        ("level", _layer("level", {"type": "rule", "strokeWidth": 2.5},
               x2={"field": "t_to"}, y=_y(cell, unit), y2={"field": "y_to"})),
    ]  # fmt: skip


def _layer(kind: str, mark: Spec, **encoding: object) -> Spec:
    return {
        "transform": [{"filter": f"datum.kind == '{kind}'"}],
        "mark": mark,
        "encoding": encoding,
    }


def _y(cell: CellHistory, unit: str) -> Spec:
    return {
        "field": "y",
        "type": "quantitative",
        "title": metric_name(cell.metric, unit),
        "scale": {"zero": False, "nice": True, "padding": 8},
        "axis": {"tickCount": 5},
    }


def _tooltip(unit: str) -> list[Spec]:
    return [
        {"field": "name", "title": "run"},
        {"field": "t", "type": "temporal", "title": "UTC", "format": "%Y-%m-%d %H:%M"},
        {"field": "y", "type": "quantitative", "title": f"median ({unit})", "format": ".4~g"},
        {"field": "runs", "title": "runs"},
    ]


def _row(kind: str, utc: float, **more: Datum) -> Row:
    blank: Row = dict.fromkeys(("to", "value", "value_to", "low", "high", "runs", "apart", "name"))
    return {"kind": kind, "utc": utc, **blank, **more}


def _dots(cell: CellHistory) -> list[Row]:
    points = cell.points
    outliers = set(cell.outliers)
    if len(points.utc) <= MAX_DOTS:
        return [
            _row(
                "run", utc, value=value, runs=1, name=run, apart="yes" if run in outliers else "no"
            )
            for run, utc, value in zip(points.run, points.utc, points.value, strict=True)
        ]
    values, utc = np.array(points.value), np.array(points.utc)
    edges = np.linspace(0, values.size, MAX_DOTS + 1).round().astype(int)
    rows = []
    for first, stop in pairwise(edges):
        part = values[first:stop]
        low, median, high = (float(q) for q in np.quantile(part, (0.05, 0.5, 0.95)))
        name = f"{points.run[first]} to {points.run[stop - 1]}"
        when = float(np.median(utc[first:stop]))
        rows.append(
            _row("runs", when, value=median, low=low, high=high, runs=int(part.size), name=name)
        )
    return rows


def _levels(cell: CellHistory) -> list[Row]:
    drifts = {event.run: event.size for event in cell.events if event.kind == "drift"}
    rows = []
    for segment in cell.stretches:
        begin = segment.level
        if segment.drifting:
            begin /= 1.0 + drifts.get(cell.points.run[segment.first], 0.0)
        low, high = segment.ci95 or (None, None)
        rows.append(
            _row(
                "level", cell.points.utc[segment.first], to=cell.points.utc[segment.last],
                value=begin, value_to=segment.level, low=low, high=high,
                runs=segment.last - segment.first + 1,
            )
        )  # fmt: skip
    return rows


def _changes(cell: CellHistory) -> list[Row]:
    """The 95% intervals of the dates of steps and changes of scatter."""
    return [
        _row("change", event.after_utc, to=event.before_utc)
        for event in cell.events
        if event.kind != "drift"
    ]

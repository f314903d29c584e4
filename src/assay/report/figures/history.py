"""Results over months, as in Kramer & Ryan (2003), figure 3: trends, and a calendar."""

from __future__ import annotations

import datetime
import re
import statistics
from itertools import pairwise

import numpy as np

from assay.answers.history import CellHistory, History, Stretch
from assay.report.marks import Row, Spec, scale_of
from assay.report.model import Datum, Field, Figure
from assay.units import counted

# Cells with a trend of their own, and in the overview; a trend's dots before runs share one.
MOST_TRENDS, MOST_ROWS, MOST_DOTS = 12, 60, 600
# Trends that are shown where nothing changed.
_FEW = 6
_DAY = 86400.0
_WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
# The deviations, at least and at most, at which a calendar's colours end.
_FAINTEST, _STRONGEST = 0.01, 0.2


def history_figures(history: History) -> list[Figure]:
    """Overview, calendar, and the trends of the cells that changed most."""
    made = [overview(history), calendar(history)]
    chosen = shown_cells(history)
    trends = [trend(cell, number, len(history.systems) > 1) for number, cell in enumerate(chosen)]
    return [figure for figure in [*made, *trends] if figure is not None]


def shown_cells(history: History) -> list[CellHistory]:
    """The cells that get a trend of their own: those that changed, else the first ones."""
    changed = [c for c in history.cells if c.events or c.suspect is not None]
    order = {"regression": 0, "improvement": 1, "steady": 2, "short": 3}
    changed.sort(key=lambda c: (order[c.state], -abs(c.against or 0.0), -len(c.events)))
    return changed[:MOST_TRENDS] or [c for c in history.cells if len(c.points.utc) > 1][:_FEW]


def deviations(cell: CellHistory) -> list[float]:
    """How much worse each run was than the best level, relative; negative is better."""
    reference = cell.reference or cell.level
    return [cell.worsening(value / reference - 1.0) for value in cell.points.value]


def overview(history: History) -> Figure | None:
    """Each cell's present level against the best that it has been; left is worse."""
    held = [cell for cell in history.cells if cell.against is not None]
    if not held:
        return None
    held.sort(key=lambda c: -c.worsening(c.against or 0.0))
    shown = held if len(held) <= MOST_ROWS else held[: MOST_ROWS - 10] + held[-10:]
    rows: list[Row] = []
    for cell in shown:
        low, high = cell.against_ci95 or (None, None)
        rows.append(
            {
                "cell": _name(cell, history),
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
        "title": "better than the best stretch before (%)",
        "axis": {"grid": True, "format": "+~g", "tickCount": 8},
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
    left_out = len(held) - len(shown)
    more = f" {counted(left_out, 'cell')} between are left out." if left_out else ""
    worst = shown[0]
    return Figure(
        id="history-overview",
        title="The present against the best before",
        caption=f"Cells whose level has changed; whiskers: 95% intervals.{more}",
        alt=f"{counted(len(shown), 'cell')} by how much better they are now than in their best "
        f"stretch; worst {worst.label} ({100 * (worst.against or 0.0):+.1f}%).",
        fields=[
            Field("cell", "", "system, kernel, parameters and placement"),
            Field("state", "", "regression, improvement or steady"),
            Field("change", "1", "relative change of the metric"),
            Field("low", "1", "lower end of its 95% interval"),
            Field("high", "1", "upper end of its 95% interval"),
        ],
        rows=rows,
        spec=spec,
    )


def calendar(history: History) -> Figure | None:
    """A square a day: how far its runs were off the best level, in the median."""
    by_day: dict[int, list[tuple[float, str, str]]] = {}
    for cell in history.cells:
        off = deviations(cell)
        for utc, run, each in zip(cell.points.utc, cell.points.run, off, strict=True):
            by_day.setdefault(int(utc // _DAY), []).append((each, cell.label, run))
    if len(by_day) < 3:
        return None
    rows: list[Row] = []
    for day in sorted(by_day):
        found = by_day[day]
        date = datetime.datetime.fromtimestamp(day * _DAY, datetime.UTC)
        worst = max(found)
        rows.append(
            {
                "day": date.date().isoformat(),
                "week": (day - date.weekday()) * _DAY,
                "weekday": _WEEKDAYS[date.weekday()],
                "deviation": statistics.median(each for each, _, _ in found),
                "runs": len({run for _, _, run in found}),
                "cells": len({label for _, label, _ in found}),
                "worst": worst[0],
                "worst_cell": worst[1],
            }
        )
    far = float(np.quantile([abs(float(row["deviation"] or 0.0)) for row in rows], 0.98))
    end = 100 * min(max(far, _FAINTEST), _STRONGEST)
    weeks = len({row["week"] for row in rows})
    spec: Spec = {
        "height": 20 * len(_WEEKDAYS),
        "transform": [
            {"calculate": "1000 * datum.week", "as": "from"},
            {"calculate": "1000 * (datum.week + 604800)", "as": "to"},
            {"calculate": "100 * datum.deviation", "as": "percent"},
            {"calculate": "100 * datum.worst", "as": "worst_percent"},
        ],
        "mark": {"type": "rect", "stroke": "white", "strokeWidth": 1},
        "encoding": {
            "x": {"field": "from", "type": "temporal", "scale": {"type": "utc"}, "title": None,
                  "axis": {"format": "%-d %b %Y" if weeks > 60 else "%-d %b",
                           "labelOverlap": "greedy"}},
            "x2": {"field": "to"},
            "y": {"field": "weekday", "type": "ordinal", "sort": _WEEKDAYS,
                  "scale": {"domain": _WEEKDAYS}, "title": None},
            "color": {
                "field": "percent",
                "type": "quantitative",
                "title": "worse than the best level (%)",
                "scale": {"scheme": "blueorange", "domain": [-end, end], "domainMid": 0,
                          "clamp": True},
                "legend": {"gradientLength": 220, "format": "+~g"},
            },
            "tooltip": [
                {"field": "day", "title": "day"},
                {"field": "percent", "title": "median deviation (%)", "format": "+.2~f"},
                {"field": "runs", "title": "runs"},
                {"field": "cells", "title": "cells"},
                {"field": "worst_cell", "title": "worst"},
                {"field": "worst_percent", "title": "there (%)", "format": "+.2~f"},
            ],
        },
    }  # fmt: skip
    worst_day = max(rows, key=lambda row: float(row["deviation"] or 0.0))
    return Figure(
        id="history-calendar",
        title="Calendar",
        caption="A square is a day (UTC) with runs; its colour is the median over cells and runs "
        "of how much worse they were than their best level. Days without runs are empty.",
        alt=f"Calendar of {counted(len(rows), 'day')} with runs; worst {worst_day['day']}, "
        f"{100 * float(worst_day['deviation'] or 0.0):+.1f}%.",
        fields=[
            Field("day", "", "UTC"),
            Field("deviation", "1", "median over cells and runs of how much worse than best"),
            Field("runs", "", "number of runs"),
            Field("cells", "", "number of cells"),
            Field("worst", "1", "the same of the worst cell's worst run"),
            Field("worst_cell", "", "which cell that was"),
        ],
        rows=rows,
        spec=spec,
    )


def trend(cell: CellHistory, number: int, several: bool) -> Figure | None:
    """A cell's results over time, its levels, and when they changed, with the intervals of that."""
    if not cell.points.utc:
        return None
    factor, prefix = scale_of(cell.points.value)
    rows = [*_dots(cell), *_levels(cell), *_changes(cell)]
    kinds = {row["kind"] for row in rows}  # a layer of nothing would have a scale without ends
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
    put_together = len(cell.points.utc) > MOST_DOTS
    return Figure(
        id=f"history-{number}-{re.sub(r'[^a-z0-9]+', '-', cell.cell.kernel.lower()).strip('-')}",
        title=f"{system}{cell.label}",
        caption=f"{_course(cell)}"
        + (" A dot is several runs, its line their 5% to 95%." if put_together else ""),
        alt=f"{cell.metric} of {cell.label} in {counted(len(cell.points.utc), 'run')}: "
        f"{_course(cell)}",
        fields=[
            Field("kind", "", "run, runs (several together), level (of a stretch) or change"),
            Field("utc", "s", "when; of a level its first run; of a change its earliest"),
            Field("to", "s", "of a level its last run; of a change its latest"),
            Field("value", cell.unit, "of a run its median; of a stretch its level at first"),
            Field("value_to", cell.unit, "of a stretch its level at last"),
            Field("low", cell.unit, "of several runs the 5% quantile; of a level its 95% interval"),
            Field("high", cell.unit, "the 95% quantile; the interval's upper end"),
            Field("runs", "", "number of runs"),
            Field("apart", "", "whether it is an outlier that is alone"),
            Field("name", "", "the run's name"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def _course(cell: CellHistory) -> str:
    words = {
        "regression": "Worse than it has been",
        "improvement": "Better than it was",
        "steady": "Steady" if not cell.events else "As good as it has been",
        "short": "Too few runs to tell",
    }[cell.state]
    change = "" if cell.against is None else f" ({100 * cell.against:+.1f}% {cell.metric})"
    events = f", {counted(len(cell.events), 'change')}" if cell.events else ""
    return f"{words}{change}{events}."


def _layers(cell: CellHistory, unit: str) -> list[tuple[str, Spec]]:
    """What is drawn of rows of each kind, from back to front."""
    return [
        ("change", _layer("change", {"type": "rect", "opacity": 0.22},
               x2={"field": "t_to"}, y={"value": 0}, y2={"value": "height"})),
        ("run", _layer("run", {"type": "point", "filled": True, "size": 26, "opacity": 0.65},
               y=_y(cell, unit), tooltip=_told(unit),
               shape={"field": "apart", "type": "nominal", "legend": None,
                      "scale": {"domain": ["no", "yes"], "range": ["circle", "cross"]}})),
        ("runs", _layer("runs", {"type": "rule", "opacity": 0.4},
               y={"field": "y_low", "type": "quantitative"}, y2={"field": "y_high"})),
        ("runs", _layer("runs", {"type": "point", "filled": True, "size": 20, "opacity": 0.8},
               y=_y(cell, unit), tooltip=_told(unit))),
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
    title = f"{cell.metric} ({unit})" if unit else cell.metric
    return {
        "field": "y",
        "type": "quantitative",
        "title": title,
        "scale": {"zero": False, "nice": True, "padding": 8},
        "axis": {"tickCount": 5},
    }


def _told(unit: str) -> list[Spec]:
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
    odd = set(cell.outliers)
    if len(points.utc) <= MOST_DOTS:
        return [
            _row("run", utc, value=value, runs=1, name=run, apart="yes" if run in odd else "no")
            for run, utc, value in zip(points.run, points.utc, points.value, strict=True)
        ]
    values, utc = np.array(points.value), np.array(points.utc)
    edges = np.linspace(0, values.size, MOST_DOTS + 1).round().astype(int)
    made = []
    for first, stop in pairwise(edges):
        part = values[first:stop]
        low, middle, high = (float(q) for q in np.quantile(part, (0.05, 0.5, 0.95)))
        name = f"{points.run[first]} to {points.run[stop - 1]}"
        when = float(np.median(utc[first:stop]))
        made.append(
            _row("runs", when, value=middle, low=low, high=high, runs=int(part.size), name=name)
        )
    return made


def _levels(cell: CellHistory) -> list[Row]:
    drifts = {event.run: event.size for event in cell.events if event.kind == "drift"}
    made = []
    for stretch in cell.stretches:
        begin = stretch.level
        if stretch.drifting:
            begin /= 1.0 + drifts.get(cell.points.run[stretch.first], 0.0)
        low, high = stretch.ci95 or (None, None)
        made.append(
            _row(
                "level", cell.points.utc[stretch.first], to=_end(cell, stretch), value=begin,
                value_to=stretch.level, low=low, high=high, runs=stretch.last - stretch.first + 1,
            )
        )  # fmt: skip
    return made


def _end(cell: CellHistory, stretch: Stretch) -> float:
    return cell.points.utc[stretch.last]


def _changes(cell: CellHistory) -> list[Row]:
    """Drifts are seen as they are; of steps and changes of scatter the interval of their date."""
    return [
        _row("change", event.after_utc, to=event.before_utc)
        for event in cell.events
        if event.kind != "drift"
    ]


def _name(cell: CellHistory, history: History) -> str:
    return f"{cell.system}: {cell.label}" if len(history.systems) > 1 else cell.label

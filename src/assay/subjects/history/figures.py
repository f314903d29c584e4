"""Results over months, as in Kramer & Ryan (2003), figure 3: trends, and a calendar."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from assay.charts.columns import DataColumn, instant
from assay.charts.figure import Datum, Figure
from assay.charts.marks import Row, Spec, scale_of
from assay.charts.plot import Plot, fixed
from assay.kernels.naming import metric_name
from assay.subjects.history.model import CellHistory, History, HistoryDay
from assay.subjects.history.words import cell_name, state_text
from assay.units import capitalised, counted, format_change

# Maximum number of trends, of cells in the overview, and of dots in a trend. With more runs, a dot
# is the median of several.
MAX_TRENDS, MAX_ROWS, MAX_DOTS = 12, 60, 600
# Maximum number of trends if nothing changed.
_MAX_STEADY_TRENDS = 6
_DAY = 86400.0
_MOST_WEEKS = 12  # with a label
_WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
# Minimum and maximum of the deviation at the ends of the calendar's colour scale.
_WEAKEST, _STRONGEST = 0.01, 0.2


def figures(history: History) -> list[Figure]:
    """The overview, the calendar and the trends of the cells that changed most."""
    whole = [overview(history), calendar(history)]
    chosen = shown_cells(history)
    trends = [trend(cell, number, len(history.systems) > 1) for number, cell in enumerate(chosen)]
    return [figure for figure in [*whole, *trends] if figure is not None]


def shown_cells(history: History) -> list[CellHistory]:
    """The cells with a trend: those that changed, or else the first ones."""
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
    columns = [
        DataColumn("cell", "system, kernel, parameters and placement", kind="name"),
        DataColumn("state", "regression, improvement, steady or variable", kind="name"),
        DataColumn("change", "relative change of the metric", "1", "change (%)",
                   shown="100 * datum.better"),
        DataColumn("low", "lower end of its 95% interval", "1", shown="100 * datum.better_low"),
        DataColumn("high", "upper end of its 95% interval", "1", shown="100 * datum.better_high"),
    ]  # fmt: skip
    plot = Plot(columns, rows, height=22 * len(shown))
    x = plot.axis("change", grid=True, format="+.6~g", tick_count=8, padding=12)
    plot.share(y=plot.names("cell", label_limit=330)).level(x=0, width=1)
    plot.intervals("low", "high", x=x)
    plot.dots(size=70, opacity=1, x=x, shape=plot.key("state", {}), colour=plot.key("state", {}))
    left_out = len(compared) - len(shown)
    more = f" {counted(left_out, 'cell')} with changes between these not shown." if left_out else ""
    worst = shown[0]
    return plot.figure(
        "history-overview",
        "Present level relative to the best earlier level",
        caption=f"Cells whose level has changed; whiskers: 95% intervals.{more}",
        alt=f"Present level of {counted(len(shown), 'cell')} relative to their best earlier level; "
        f"worst {worst.label} ({format_change(worst.against or 0.0)}).",
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
    columns = [
        DataColumn("day", "UTC", kind="name"),
        DataColumn(
            "deviation",
            "median over cells and runs; positive is worse than the reference",
            "1",
            "median change (%)",
            "+.2~f",
            shown="-100 * datum.deviation",
        ),
        DataColumn("runs", "number of runs"),
        DataColumn("cells", "number of cells"),
        DataColumn(
            "worst",
            "largest deviation of a run of a cell",
            "1",
            "its change (%)",
            "+.2~f",
            shown="-100 * datum.worst",
        ),
        DataColumn("worst_cell", "the cell of that deviation", title="worst", kind="name"),
        DataColumn("weekday", kind="rank"),
        DataColumn("from", shown="1000 * datum.week", kind="time"),
        DataColumn("to", shown="1000 * (datum.week + 604800)", kind="time"),
    ]
    plot = Plot(columns, rows, height=20 * len(_WEEKDAYS))
    plot.boxes(
        stroke="white", stroke_width=1,
        x=plot.axis(
            "from", "week from Monday", values=weeks, label_overlap="greedy", label_align="left",
            label_bound=False, label_flush=False,
            format="%-d %b %Y" if len(weeks) > 60 else "%-d %b",
        ),
        x2="to",
        y=plot.names("weekday", sort=_WEEKDAYS, domain=_WEEKDAYS, grid=False),
        # Worse values are below zero, as in other figures.
        colour=plot.shade(
            "deviation", "change from the reference level (%)",
            {"gradient_length": 220, "format": "+.6~g", "title_limit": 260},
            scheme="blueorange", domain=[-end, end], domain_mid=0, reverse=True, clamp=True,
        ),
        tips=("day", "deviation", "runs", "cells", "worst_cell", "worst"),
    )  # fmt: skip
    worst_day = max(history.days, key=lambda day: day.deviation)
    return plot.figure(
        "history-calendar",
        "Calendar",
        caption="Each square is a day (UTC) with runs. Colour shows the median change over cells "
        "and runs; below 0 is worse. Changes are relative to the cell's best earlier level, "
        "or to its present level if it has not changed. Days without runs are empty.",
        alt=f"Calendar of {counted(len(rows), 'day')} with runs; worst {worst_day.day}, "
        f"{format_change(worst_day.deviation)}.",
    )


def _mondays(rows: Sequence[Row]) -> list[Spec]:
    """The starts of the weeks that get a tick, at equal intervals."""
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
    kinds = {str(row["kind"]) for row in rows}
    unit = f"{prefix}{cell.unit}"
    plot = Plot(_trend_columns(cell, unit, factor), rows, height=220)
    plot.share(x=plot.axis("utc", "", label_overlap="greedy", tick_count=6))
    _draw(plot, cell, unit, kinds)
    system = f"{cell.system}: " if several else ""
    thinned = len(cell.points.utc) > MAX_DOTS
    return plot.figure(
        f"history-{number}-{re.sub(r'[^a-z0-9]+', '-', cell.cell.kernel.lower()).strip('-')}",
        f"{system}{cell.label}",
        caption=f"{_state_text(cell)}"
        + (
            " Each dot is the median of several runs; its line spans the 5% to 95% quantiles."
            if thinned
            else ""
        ),
        alt=f"{metric_name(cell.metric)} of {cell.label} in "
        f"{counted(len(cell.points.utc), 'run')}: "
        f"{_state_text(cell)}",
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


def _trend_columns(cell: CellHistory, unit: str, factor: float) -> list[DataColumn]:
    def value(name: str, meaning: str, title: str | None = None) -> DataColumn:
        return DataColumn(name, meaning, cell.unit, title, ".4~g", factor=factor)

    return [
        DataColumn("kind", "run, runs (several), level (of a segment) or change", kind="name"),
        instant("utc", "run: its time; level: its first run; change: earliest date", "UTC"),
        instant("to", "level: its last run; change: latest date"),
        value("value", "run: its median; level: at the start of the segment", f"median ({unit})"),
        value("value_to", "level: at the end of the segment"),
        value("low", "runs: 5% quantile; level: lower end of its 95% interval"),
        value("high", "runs: 95% quantile; level: upper end of its 95% interval"),
        DataColumn("runs", "number of runs"),
        DataColumn("apart", "whether it is a single outlying run", kind="name"),
        DataColumn("name", "the run's name", title="run", kind="name"),
    ]


def _draw(plot: Plot, cell: CellHistory, unit: str, kinds: set[str]) -> None:
    """The marks of each kind of row.

    Marks without rows are left out: their scale would have no ends.
    """
    y = plot.axis(
        "value", metric_name(cell.metric, unit), zero=False, nice=True, padding=8, tick_count=5
    )
    tips = ("name", "utc", "value", "runs")
    of = {kind: f"datum.kind == '{kind}'" for kind in kinds}
    if "change" in of:
        plot.boxes(only=of["change"], opacity=0.22, x2="to", y=fixed(0), y2=fixed("height"))
    if "run" in of:
        shape = plot.key("apart", domain=["no", "yes"], range=["circle", "cross"])
        plot.dots(only=of["run"], size=26, opacity=0.65, y=y, tips=tips, shape=shape)
    if "runs" in of:
        plot.rules(only=of["runs"], opacity=0.4, y="low", y2="high")
        plot.dots(only=of["runs"], size=20, opacity=0.8, y=y, tips=tips)
    if "level" in of:
        plot.rules(only=of["level"], stroke_width=2.5, x2="to", y=y, y2="value_to")


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

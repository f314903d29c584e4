"""Figures on the use of a machine: by day, by hour of the week, sizes, and distributions."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, duration_axis
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.time_figures import gantt, hourly, node_map
from assay.subjects.usage.words import quantile
from assay.units import counted, format_share
from assay.usage.analysis.model import LEVELS, UsagePart, UsageSpread

_WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
# More days than this are drawn as weeks.
_MOST_DAYS = 500
_DAY = 86400.0
# Ratios of used to requested above this are drawn there.
_MOST_RATIO = 1.25
# Fewest jobs whose shares of the request are drawn: a curve of fewer looks like one of many.
_FEWEST_DRAWN = 20


def figures(found: UsageFindings) -> list[Figure]:
    """All figures that the log has data for."""
    times = [("wait", found.wait), ("run time", found.run), ("requested time", found.requested)]
    ratios = [("time", found.limits.time), ("memory", found.limits.memory)]
    drawn = [
        course(found),
        hourly(found),
        week(found),
        node_map(found),
        gantt(found),
        shares("sizes", "Sizes of jobs", "processors", found.sizes),
    ]
    drawn += [shares("lengths", "Run times of jobs", "run time", found.lengths)]
    drawn += [times_figure(times), ratios_figure(ratios)]
    return [figure for figure in drawn if figure is not None]


def course(found: UsageFindings) -> Figure | None:
    """Utilisation of each day, or of each week of a long log."""
    weekly = len(found.days) > _MOST_DAYS
    spans = found.weeks if weekly else found.days
    known = [span for span in spans if span.utilisation is not None]
    if len(known) < 2:
        return None
    length = 7 * _DAY if weekly else _DAY
    last = found.period.last
    rows: list[Row] = [
        {
            "name": span.name,
            "utc": span.utc,
            "to": min(span.utc + length, last),
            "utilisation": span.utilisation,
            "submitted": span.submitted,
            "ended": span.ended,
            "part": "all use recorded" if span.whole else "end of the log",
        }
        for span in known
    ]
    noun = "week" if weekly else "day"
    axis: Spec = (
        {"field": "from", "type": "temporal", "scale": {"type": "utc"}, "title": None,
         "axis": {"labelOverlap": "greedy", "tickCount": 8}}
        if found.period.calendar
        else {"field": "days", "type": "quantitative", "title": "day of the log"}
    )  # fmt: skip
    far = {"field": "until" if found.period.calendar else "days_to"}
    spec: Spec = {
        "height": 200,
        "transform": [
            {"calculate": "1000 * datum.utc", "as": "from"},
            {"calculate": "1000 * datum.to", "as": "until"},
            {"calculate": "datum.utc / 86400", "as": "days"},
            {"calculate": "datum.to / 86400", "as": "days_to"},
            {"calculate": "100 * datum.utilisation", "as": "percent"},
        ],
        "mark": {"type": "rect"},
        "encoding": {
            "x": axis,
            "x2": far,
            "y": {"field": "percent", "type": "quantitative", "title": "in use (%)",
                  "scale": {"domain": [0, 100]}, "axis": {"grid": True, "tickCount": 5}},
            "y2": {"datum": 0},
            "color": {"field": "part", "type": "nominal", "sort": None,
                      "scale": {"domain": ["all use recorded", "end of the log"]},
                      "legend": {"title": None}},
            "tooltip": [
                {"field": "name", "title": noun},
                {"field": "percent", "title": "in use (%)", "format": ".3~g"},
                {"field": "submitted", "title": "submitted"},
                {"field": "ended", "title": "ended"},
            ],
        },
    }  # fmt: skip
    most = max(known, key=lambda span: span.utilisation or 0.0)
    return Figure(
        id="usage-course",
        title=f"Utilisation by {noun}",
        caption=f"Processor time in use ÷ available, by {noun} (local time). At an end of the log "
        "jobs may be absent that were submitted before or still ran.",
        alt=f"Utilisation of {counted(len(known), noun)}; highest {most.name}, "
        f"{format_share(most.utilisation)}.",
        fields=[
            Field("name", "", noun),
            Field("utc", "s", "Unix time of its begin"),
            Field("to", "s", "Unix time of its end"),
            Field("utilisation", "1", "processor time in use ÷ available"),
            Field("submitted", "", "jobs submitted"),
            Field("ended", "", "jobs ended"),
            Field("part", "", "whether all use is recorded"),
        ],
        rows=rows,
        spec=spec,
    )


def week(found: UsageFindings) -> Figure | None:
    """Utilisation by hour of the week."""
    known = [hour for hour in found.hours if hour.utilisation is not None]
    if len(known) < 48:
        return None
    rows: list[Row] = [
        {
            "weekday": _WEEKDAYS[hour.weekday],
            "hour": hour.hour,
            "utilisation": hour.utilisation,
            "submitted": hour.submitted,
        }
        for hour in known
    ]
    spec: Spec = {
        "height": 20 * len(_WEEKDAYS),
        "transform": [{"calculate": "100 * datum.utilisation", "as": "percent"}],
        "mark": "rect",
        "encoding": {
            "x": {"field": "hour", "type": "ordinal", "title": "hour of the day",
                  "axis": {"labelAngle": 0, "labelOverlap": "greedy"}},
            "y": {"field": "weekday", "type": "ordinal", "sort": _WEEKDAYS, "title": None,
                  "scale": {"domain": _WEEKDAYS}, "axis": {"grid": False}},
            "color": {"field": "percent", "type": "quantitative", "title": "in use (%)",
                      "scale": {"scheme": "viridis", "domain": [0, 100]},
                      "legend": {"gradientLength": 140}},
            "tooltip": [
                {"field": "weekday", "title": "day"},
                {"field": "hour", "title": "hour"},
                {"field": "percent", "title": "in use (%)", "format": ".3~g"},
                {"field": "submitted", "title": "submitted"},
            ],
        },
    }  # fmt: skip
    most = max(known, key=lambda hour: hour.utilisation or 0.0)
    return Figure(
        id="usage-week",
        title="Utilisation by hour of the week",
        caption="Processor time in use ÷ available, over all weeks of the period (local time).",
        alt=f"Utilisation by hour of the week; highest {_WEEKDAYS[most.weekday]} {most.hour} h, "
        f"{format_share(most.utilisation)}.",
        fields=[
            Field("weekday", "", "day of the week"),
            Field("hour", "", "hour of the day, local time"),
            Field("utilisation", "1", "processor time in use ÷ available"),
            Field("submitted", "", "jobs submitted"),
        ],
        rows=rows,
        spec=spec,
    )


def shares(kind: str, title: str, what: str, parts: Sequence[UsagePart]) -> Figure | None:
    """Each class of jobs: its share of the jobs and of their processor time."""
    if not parts:
        return None
    rows: list[Row] = [
        {"name": part.name, "of": of, "share": value, "jobs": part.jobs}
        for part in parts
        for of, value in (("jobs", part.share_of_jobs), ("processor time", part.share_of_use))
    ]
    spec: Spec = {
        "height": 200,
        "transform": [{"calculate": "100 * datum.share", "as": "percent"}],
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {
            "x": {"field": "name", "type": "nominal", "sort": None, "title": what,
                  "axis": {"labelAngle": -35, "ticks": False}},
            "xOffset": {"field": "of", "sort": None},
            "y": {"field": "percent", "type": "quantitative", "title": "share (%)",
                  "axis": {"grid": True, "tickCount": 5}},
            "color": {"field": "of", "type": "nominal", "sort": None,
                      "legend": {"title": "share of the"}},
            "tooltip": [
                {"field": "name", "title": what},
                {"field": "of", "title": "share of the"},
                {"field": "percent", "title": "share (%)", "format": ".3~g"},
                {"field": "jobs", "title": "jobs"},
            ],
        },
    }  # fmt: skip
    most = max(parts, key=lambda part: part.share_of_use)
    return Figure(
        id=f"usage-{kind}",
        title=title,
        caption=f"Share of the jobs and of their processor time, by {what}.",
        alt=f"{title}; most processor time: {most.name}, {format_share(most.share_of_use)}.",
        fields=[
            Field("name", "", what),
            Field("of", "", "what the share is of"),
            Field("share", "1", "share of all jobs or of all processor time"),
            Field("jobs", "", "number of jobs"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def times_figure(spreads: Sequence[tuple[str, UsageSpread | None]]) -> Figure | None:
    """Distributions of times, on a logarithmic axis."""
    known = [(name, spread) for name, spread in spreads if spread is not None]
    rows = _curves(known)
    x = duration_axis(None)
    return _distribution(
        id="usage-times",
        title="Waits and run times",
        unit="s",
        known=known,
        drawn=(rows, x, "max(datum.value, 1)"),
        caption="Share of the jobs whose time is at most this; times below 1 s are drawn at 1 s.",
    )


def ratios_figure(spreads: Sequence[tuple[str, UsageSpread | None]]) -> Figure | None:
    """Distributions of used ÷ requested."""
    known = [
        (name, spread)
        for name, spread in spreads
        if spread is not None and spread.n >= _FEWEST_DRAWN
    ]
    x: Spec = {
        "field": "shown",
        "type": "quantitative",
        "title": "used ÷ requested (%)",
        "scale": {"domain": [0, 100 * _MOST_RATIO]},
        "axis": {"tickCount": 5},
    }
    return _distribution(
        id="usage-requests",
        title="Used of what was requested",
        unit="1",
        known=known,
        drawn=(_curves(known), x, f"100 * min(datum.value, {_MOST_RATIO!r})"),
        caption="Share of the jobs that used at most this share of their request; more than "
        f"{100 * _MOST_RATIO:g}% is drawn there.",
    )


def _curves(known: Sequence[tuple[str, UsageSpread]]) -> list[Row]:
    return [
        {"quantity": name, "share": level, "value": value}
        for name, spread in known
        for level, value in zip(LEVELS, spread.quantiles, strict=True)
    ]


def _distribution(
    id: str,  # noqa: A002 - the name of the field in the report's JSON
    title: str,
    unit: str,
    known: Sequence[tuple[str, UsageSpread]],
    drawn: tuple[list[Row], Spec, str],
    caption: str,
) -> Figure | None:
    """Cumulative curves: rows, axis, and the expression of the value that is drawn."""
    rows, x, shown = drawn
    if not rows:
        return None
    spec: Spec = {
        "height": 200,
        "transform": [
            {"calculate": shown, "as": "shown"},
            {"calculate": "100 * datum.share", "as": "percent"},
        ],
        "mark": {"type": "line", "interpolate": "step-before"},
        "encoding": {
            "x": x,
            "y": {"field": "percent", "type": "quantitative", "title": "share of the jobs (%)",
                  "axis": {"grid": True, "tickCount": 5}},
            "order": {"field": "share", "type": "quantitative"},
            "color": {"field": "quantity", "type": "nominal", "sort": None,
                      "legend": {"title": None, "symbolType": "stroke"}},
            "tooltip": [
                {"field": "quantity", "title": "quantity"},
                {"field": "value", "title": f"at most ({unit})", "format": ".4~g"},
                {"field": "percent", "title": "share of the jobs (%)", "format": ".3~g"},
            ],
        },
    }  # fmt: skip
    medians = ", ".join(f"{name} {quantile(spread, 0.5):.4g}" for name, spread in known)
    return Figure(
        id=id,
        title=title,
        caption=caption,
        alt=f"{title}: medians ({unit}) {medians}.",
        fields=[
            Field("quantity", "", "what is distributed"),
            Field("share", "1", "share of the jobs"),
            Field("value", unit, "the quantile"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )

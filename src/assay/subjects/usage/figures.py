"""Figures on the use of a machine: by day, by hour of the week, sizes, and distributions."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.axes import duration_axis
from assay.charts.builder import numbers
from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec
from assay.charts.plot import Plot, at
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.time_figures import gantt, hourly, node_map, time_axis, time_column
from assay.subjects.usage.words import quantile
from assay.units import counted, format_share
from assay.usage.analysis.model import LEVELS, UsagePart, UsageSpread

_WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
# Maximum number of days in a figure; longer logs are drawn by week.
_MOST_DAYS = 500
_DAY = 86400.0
# Maximum ratio of used to requested; higher ratios are drawn at this value.
_MOST_RATIO = 1.25
# Minimum number of jobs for a curve of used ÷ requested: a curve of fewer jobs looks like one of
# many.
_FEWEST_DRAWN = 20


def figures(found: UsageFindings) -> list[Figure]:
    """All figures for which the log has data."""
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
    noun = "week" if weekly else "day"
    calendar = found.period.calendar
    columns = [
        DataColumn("name", noun, title=noun, kind="name", of=lambda span: span.name),
        time_column("utc", "Unix time of the begin", calendar, of=lambda span: span.utc),
        time_column(
            "to", "Unix time of the end", calendar, of=lambda span: min(span.utc + length, last)
        ),
        in_percent(
            "utilisation", "processor time in use ÷ available", "in use (%)",
            of=lambda span: span.utilisation,
        ),
        DataColumn("submitted", "jobs submitted", of=lambda span: span.submitted),
        DataColumn("ended", "jobs ended", of=lambda span: span.ended),
        DataColumn("part", "whether all use is recorded", kind="name",
                   of=lambda span: "all use recorded" if span.whole else "end of the log"),
    ]  # fmt: skip
    plot = Plot.of(known, columns, height=200)
    plot.boxes(
        x=time_axis(plot, calendar),
        x2="to",
        y=plot.axis("utilisation", domain=[0, 100], grid=True, tick_count=5),
        y2=at(0),
        colour=plot.key("part", {}, domain=["all use recorded", "end of the log"]),
        tips=("name", "utilisation", "submitted", "ended"),
    )
    most = max(known, key=lambda span: span.utilisation or 0.0)
    return plot.figure(
        "usage-course",
        f"Utilisation by {noun}",
        caption=f"Processor time in use ÷ available, by {noun} (local time). At the ends of the "
        "log, jobs that were submitted before it or still ran after it may be absent.",
        alt=f"Utilisation of {counted(len(known), noun)}; highest {most.name}, "
        f"{format_share(most.utilisation)}.",
    )


def week(found: UsageFindings) -> Figure | None:
    """Utilisation by hour of the week."""
    known = [hour for hour in found.hours if hour.utilisation is not None]
    if len(known) < 48:
        return None
    columns = [
        DataColumn("weekday", "day of the week", title="day", kind="rank",
                   of=lambda hour: _WEEKDAYS[hour.weekday]),
        DataColumn("hour", "hour of the day, local time", kind="rank", of=lambda hour: hour.hour),
        in_percent("utilisation", "processor time in use ÷ available", "in use (%)",
                   of=lambda hour: hour.utilisation),
        DataColumn("submitted", "jobs submitted", of=lambda hour: hour.submitted),
    ]  # fmt: skip
    plot = Plot.of(known, columns, height=20 * len(_WEEKDAYS))
    plot.boxes(
        x=plot.axis("hour", "hour of the day", label_angle=0, label_overlap="greedy"),
        y=plot.names("weekday", sort=_WEEKDAYS, domain=_WEEKDAYS, grid=False),
        colour=plot.shade(
            "utilisation", None, {"gradient_length": 140}, scheme="viridis", domain=[0, 100]
        ),
        tips=("weekday", "hour", "utilisation", "submitted"),
    )
    most = max(known, key=lambda hour: hour.utilisation or 0.0)
    return plot.figure(
        "usage-week",
        "Utilisation by hour of the week",
        caption="Processor time in use ÷ available, over all weeks of the period (local time).",
        alt=f"Utilisation by hour of the week; highest {_WEEKDAYS[most.weekday]} {most.hour} h, "
        f"{format_share(most.utilisation)}.",
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
    columns = [
        DataColumn("name", what, title=what, kind="name"),
        DataColumn("of", "what the share is of", title="share of the", kind="name"),
        in_percent("share", "share of all jobs or of all processor time", "share (%)"),
        DataColumn("jobs", "number of jobs"),
    ]
    plot = Plot(columns, rows, height=200)
    plot.bars(
        corner_radius_end=2,
        x=plot.names("name", what, label_angle=-35, ticks=False),
        beside_x="of",
        y=plot.axis("share", grid=True, tick_count=5),
        colour=plot.key("of", {"title": "share of the"}),
        tips=("name", "of", "share", "jobs"),
    )
    most = max(parts, key=lambda part: part.share_of_use)
    return plot.figure(
        f"usage-{kind}",
        title,
        caption=f"Share of the jobs and of their processor time, by {what}.",
        alt=f"{title}; most processor time: {most.name}, {format_share(most.share_of_use)}.",
        width="half",
    )


def times_figure(spreads: Sequence[tuple[str, UsageSpread | None]]) -> Figure | None:
    """Distributions of times, on a logarithmic axis."""
    known = [(name, spread) for name, spread in spreads if spread is not None]
    return _distribution(
        id="usage-times",
        title="Waits and run times",
        unit="s",
        known=known,
        drawn=("max(datum.value, 1)", duration_axis("shown_value", None)),
        caption="Share of the jobs with at most this time; times below 1 s are drawn at 1 s.",
    )


def ratios_figure(spreads: Sequence[tuple[str, UsageSpread | None]]) -> Figure | None:
    """Distributions of used ÷ requested."""
    known = [
        (name, spread)
        for name, spread in spreads
        if spread is not None and spread.n >= _FEWEST_DRAWN
    ]
    x = numbers(
        "shown_value",
        "used ÷ requested (%)",
        scale={"domain": [0, 100 * _MOST_RATIO]},
        axis={"tickCount": 5},
    )
    return _distribution(
        id="usage-requests",
        title="Used of what was requested",
        unit="1",
        known=known,
        drawn=(f"100 * min(datum.value, {_MOST_RATIO!r})", x),
        caption="Share of the jobs that used at most this share of their request; values above "
        f"{100 * _MOST_RATIO:g}% are drawn at this limit.",
    )


def _distribution(
    id: str,  # noqa: A002 - the name of the field in the report's JSON
    title: str,
    unit: str,
    known: Sequence[tuple[str, UsageSpread]],
    drawn: tuple[str, Spec],
    caption: str,
) -> Figure | None:
    """Cumulative curves. ``drawn``: the expression of the value that is drawn, and its axis."""
    if not known:
        return None
    shown, x = drawn
    rows: list[Row] = [
        {"quantity": name, "share": level, "value": value}
        for name, spread in known
        for level, value in zip(LEVELS, spread.quantiles, strict=True)
    ]
    columns = [
        DataColumn("quantity", "what is distributed", kind="name"),
        in_percent("share", "share of the jobs", "share of the jobs (%)"),
        DataColumn("value", "the quantile", unit, f"at most ({unit})", ".4~g", shown=shown),
    ]
    plot = Plot(columns, rows, height=200)
    plot.steps(
        x=x,
        y=plot.axis("share", grid=True, tick_count=5),
        order="share",
        colour=plot.key("quantity", {"symbol_type": "stroke"}),
        tips=("quantity", "value", "share"),
    )
    medians = ", ".join(f"{name} {quantile(spread, 0.5):.4g}" for name, spread in known)
    return plot.figure(
        id,
        title,
        caption=caption,
        alt=f"{title}: medians ({unit}) {medians}.",
        width="half",
    )

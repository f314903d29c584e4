"""Figures on the checks of a fleet: outcomes by day, levels of components, declines."""

from __future__ import annotations

import time

from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.marks import Row
from assay.charts.plot import Plot
from assay.check.components import BY_NAME
from assay.subjects.checks.model import ChecksFindings, ComponentLevels
from assay.subjects.checks.words import kind_text, title_of
from assay.units import counted, format_change

_MOST_DAYS, _MOST_DECLINES, _MOST_LEVELS = 60, 20, 40


def figures(found: ChecksFindings) -> list[Figure]:
    """All figures for which there is data."""
    drawn = [days(found), levels(found), declines(found)]
    return [figure for figure in drawn if figure is not None]


def days(found: ChecksFindings) -> Figure | None:
    """The share of each day's recent checks that were not healthy, by outcome."""
    shown = found.days[-_MOST_DAYS:]
    wrong = sum(day.unhealthy + day.undecided for day in shown)
    if len(shown) < 2 or not wrong:
        return None
    rows: list[Row] = [
        {
            "day": _day(day.utc),
            "outcome": outcome,
            "share": number / (day.healthy + day.unhealthy + day.undecided),
            "checks": number,
        }
        for day in shown
        for outcome, number in (("unhealthy", day.unhealthy), ("undecided", day.undecided))
    ]
    columns = [
        DataColumn("day", "UTC", kind="name"),
        DataColumn("outcome", "outcome of the check", kind="name"),
        in_percent("share", "share of the day's recent checks", "share of the checks (%)"),
        DataColumn("checks", "number of recent checks with this outcome"),
    ]
    plot = Plot(columns, rows, height=200)
    plot.bars(
        x=plot.names("day", label_angle=-35, ticks=False, label_overlap="greedy"),
        y=plot.axis("share", grid=True, tick_count=5),
        colour=plot.key("outcome", {}),
        tips=("day", "outcome", "share", "checks"),
    )
    return plot.figure(
        "checks-days",
        "Checks that were not healthy",
        caption="Share of each day's checks (UTC), of those that the nodes' files still have in "
        "full: the last few dozen of each node.",
        alt=f"Shares of unhealthy and undecided checks on {counted(len(shown), 'day')}; "
        f"{wrong:,} such checks.",
        width="half",
    )


def levels(found: ChecksFindings) -> Figure | None:
    """The spread of nodes in each component, and the slowest node."""
    shown = [each for each in found.levels if each.nodes > 1][:_MOST_LEVELS]
    if not shown:
        return None
    several = len({each.kind for each in shown}) > 1
    rows: list[Row] = [
        {
            "component": f"{title_of(each.component)}{f', {each.kind}' if several else ''}",
            "low": min(_changes(each)),
            "high": max(_changes(each)),
            "slowest": each.slowest_change,
            "host": each.slowest,
            "nodes": each.nodes,
        }
        for each in shown
    ]
    columns = [
        DataColumn("component", "what is measured", kind="name"),
        in_percent("low", "5% quantile of the nodes, relative to their median",
                   "5% of the nodes (%)"),
        in_percent("high", "95% quantile of the nodes, relative to their median",
                   "95% of the nodes (%)"),
        in_percent("slowest", "the slowest node, relative to the median", "slowest node (%)"),
        DataColumn("host", "the slowest node", title="node", kind="name"),
        DataColumn("nodes", "number of nodes"),
    ]  # fmt: skip
    plot = Plot(columns, rows, height=26 * len(shown))
    x = plot.axis(
        "slowest", "deviation from the median node (%)", grid=True, tick_count=6, padding=8
    )
    plot.share(y=plot.names("component", label_limit=330)).level(x=0, width=1)
    plot.rules(x=plot.same(x, "low"), x2="high", stroke_width=6, opacity=0.4)
    plot.dots(
        size=60, opacity=1, x=x, tips=("component", "host", "slowest", "low", "high", "nodes")
    )
    worst = min(shown, key=lambda each: each.slowest_change)
    return plot.figure(
        "checks-levels",
        "Nodes beside each other",
        caption="Present levels of the nodes, relative to the median node of their kind; below 0 "
        "is worse. Bars: 90% of the nodes; dots: the slowest node.",
        alt=f"Spread of nodes in {counted(len(shown), 'component')}; the slowest is "
        f"{worst.slowest} in {title_of(worst.component)} ({format_change(worst.slowest_change)}).",
        width="full" if several else "half",
    )


def declines(found: ChecksFindings) -> Figure | None:
    """The nodes that become slower most."""
    shown = found.declining[:_MOST_DECLINES]
    if not shown:
        return None
    rows: list[Row] = [
        {
            "what": f"{each.host}, {title_of(each.component)}",
            "change": each.change,
            "checks": each.checks,
            "kind": kind_text(each.kind),
        }
        for each in shown
    ]
    columns = [
        DataColumn("what", "node and component", title="node", kind="name"),
        in_percent("change", "relative change over the recent checks", "change (%)"),
        DataColumn("checks", "number of checks"),
        DataColumn("kind", "kind of node", kind="name"),
    ]
    plot = Plot(columns, rows, height=22 * len(shown))
    plot.bars(
        x=plot.axis("change", grid=True, tick_count=6),
        y=plot.names("what", label_limit=330),
        tips=("what", "change", "checks", "kind"),
    )
    left = len(found.declining) - len(shown)
    return plot.figure(
        "checks-declines",
        "Nodes that become slower",
        caption="Change of each component over the node's recent checks, against its kind."
        + (f" {left} smaller changes are not shown." if left else ""),
        alt=f"{counted(len(shown), 'decline')}; largest {shown[0].host}, "
        f"{title_of(shown[0].component)} ({format_change(shown[0].change)}).",
        width="half",
    )


def _changes(levels: ComponentLevels) -> tuple[float, float]:
    """Both quantiles relative to the median, positive is better."""
    more = BY_NAME[levels.component].better == "more"
    ends = (levels.low, levels.high)
    ratios = [end / levels.median if more else levels.median / end for end in ends]
    return ratios[0] - 1.0, ratios[1] - 1.0


def _day(utc: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(utc))

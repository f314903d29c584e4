"""Figure of groups of nodes: each group's deviation from the median group, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.columns import DataColumn, in_percent
from assay.charts.figure import Figure
from assay.charts.plot import Plot
from assay.subjects.nodes.model import NodeGroup
from assay.units import counted

# Maximum number of groups; the groups with the smallest p are shown.
_MAX_GROUPS = 40


def groups_figure(groups: Sequence[NodeGroup]) -> Figure:
    """A row per group: its deviation in the resource in which it is slow.

    The other groups are shown in the resource in which the first group is slow. ``groups``: not
    empty, the slow ones first.
    """
    shown = sorted(groups, key=lambda group: not group.slow and group.p_adjusted)[:_MAX_GROUPS]
    columns = [
        DataColumn("group", "kind of the group, and its name", kind="name",
                   of=lambda group: group.title),
        DataColumn("resource", "the resource or cell", title="in", kind="name",
                   of=lambda group: group.resource),
        DataColumn("nodes", "the group's nodes", of=lambda group: group.nodes),
        in_percent("gain", "relative deviation from the median group; positive is better",
                   "deviation (%)", format="+.2~f", of=lambda group: group.gain),
        in_percent("low", "lower end of its 95% interval", "from (%)", format="+.2~f",
                   of=lambda group: group.ci95[0]),
        in_percent("high", "upper end of its 95% interval", "to (%)", format="+.2~f",
                   of=lambda group: group.ci95[1]),
        DataColumn("who", "slower as a whole, or the others", kind="name",
                   of=lambda group: "slower as a whole" if group.slow else "the others"),
    ]  # fmt: skip
    plot = Plot.of(shown, columns, step=24)
    x = plot.axis("gain", "difference from the median group (%)", nice=True, zero=True, padding=20,
                  grid=True, format="+.6~g")  # fmt: skip
    hue = plot.hue("who")
    plot.share(y=plot.names("group", label_limit=260, ticks=False)).level(x=0, width=1)
    plot.intervals("low", "high", x=x, colour=hue)
    plot.dots(
        size=60, opacity=1, x=x, colour=hue,
        tips=("group", "nodes", "resource", "gain", "low", "high"),
    )  # fmt: skip
    slow = [group.title for group in shown if group.slow]
    left_out = len(groups) - len(shown)
    more = f" {counted(left_out, 'group')} with larger p not shown." if left_out else ""
    return plot.figure(
        "node-groups",
        "Groups of nodes",
        caption="Each group's deviation from the median group, in the resource in which the slow "
        f"group is slow, with its 95% interval. Further right is better.{more}",
        alt=f"Deviations of {counted(len(shown), 'group')} of nodes; slower as a whole: "
        f"{', '.join(slow) or 'none'}.",
    )

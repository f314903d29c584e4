"""Figure of groups of nodes: each group's deviation from the median group, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, colour
from assay.subjects.nodes.model import NodeGroup
from assay.units import counted

# Groups that fit; those with the smallest p are shown.
_MAX_GROUPS = 40
_PERCENT = {"gain": "percent", "low": "percent_low", "high": "percent_high"}


def groups_figure(groups: Sequence[NodeGroup]) -> Figure:
    """A row per group: its deviation in what it is slow in, that of the others in what the first
    group is slow in. ``groups``: not empty, the slow ones first.
    """
    shown = sorted(groups, key=lambda group: not group.slow and group.p_adjusted)[:_MAX_GROUPS]
    rows: list[Row] = [
        {
            "group": group.title,
            "resource": group.resource,
            "nodes": group.nodes,
            "gain": group.gain,
            "low": group.ci95[0],
            "high": group.ci95[1],
            "who": "slower as a whole" if group.slow else "the others",
        }
        for group in shown
    ]
    slow = [group.title for group in shown if group.slow]
    left_out = len(groups) - len(shown)
    more = f" {counted(left_out, 'group')} with larger p not shown." if left_out else ""
    y = {
        "field": "group",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 260, "ticks": False},
    }
    x = {
        "field": "percent",
        "type": "quantitative",
        "title": "difference from the median group (%)",
        "scale": {"nice": True, "zero": True, "padding": 20},
        "axis": {"grid": True, "format": "+.6~g"},
    }
    shades = colour("who", rows)
    spec = {
        "height": {"step": 24},
        "transform": [
            {"calculate": f"100 * datum.{field}", "as": name}
            for field, name in (
                ("gain", "percent"),
                ("low", "percent_low"),
                ("high", "percent_high"),
            )
        ],
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "rule", "strokeDash": [6, 4]},
                "encoding": {"x": {"datum": 0}, "y": {"value": 0}, "y2": {"value": "height"}},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 1.5},
                "encoding": {
                    "x": {**x, "field": "percent_low"},
                    "x2": {"field": "percent_high"},
                    "color": shades,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {
                    "x": x,
                    "color": shades,
                    "tooltip": [
                        {"field": "group", "title": "group"},
                        {"field": "nodes", "title": "nodes"},
                        {"field": "resource", "title": "in"},
                        {"field": "percent", "title": "deviation (%)", "format": "+.2~f"},
                        {"field": "percent_low", "title": "from (%)", "format": "+.2~f"},
                        {"field": "percent_high", "title": "to (%)", "format": "+.2~f"},
                    ],
                },
            },
        ],
    }
    return Figure(
        id="node-groups",
        title="Groups of nodes",
        caption="Each group's deviation from the median group, in what the slow group is slow in, "
        f"with its 95% interval. Further right is better.{more}",
        alt=f"Deviations of {counted(len(shown), 'group')} of nodes; slower as a whole: "
        f"{', '.join(slow) or 'none'}.",
        fields=[
            Field("group", "", "what the group is, and its name"),
            Field("resource", "", "the resource or cell"),
            Field("nodes", "", "the group's nodes"),
            Field("gain", "1", "relative deviation from the median group; positive is better"),
            Field("low", "1", "lower end of its 95% interval"),
            Field("high", "1", "upper end of its 95% interval"),
            Field("who", "", "slower as a whole, or the others"),
        ],
        rows=rows,
        spec=spec,
    )

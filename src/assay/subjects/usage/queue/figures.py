"""Figures of the scheduler's model: waits by policy and beside the real ones, what-ifs."""

from __future__ import annotations

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, duration_axis
from assay.subjects.usage.queue.model import QueueFindings
from assay.subjects.usage.queue.words import percent, seconds, wait_at
from assay.usage.analysis.model import LEVELS
from assay.usage.queue.model import QueueMeasure

REAL = "real"


def figures(found: QueueFindings) -> list[Figure]:
    """Waits by policy, and what-ifs if there are any with a change."""
    drawn = [waits_figure(found), what_ifs_figure(found)]
    return [figure for figure in drawn if figure is not None]


def waits_figure(found: QueueFindings) -> Figure:
    """The distribution of waits by each policy and in reality."""
    measures: list[tuple[str, QueueMeasure]] = [
        (each.name, each.measure) for each in found.policies if each.measure.jobs
    ]
    if found.real is not None:
        measures.insert(0, (REAL, found.real))
    rows: list[Row] = [
        {"policy": name, "share": level, "wait": value}
        for name, measure in measures
        for level, value in zip(LEVELS, measure.wait_quantiles, strict=True)
    ]
    spec: Spec = {
        "height": 240,
        "transform": [
            {"calculate": "max(datum.wait, 1)", "as": "shown"},
            {"calculate": "100 * datum.share", "as": "percent"},
        ],
        "mark": {"type": "line", "interpolate": "step-before"},
        "encoding": {
            "x": duration_axis("wait"),
            "y": {"field": "percent", "type": "quantitative", "title": "share of the jobs (%)",
                  "axis": {"grid": True, "tickCount": 5}},
            "order": {"field": "share", "type": "quantitative"},
            "color": {"field": "policy", "type": "nominal", "sort": None,
                      "legend": {"title": None, "symbolType": "stroke"}},
            "tooltip": [
                {"field": "policy", "title": "policy"},
                {"field": "wait", "title": "wait at most (s)", "format": ".4~g"},
                {"field": "percent", "title": "share of the jobs (%)", "format": ".3~g"},
            ],
        },
    }  # fmt: skip
    said = ", ".join(f"{name} {seconds(wait_at(measure, 0.5))}" for name, measure in measures)
    return Figure(
        id="queue-waits",
        title="Waits by policy",
        caption="Share of the jobs that wait at most this long when each policy schedules the same "
        "load; real: as the log has it. Waits below 1 s are drawn at 1 s.",
        alt=f"Waits by policy: medians {said}.",
        fields=[
            Field("policy", "", "the policy, or real"),
            Field("share", "1", "share of the jobs"),
            Field("wait", "s", "the quantile of the waits"),
        ],
        rows=rows,
        spec=spec,
    )


def what_ifs_figure(found: QueueFindings) -> Figure | None:
    """The change of the mean wait by each what-if, with its interval."""
    rows: list[Row] = [
        {
            "what": each.text,
            "change": each.wait,
            "low": None if each.wait_ci95 is None else each.wait_ci95[0],
            "high": None if each.wait_ci95 is None else each.wait_ci95[1],
        }
        for each in found.what_ifs
        if each.wait is not None
    ]
    if not rows:
        return None
    names: Spec = {
        "field": "what",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"ticks": False, "domain": False, "labelLimit": 260},
    }
    spec: Spec = {
        "height": 40 + 26 * len(rows),
        "transform": [
            {"calculate": "100 * datum.change", "as": "percent"},
            {"calculate": "isValid(datum.low) ? 100 * datum.low : null", "as": "from"},
            {"calculate": "isValid(datum.high) ? 100 * datum.high : null", "as": "to"},
        ],
        "encoding": {"y": names},
        "layer": [
            {
                "data": {"values": [{}]},
                "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5},
                "encoding": {
                    "x": {"datum": 0, "type": "quantitative"},
                    "y": {"value": 0},
                    "y2": {"value": "height"},
                },
            },
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"x": {"field": "from", "type": "quantitative"}, "x2": {"field": "to"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                "encoding": {
                    "x": {"field": "percent", "type": "quantitative",
                          "title": "change of the mean wait (%)", "axis": {"grid": True}},
                    "tooltip": [
                        {"field": "what", "title": "what if"},
                        {"field": "percent", "title": "change (%)", "format": ".3~g"},
                        {"field": "from", "title": "from (%)", "format": ".3~g"},
                        {"field": "to", "title": "to (%)", "format": ".3~g"},
                    ],
                },
            },
        ],
    }  # fmt: skip
    said = "; ".join(
        f"{each.text} {percent(each.wait, each.wait_ci95)}"
        for each in found.what_ifs
        if each.wait is not None
    )
    return Figure(
        id="queue-what-ifs",
        title="What if: the mean wait",
        caption=f"Change of the mean wait against {found.model} on the same load; lines: "
        "95% intervals over resampled weeks.",
        alt=f"Change of the mean wait: {said}.",
        fields=[
            Field("what", "", "what is changed"),
            Field("change", "1", "relative change of the mean wait"),
            Field("low", "1", "lower end of its 95% interval"),
            Field("high", "1", "upper end of its 95% interval"),
        ],
        rows=rows,
        spec=spec,
    )

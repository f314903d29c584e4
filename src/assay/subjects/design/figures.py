"""Figures of a design: price against rate, where time goes, what the shortlist costs."""

from __future__ import annotations

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, colour
from assay.subjects.design.model import ClusterDesign
from assay.units import counted, format_probability

_MOST_LABEL = 60


def figures(found: ClusterDesign) -> list[Figure]:
    """All that the findings have data for."""
    drawn = [_front(found) if len(found.front) > 1 else None, _likely(found), _times(found)]
    return [figure for figure in drawn if figure is not None]


def _front(found: ClusterDesign) -> Figure:
    rows: list[Row] = [
        {
            "interconnect": point.interconnect,
            "name": point.name,
            "nodes": point.nodes,
            "price": point.price,
            "power": point.power,
            "score": point.score,
        }
        for point in found.front
    ]
    spec: Spec = {
        "height": 300,
        "mark": {"type": "point", "filled": True, "size": 50},
        "encoding": {
            "x": {
                "field": "price",
                "type": "quantitative",
                "title": f"price ({found.currency})",
                "axis": {"tickCount": 5, "format": "~s"},
            },
            "y": {
                "field": "score",
                "type": "quantitative",
                "title": "rate, relative to the best",
                "axis": {"tickCount": 5, "format": ".0%"},
            },
            "color": colour("interconnect", rows),
            "tooltip": [
                {"field": "name", "title": "cluster"},
                {"field": "nodes", "title": "nodes"},
                {"field": "price", "title": f"price ({found.currency})", "format": ",.0f"},
                {"field": "power", "title": "power (W)", "format": ",.0f"},
                {"field": "score", "title": "rate", "format": ".1%"},
            ],
        },
    }
    return Figure(
        id="design-front",
        title="Price against rate",
        caption="Clusters of which no other is cheaper, draws less power and is as fast, by "
        "interconnect.",
        alt=f"{counted(len(rows), 'cluster')} of the Pareto front; the rate grows with the price.",
        fields=[
            Field("interconnect", "", "interconnect"),
            Field("name", "", "node, memory, disk and interconnect"),
            Field("nodes", "", "number of nodes"),
            Field("price", found.currency, "price of the cluster"),
            Field("power", "W", "power of the cluster"),
            Field("score", "1", "weighted geometric mean of the rates, relative to the best"),
        ],
        rows=rows,
        spec=spec,
    )


def _likely(found: ClusterDesign) -> Figure:
    rows: list[Row] = [
        {"name": f"{number}. {_short(one.name)}", "likely": one.likely, "score": one.score}
        for number, one in enumerate(found.best, 1)
    ]
    spec: Spec = {
        "height": {"step": 34},
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {
            "y": {
                "field": "name",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelLimit": 320, "ticks": False},
            },
            "x": {
                "field": "likely",
                "type": "quantitative",
                "title": "probability",
                "scale": {"domain": [0, 1]},
                "axis": {"tickCount": 5, "format": ".0%"},
            },
            "tooltip": [
                {"field": "name", "title": "cluster"},
                {"field": "likely", "title": "within 2% of the best", "format": ".1%"},
                {"field": "score", "title": "rate, relative to the best", "format": ".1%"},
            ],
        },
    }
    first = found.best[0]
    return Figure(
        id="design-likely",
        title="How sure the choice is",
        caption="Probability that the best cluster of each architecture is within 2% of the best "
        "of all in predicted rate, given the uncertainty of prices, figures and model.",
        alt=f"{first.name}: {format_probability(first.likely)}.",
        fields=[
            Field("name", "", "number and name of the architecture"),
            Field("likely", "1", "probability to be within 2% of the best"),
            Field("score", "1", "predicted rate, relative to the best"),
        ],
        rows=rows,
        spec=spec,
    )


def _times(found: ClusterDesign) -> Figure | None:
    rows: list[Row] = []
    for one in found.best:
        for rate in one.rates:
            for order, (part, value) in enumerate(rate.shares.items()):
                rows.append(
                    {
                        "name": _short(one.name),
                        "workload": rate.workload,
                        "part": part,
                        "order": order,
                        "share": value,
                    }
                )
    if not rows:
        return None
    spec: Spec = {
        "height": 220,
        "transform": [{"filter": f"datum.name == {_short(found.best[0].name)!r}"}],
        "mark": {"type": "bar"},
        "encoding": {
            "x": {
                "field": "workload",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelAngle": 0, "ticks": False},
            },
            "y": {
                "field": "share",
                "type": "quantitative",
                "stack": "zero",
                "title": "share of the time",
                "scale": {"domain": [0, 1]},
                "axis": {"tickCount": 5, "format": ".0%"},
            },
            "color": colour("part", rows),
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [
                {"field": "workload", "title": "workload"},
                {"field": "part", "title": "spent on"},
                {"field": "share", "title": "share", "format": ".1%"},
            ],
        },
    }
    return Figure(
        id="design-times",
        title="What the best cluster's time would be spent on",
        caption="Shares of the predicted time of each workload.",
        alt=f"Bars of {counted(len(found.best[0].rates), 'workload')}.",
        fields=[
            Field("name", "", "architecture"),
            Field("workload", "", "workload"),
            Field("part", "", "what time is spent on"),
            Field("order", "", "order of the parts"),
            Field("share", "1", "share of the time"),
        ],
        rows=rows,
        spec=spec,
    )


def _short(name: str) -> str:
    return name if len(name) <= _MOST_LABEL else f"{name[: _MOST_LABEL - 1]}…"

"""Figures of a design: price against rate, where time goes, what the shortlist costs."""

from __future__ import annotations

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row
from assay.charts.plot import Plot
from assay.subjects.design.model import ClusterDesign
from assay.units import counted, format_chance

_MOST_LABEL = 60


def figures(found: ClusterDesign) -> list[Figure]:
    """All figures for which the findings have data."""
    drawn = [
        _front(found) if len(found.front) > 1 else None,
        _likely(found) if found.best[0].likely is not None else None,
        _times(found),
    ]
    return [figure for figure in drawn if figure is not None]


def _front(found: ClusterDesign) -> Figure:
    price = f"price ({found.currency})"
    columns = [
        DataColumn(
            "interconnect", "interconnect", kind="name", of=lambda point: point.interconnect
        ),
        DataColumn(
            "name",
            "node, memory, disk and interconnect",
            title="cluster",
            kind="name",
            of=lambda point: point.name,
        ),
        DataColumn("nodes", "number of nodes", of=lambda point: point.nodes),
        DataColumn(
            "price",
            "price of the cluster",
            found.currency,
            price,
            ",.0f",
            of=lambda point: point.price,
        ),
        DataColumn(
            "power", "power of the cluster", "W", "power (W)", ",.0f", of=lambda point: point.power
        ),
        DataColumn(
            "score",
            "weighted geometric mean of the rates, relative to the best",
            "1",
            "rate",
            ".1%",
            of=lambda point: point.score,
        ),
    ]
    plot = Plot.of(found.front, columns, height=300)
    plot.dots(
        size=50,
        x=plot.axis("price", tick_count=5, format="~s"),
        y=plot.axis("score", "rate, relative to the best", tick_count=5, format=".0%"),
        colour=plot.hue("interconnect"),
        tips=("name", "nodes", "price", "power", "score"),
    )
    return plot.figure(
        "design-front",
        "Price against rate",
        caption="Pareto-optimal clusters by interconnect: no other cluster is cheaper, draws less "
        "power and is at least as fast.",
        alt=f"{counted(len(found.front), 'cluster')} on the Pareto front; the rate grows with "
        "the price.",
    )


def _likely(found: ClusterDesign) -> Figure:
    columns = [
        DataColumn(
            "name",
            "number and name of the architecture",
            title="cluster",
            kind="name",
            of=lambda one: f"{one[0]}. {_short(one[1].name)}",
        ),
        DataColumn(
            "likely",
            "probability of being within 2% of the best",
            "1",
            "within 2% of the best",
            ".1%",
            of=lambda one: one[1].likely,
        ),
        DataColumn(
            "score",
            "predicted rate, relative to the best",
            "1",
            "rate, relative to the best",
            ".1%",
            of=lambda one: one[1].rate,
        ),
    ]
    plot = Plot.of(enumerate(found.best, 1), columns, step=34)
    plot.bars(
        corner_radius_end=2,
        y=plot.names("name", label_limit=320, ticks=False),
        x=plot.axis("likely", "probability", domain=[0, 1], tick_count=5, format=".0%"),
        tips=("name", "likely", "score"),
    )
    first = found.best[0]
    return plot.figure(
        "design-likely",
        "Certainty of the choice",
        caption="Probability that the best cluster of each architecture is within 2% of the best "
        "predicted rate of all, given the uncertainty of prices, figures and model.",
        alt=f"{first.name}: {format_chance(first.likely)}.",
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
    columns = [
        DataColumn("name", "architecture", kind="name"),
        DataColumn("workload", "workload", kind="name"),
        DataColumn("part", "what the time is spent on", title="spent on", kind="name"),
        DataColumn("order", "order of the parts"),
        DataColumn("share", "share of the time", "1", format=".1%"),
    ]
    plot = Plot(columns, rows, height=220)
    plot.bars(
        only=f"datum.name == {_short(found.best[0].name)!r}",
        x=plot.names("workload", label_angle=0, ticks=False),
        y=plot.axis(
            "share", "share of the time", stack="zero", domain=[0, 1], tick_count=5, format=".0%"
        ),
        colour=plot.hue("part"),
        order="order",
        tips=("workload", "part", "share"),
    )
    return plot.figure(
        "design-times",
        "How the best cluster would spend its time",
        caption="Shares of the predicted time of each workload.",
        alt=f"Bars of {counted(len(found.best[0].rates), 'workload')}.",
    )


def _short(name: str) -> str:
    return name if len(name) <= _MOST_LABEL else f"{name[: _MOST_LABEL - 1]}…"

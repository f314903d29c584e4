"""The figure of message rates: rate against the number of senders."""

from __future__ import annotations

from assay.charts.axes import count_axis
from assay.charts.builder import Chart
from assay.charts.figure import Field, Figure
from assay.charts.marks import Row
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.network.rates.findings import RateFindings, senders
from assay.units import format_size, listed

_HEIGHT = 240


def figures(found: RateFindings) -> list[Figure]:
    """Rate against senders, a line for each size and kind of sender."""
    curves = [curve for curve in found.curves if len(curve.points) > 1]
    if not curves:
        return []
    nodes = len({curve.nodes for curve in curves}) > 1
    toolchains = len({p.summary.cell.toolchain for p in found.points}) > 1
    rows: list[Row] = []
    for curve in curves:
        kind = f"{curve.kind}, {format_size(curve.bytes)}"
        if nodes:
            kind += " · within a node" if curve.nodes == 1 else " · between nodes"
        for point in curve.points:
            by = f" · {point.summary.cell.toolchain}" if toolchains else ""
            rows.append(
                {
                    "senders": senders(point),
                    "curve": kind + by,
                    **statistics(point),
                }
            )
    counts = sorted({senders(point) for curve in curves for point in curve.points})
    names = list(dict.fromkeys(str(row["curve"]) for row in rows))
    chart = Chart(
        rows,
        count_axis("senders", "senders of a node", counts, nice=False),
        "message rate",
        "messages/s",
        hue="curve",
        names=[("curve", "messages"), ("senders", "senders")],
        logarithmic=True,
        height=_HEIGHT,
    )
    return [
        chart.lines()
        .whiskers(coloured=True)
        .figure(
            "message-rate-senders",
            "Message rate against number of senders",
            caption="Messages per second of all ranks or threads of a node that send. Both axes "
            f"logarithmic. {intervals_text(rows, 'whiskers')}",
            alt=f"Line chart of message rate against the number of senders, from {counts[0]} to "
            f"{counts[-1]}, of {listed(names)}.",
            fields=[
                Field("senders", "", "ranks of a node that send, times their threads"),
                Field("curve", "", "kind of sender and message size"),
            ],
        )
    ]

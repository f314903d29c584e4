"""Figures on waiting and on networks, from a trace."""

from __future__ import annotations

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row, scale_of
from assay.charts.plot import Plot
from assay.models.program.granularity import COARSE, FINE
from assay.subjects.profile.doubts import trace_doubts
from assay.subjects.profile.traced.model import NetworkSensitivity, TraceFindings
from assay.units import counted, format_quantity, format_share, listed

_MOST_ORIGINS = 8


def figures(found: TraceFindings) -> list[Figure]:
    """The figures for which the trace has data and that no doubt touches."""
    doubts = trace_doubts(found)
    drawn = [None if doubts.about("origin") else origins(found)]
    if found.network is not None:
        if not doubts.about("need"):
            drawn.append(latencies(found.network, found.wall))
        if not doubts.about("run time"):
            drawn.append(grains(found.network, found.ranks))
    return [figure for figure in drawn if figure is not None]


def origins(found: TraceFindings) -> Figure | None:
    """Waiting by its main origins; None if there is no waiting."""
    if not found.origins:
        return None
    rows: list[Row] = []
    for order, one in enumerate(found.origins[:_MOST_ORIGINS]):
        name = f"rank {one.rank}: {one.place}"
        for part, time in (("waiting for it", one.direct), ("handed on", one.handed_on)):
            rows.append({"origin": name, "order": order, "part": part, "kind": one.kind,
                         "time": time})  # fmt: skip
    sums = [one.direct + one.handed_on for one in found.origins]
    factor, prefix = scale_of(sums)
    columns = [
        DataColumn("origin", "rank and the place where it was late", kind="name"),
        DataColumn("order", "order of the origins"),
        DataColumn("part", "waiting for this rank, or handed on", title="waiting", kind="name"),
        DataColumn("kind", "computing or communication", title="late by", kind="name"),
        DataColumn("time", "waiting of all ranks", "s", f"time ({prefix}s)", ".4~g", factor=factor),
    ]
    plot = Plot(columns, rows, step=24)
    plot.bars(
        y=plot.names("origin", sort={"field": "order"}, label_limit=260, ticks=False),
        x=plot.axis("time", f"waiting of all ranks ({prefix}s)", stack="zero", tick_count=5),
        colour=plot.hue("part"),
        tips=("origin", "kind", "part", "time"),
    )
    return plot.figure(
        "trace-origins",
        "Waiting by origin",
        caption="Waiting caused by one rank in one place: directly, of ranks that wait for it, or "
        "handed on, of ranks that wait for those ranks.",
        alt=f"Bars of {counted(len(found.origins[:_MOST_ORIGINS]), 'origin')}; the first has "
        f"{format_share(found.origins[0].share)} of the waiting.",
    )


def latencies(network: NetworkSensitivity, wall: float) -> Figure | None:
    """Run time against latency between hosts."""
    if not network.messages:
        return None
    factor, prefix = scale_of([wall])
    columns = [
        DataColumn("latency", "latency L between hosts", "s", "latency (µs)", ".3~g", factor=1e-6,
                   of=lambda one: one.latency),
        DataColumn("seconds", "run time", "s", f"run time ({prefix}s)", ".4~g", factor=factor,
                   of=lambda one: one.seconds),
        DataColumn("messages", "messages in a row on the longest path, dT/dL",
                   title="messages in a row", format=",.0f", of=lambda one: one.messages),
    ]  # fmt: skip
    plot = Plot.of(network.latencies, columns, height=240)
    plot.line(
        point=True,
        x=plot.axis("latency", "latency between hosts (µs)", scale="log", tick_count=5,
                    format="~s"),
        y=plot.axis("seconds", zero=False, tick_count=5),
        tips=("latency", "seconds", "messages"),
    )  # fmt: skip
    needed = next((one.latency for one in network.needed if one.share == 0.05), None)
    costs = "" if needed is None else f" {format_quantity(needed, 's')} cost 5%."
    return plot.figure(
        "trace-latency",
        "Run time against latency",
        caption=f"From the execution graph, with the bandwidth of the run's network.{costs}",
        alt=f"Line from {format_quantity(network.latencies[0].seconds, 's')} with 1 µs to "
        f"{format_quantity(network.latencies[-1].seconds, 's')} with 10 ms.",
        width="half",
    )


def grains(network: NetworkSensitivity, ranks: int) -> Figure | None:
    """Computation ÷ communication against ranks, by interconnect, without doubtful ones."""
    doubtful = {one.interconnect for one in network.predictions if one.doubt}
    points = [one for one in network.grains if one.size == 1.0 and one.interconnect not in doubtful]
    if not points:
        return None
    columns = [
        DataColumn(
            "interconnect", "class of interconnect", kind="name", of=lambda one: one.interconnect
        ),
        DataColumn("ranks", "ranks", of=lambda one: one.ranks),
        DataColumn("ratio", "computation ÷ communication", format=".3~g", of=lambda one: one.ratio),
        DataColumn("low", "at least", title="at least", format=".3~g", of=lambda one: one.low),
        DataColumn("high", "at most", title="at most", format=".3~g", of=lambda one: one.high),
        DataColumn(
            "extrapolated", "whether it is far from the run", of=lambda one: one.extrapolated
        ),
    ]
    plot = Plot.of(points, columns, height=240)
    for limit in (FINE, COARSE):
        plot.level(y=limit, width=1, dash=(4, 4))
    place = {
        "x": plot.axis("ranks", scale="log", base=2, tick_count=6, format="~s"),
        "y": plot.axis("ratio", "computation ÷ communication", scale="log", tick_count=5,
                       format=".6~g"),
        "colour": plot.hue("interconnect"),
    }  # fmt: skip
    plot.line(**place)
    plot.dots(**place, tips=tuple(plot.columns))
    return plot.figure(
        "trace-grain",
        "Granularity against ranks",
        caption="Computation ÷ communication of the same problem on other numbers of ranks, by "
        "interconnect: fine grain at most 1, coarse at least 10 (dashed). The run had "
        f"{counted(ranks, 'rank')}; beyond 4 times more or fewer ranks, values are extrapolated."
        + (f" Left out as doubtful: {listed(sorted(doubtful))}." if doubtful else ""),
        alt=f"Lines of {counted(len({one.interconnect for one in points}), 'interconnect')} over "
        "ranks.",
        width="half",
    )

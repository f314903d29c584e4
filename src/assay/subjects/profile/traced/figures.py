"""Figures on waiting and on networks, from a trace."""

from __future__ import annotations

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, colour, scale_of
from assay.models.program.granularity import COARSE, FINE
from assay.subjects.profile.doubts import trace_doubts
from assay.subjects.profile.traced.model import NetworkSensitivity, TraceFindings
from assay.units import counted, format_quantity, format_share, listed

_MOST_ORIGINS = 8


def figures(found: TraceFindings) -> list[Figure]:
    """Those that the trace has data for, and that no doubt touches."""
    doubts = trace_doubts(found)
    drawn = [None if doubts.about("origin") else origins(found)]
    if found.network is not None:
        if not doubts.about("need"):
            drawn.append(latencies(found.network, found.wall))
        if not doubts.about("run time"):
            drawn.append(grains(found.network, found.ranks))
    return [figure for figure in drawn if figure is not None]


def origins(found: TraceFindings) -> Figure | None:
    """Waiting by its main origins; None without waiting."""
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
    spec: Spec = {
        "height": {"step": 24},
        "transform": [{"calculate": f"datum.time / {factor!r}", "as": "shown"}],
        "mark": {"type": "bar"},
        "encoding": {
            "y": {"field": "origin", "type": "nominal", "sort": {"field": "order"}, "title": None,
                  "axis": {"labelLimit": 260, "ticks": False}},
            "x": {"field": "shown", "type": "quantitative", "stack": "zero",
                  "title": f"waiting of all ranks ({prefix}s)", "axis": {"tickCount": 5}},
            "color": colour("part", rows),
            "tooltip": [
                {"field": "origin", "title": "origin"},
                {"field": "kind", "title": "late by"},
                {"field": "part", "title": "waiting"},
                {"field": "shown", "title": f"time ({prefix}s)", "format": ".4~g"},
            ],
        },
    }  # fmt: skip
    return Figure(
        id="trace-origins",
        title="Waiting by origin",
        caption="Waiting that goes back to one rank and place: of ranks that wait for it, and of "
        "ranks that wait for these.",
        alt=f"Bars of {counted(len(found.origins[:_MOST_ORIGINS]), 'origin')}; the first has "
        f"{format_share(found.origins[0].share)} of the waiting.",
        fields=[
            Field("origin", "", "rank, and the place where it was late"),
            Field("order", "", "order of the origins"),
            Field("part", "", "waiting for this rank, or handed on"),
            Field("kind", "", "computing or communication"),
            Field("time", "s", "waiting of all ranks"),
        ],
        rows=rows,
        spec=spec,
    )


def latencies(network: NetworkSensitivity, wall: float) -> Figure | None:
    """Run time against latency between hosts."""
    if not network.messages:
        return None
    rows: list[Row] = [
        {"latency": one.latency, "seconds": one.seconds, "messages": one.messages}
        for one in network.latencies
    ]
    factor, prefix = scale_of([wall])
    spec: Spec = {
        "height": 240,
        "transform": [
            {"calculate": f"datum.seconds / {factor!r}", "as": "shown"},
            {"calculate": "datum.latency * 1e6", "as": "micro"},
        ],
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "micro", "type": "quantitative", "scale": {"type": "log"},
                  "title": "latency between hosts (µs)", "axis": {"tickCount": 5, "format": "~s"}},
            "y": {"field": "shown", "type": "quantitative", "scale": {"zero": False},
                  "title": f"run time ({prefix}s)", "axis": {"tickCount": 5}},
            "tooltip": [
                {"field": "micro", "title": "latency (µs)", "format": ".3~g"},
                {"field": "shown", "title": f"run time ({prefix}s)", "format": ".4~g"},
                {"field": "messages", "title": "messages in a row", "format": ",.0f"},
            ],
        },
    }  # fmt: skip
    needed = next((one.latency for one in network.needed if one.share == 0.05), None)
    costs = "" if needed is None else f" {format_quantity(needed, 's')} cost 5%."
    return Figure(
        id="trace-latency",
        title="Run time against latency",
        caption=f"By the execution graph, with the bandwidth of the run's network.{costs}",
        alt=f"Line from {format_quantity(network.latencies[0].seconds, 's')} with 1 µs to "
        f"{format_quantity(network.latencies[-1].seconds, 's')} with 10 ms.",
        fields=[
            Field("latency", "s", "latency L between hosts"),
            Field("seconds", "s", "run time"),
            Field("messages", "", "messages in a row on the longest path, dT/dL"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def grains(network: NetworkSensitivity, ranks: int) -> Figure | None:
    """Computation over communication against ranks, by interconnect without a doubt."""
    doubtful = {one.interconnect for one in network.predictions if one.doubt}
    points = [one for one in network.grains if one.size == 1.0 and one.interconnect not in doubtful]
    if not points:
        return None
    rows: list[Row] = [
        {"interconnect": one.interconnect, "ranks": one.ranks, "ratio": one.ratio,
         "low": one.low, "high": one.high, "extrapolated": one.extrapolated}
        for one in points
    ]  # fmt: skip
    x: Spec = {
        "field": "ranks", "type": "quantitative", "scale": {"type": "log", "base": 2},
        "title": "ranks", "axis": {"tickCount": 6, "format": "~s"},
    }  # fmt: skip
    y: Spec = {
        "field": "ratio", "type": "quantitative", "scale": {"type": "log"},
        "title": "computation ÷ communication", "axis": {"tickCount": 5, "format": ".6~g"},
    }  # fmt: skip
    limits: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeDash": [4, 4]},
            "encoding": {"y": {"datum": at, "type": "quantitative"}},
        }
        for at in (FINE, COARSE)
    ]
    hue = colour("interconnect", rows)
    spec: Spec = {
        "height": 240,
        "layer": [
            *limits,
            {"mark": {"type": "line"}, "encoding": {"x": x, "y": y, "color": hue}},
            {
                "mark": {"type": "point", "filled": True},
                "encoding": {
                    "x": x, "y": y, "color": hue,
                    "tooltip": [
                        {"field": "interconnect", "title": "interconnect"},
                        {"field": "ranks", "title": "ranks"},
                        {"field": "ratio", "title": "ratio", "format": ".3~g"},
                        {"field": "low", "title": "at least", "format": ".3~g"},
                        {"field": "high", "title": "at most", "format": ".3~g"},
                        {"field": "extrapolated", "title": "extrapolated"},
                    ],
                },
            },
        ],
    }  # fmt: skip
    return Figure(
        id="trace-grain",
        title="Granularity against ranks",
        caption="Computation ÷ communication of the same problem on other numbers of ranks, by "
        "interconnect: fine grain at most 1, coarse at least 10 (dashed). The run had "
        f"{counted(ranks, 'rank')}; beyond 4 times as many or as few it is extrapolated."
        + (f" Left out as doubtful: {listed(sorted(doubtful))}." if doubtful else ""),
        alt=f"Lines of {counted(len({row['interconnect'] for row in rows}), 'interconnect')} over "
        "ranks.",
        fields=[
            Field("interconnect", "", "class of interconnect"),
            Field("ranks", "", "ranks"),
            Field("ratio", "", "computation ÷ communication"),
            Field("low", "", "at least"),
            Field("high", "", "at most"),
            Field("extrapolated", "", "whether it is far from the run"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )

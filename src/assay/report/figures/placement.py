"""Placements: the surface that a search explored, and ratios as Luecke, Li & Cuma (2005)."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.placement_data import (
    METRIC,
    Comparison,
    Outcome,
    compared_name,
    how_text,
    name_of,
    outcomes,
    same_nodes,
    same_ranks,
    works,
)
from assay.answers.select import points
from assay.records.model import RunData
from assay.report.figures.crossed import crossed_figures
from assay.report.figures.placement_order import order_figures
from assay.report.figures.placement_speed import by_size, speed_figures
from assay.report.marks import (
    Row,
    Spec,
    colour,
    error_bars,
    level,
    ratio_fields,
    scaled_fields,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted

# Times the best, from which on the surface is one colour.
_WORST = 4.0
# A field's side in a heat map.
_SIDE = 44
_HALF = 7
# Columns that have room for words.
_ROOMY = 5
# Numbers of ranks a node that have a line for each work.
_MOST_LINES = 2


def placement_figures(cells: Sequence[CellSummary], run: RunData) -> list[Figure | None]:
    """Each search's surface, ratios over as many nodes and of as many ranks, orders, factors."""
    found = outcomes(cells, run)
    compared = works(cells)
    return [
        *(surface_figure(place, outcome, cells) for place, outcome in enumerate(found)),
        *ratio_figures("nodes", [c for work in compared for c in same_nodes(work)]),
        *ratio_figures("ranks", [c for work in compared for c in same_ranks(work)]),
        *speed_figures(compared),
        *order_figures(cells, run),
        *crossed_figures(cells, run),
    ]


def surface_figure(place: int, outcome: Outcome, cells: Sequence[CellSummary]) -> Figure | None:
    """Ranks × threads of one search; of several bindings, orders and adapters the best tried."""
    rows = _surface(outcome, cells)
    if outcome.best is None or len(rows) < 2:
        return None
    name = name_of(outcome.work)
    nodes = outcome.work.placement.nodes
    ranks = sorted({int(row["ppn"] or 0) for row in rows})
    threads = sorted({int(row["threads"] or 0) for row in rows}, reverse=True)
    field: Spec = {"scale": {"paddingInner": 0.06}}
    spec: Spec = {
        "height": max(_SIDE * len(threads), 2 * _SIDE),
        "encoding": {
            "x": {
                "field": "ppn",
                "type": "ordinal",
                "title": "ranks a node",
                "sort": ranks,
                "axis": {"labelAngle": 0, "ticks": False, "domain": False},
                **field,
            },
            "y": {
                "field": "threads",
                "type": "ordinal",
                "title": "threads a rank",
                "sort": threads,
                "axis": {"ticks": False, "domain": False, "grid": False},
                **field,
            },
            "tooltip": [
                {"field": "ppn", "title": "ranks a node"},
                {"field": "threads", "title": "threads a rank"},
                {"field": "how", "title": "best tried"},
                {"field": "state", "title": ""},
                {"field": "median", "title": "median (s)", "format": ".4~g"},
                {"field": "times", "title": "times the best", "format": ".3~f"},
                {"field": "tried", "title": "tried"},
                {"field": "launches", "title": "launches"},
            ],
        },
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.times)"}],
                "mark": {"type": "rect"},
                "encoding": {
                    "color": {
                        "field": "times",
                        "type": "quantitative",
                        "title": "times the best's time",
                        "scale": {
                            "type": "log",
                            "scheme": "viridis",
                            "reverse": True,
                            "domain": [1, _worst(rows)],
                            "clamp": True,
                        },
                        "legend": {"format": "~g", "gradientLength": 160, "tickCount": 4},
                    }
                },
            },
            {
                "transform": [{"filter": "!isValid(datum.times)"}],
                "mark": {"type": "rect", "fillOpacity": 0, "strokeDash": [3, 3], "strokeWidth": 1},
                "encoding": {"stroke": {"value": "#8a8f98"}},
            },
            {
                "transform": [
                    # In many columns there is no room for more than a failure's word.
                    {"filter": "datum.state === 'failed'"}
                    if len(ranks) > _ROOMY
                    else {"filter": "!isValid(datum.times)"}
                ],
                "mark": {"type": "text", "fontSize": 10},
                "encoding": {"text": {"field": "state"}},
            },
            {
                "transform": [
                    {"filter": "isValid(datum.times)"},
                    {"calculate": "format(datum.times, '.2f')", "as": "told"},
                ],
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {
                    "text": {"field": "told"},
                    "color": {
                        "condition": {"test": f"datum.times > {_middle(rows)!r}", "value": "white"},
                        "value": "#1b1f24",
                    },
                },
            },
            {
                "transform": [{"filter": "datum.best"}],
                "mark": {"type": "rect", "fillOpacity": 0, "strokeWidth": 3},
                "encoding": {"stroke": {"value": "#D55E00"}},
            },
        ],
    }
    untried = sum(1 for row in rows if row["times"] is None)
    return Figure(
        id=f"placement-surface-{place + 1}",
        title=f"{name} on {counted(nodes, 'node')}: the placements that were tried",
        caption="Median time over that of the chosen placement, which is framed; of several "
        "bindings, orders and adapters the best that was tried. From 4 on all is one colour. "
        "Dashed: not tried, or failed.",
        alt=f"Heat map of the time of {name} over ranks a node and threads a rank; best with "
        f"{how_text(outcome.best.placement)}; {untried} of {len(rows)} fields were not tried.",
        fields=[
            Field("ppn", "", "ranks a node"),
            Field("threads", "", "threads a rank"),
            Field("how", "", "the best placement tried with these"),
            Field("state", "", "whether it was tried, and whether it failed"),
            Field("median", "s", "median over launches of its time; empty where not measured"),
            Field("times", "", "the same over that of the chosen placement"),
            Field("tried", "", "how many placements with these were tried, of how many"),
            Field("launches", "", "number of launches"),
            Field("best", "", "whether the chosen placement is among these"),
        ],
        rows=rows,
        spec=spec,
        width="half" if len(ranks) <= _HALF else "full",
    )


def _surface(outcome: Outcome, cells: Sequence[CellSummary]) -> list[Row]:
    """A row for each pair of ranks and threads."""
    if outcome.best is None or outcome.point is None:
        return []
    ids = outcome.search.ids
    kernel = outcome.work.kernel
    measured = {p.summary.id: p for p in points(cells, kernel, METRIC) if p.summary.id in ids}
    failed = {cell.id for cell, _ in outcome.failed}
    groups: dict[tuple[int, int], list[str]] = {}
    places = {cell.id: cell.placement for cell in outcome.search.cells}
    for name, placement in places.items():
        groups.setdefault((placement.ppn, placement.threads), []).append(name)
    rows: list[Row] = []
    for (ppn, threads), names in sorted(groups.items()):
        here = [measured[name] for name in names if name in measured]
        best = min(here, key=lambda point: point.metric.median, default=None)
        broken = sum(name in failed for name in names)
        if outcome.best.id in names:
            best = outcome.point
        state = "measured" if best else "failed" if broken == len(names) else "not tried"
        rows.append(
            {
                "ppn": ppn,
                "threads": threads,
                "how": how_text(places[best.summary.id]) if best else "",
                "state": state,
                "median": best.metric.median if best else None,
                "times": best.metric.median / outcome.point.metric.median if best else None,
                "tried": f"{len(here) + broken} of {len(names)}",
                "launches": best.metric.n if best else 0,
                "best": outcome.best.id in names,
            }
        )
    return rows


def _worst(rows: Sequence[Row]) -> float:
    """Where the colours end."""
    times = [float(row["times"]) for row in rows if isinstance(row["times"], float)]
    return min(max([1.1, *times]), _WORST)


def _middle(rows: Sequence[Row]) -> float:
    """From where on the ground is so dark that words on it are white."""
    return float(_worst(rows) ** 0.45)


def ratio_figures(fixed: str, compared: Sequence[Comparison]) -> list[Figure | None]:
    """A figure of each benchmark's largest problem class, one of the next smaller ones, …"""
    return [ratio_figure(fixed, found, place) for place, found in enumerate(by_size(compared))]


def ratio_figure(fixed: str, compared: Sequence[Comparison], place: int = 0) -> Figure | None:
    """Ratios on as many ``nodes`` or of as many ``ranks``: bars for one such number, else lines.

    Lines are those of two ranks a node and of the most, if there are many more. ``place``: how many
    problem classes are larger.
    """
    numbers = {_fixed_count(fixed, found) for found in compared}
    most = max((c.above.summary.cell.placement.ppn for c in compared), default=0)
    several = len({c.above.summary.cell.placement.ppn for c in compared})
    if len(numbers) > 1 and several > _MOST_LINES:
        compared = [c for c in compared if c.above.summary.cell.placement.ppn in (2, most)]
    if not compared:
        return None
    rows: list[Row] = []
    for found in compared:
        low, high = found.interval or (None, None)
        placement = found.above.summary.cell.placement
        rows.append(
            {
                "work": compared_name(found, compared),
                "count": _fixed_count(fixed, found),
                "ppn": f"{placement.ppn} ranks a node",
                "median": found.value,
                "low": low,
                "high": high,
                "launches": found.launches,
            }
        )
    counts = sorted({int(row["count"] or 0) for row in rows})
    told = [
        {"field": "work", "title": "work"},
        {"field": "count", "title": fixed},
        {"field": "ppn", "title": "over 1 rank a node"},
        {"field": "y", "type": "quantitative", "title": "ratio", "format": ".4~g"},
        {"field": "interval", "title": "95% interval"},
        {"field": "launches", "title": "launches"},
    ]
    y: Spec = {
        "field": "y",
        "type": "quantitative",
        "title": "performance over 1 rank a node",
        "scale": {"zero": True, "nice": True},
        "axis": {"tickCount": 6},
    }
    layers = _bars(rows, y, told) if len(counts) == 1 else _lines(rows, fixed, counts, y, told)
    same = "as many nodes" if fixed == "nodes" else "as many ranks on fewer nodes"
    paper = "figures 1.B.a to 6.B.a" if fixed == "nodes" else "figures 1.B.c to 6.B.c"
    return Figure(
        id=f"placement-ratio-{fixed}{f'-{place + 1}' if place else ''}",
        title=f"Performance with several ranks a node over one, {same}"
        + ", smaller classes" * bool(place),
        caption="At 1 (dashed) the further ranks bring nothing. 95% intervals of the ratio. After "
        f"Luecke, Li & Cuma (2005), {paper}.",
        alt=f"Performance ratios over 1 rank a node, {same}, from "
        f"{min(c.value for c in compared):.2f} to {max(c.value for c in compared):.2f}.",
        fields=[
            Field("work", "", "benchmark and class, or command"),
            Field("count", "", f"the number of {fixed}, which is the same on both sides"),
            Field("ppn", "", "ranks a node of the numerator; 1 in the denominator"),
            *ratio_fields("ratio of performance: time at 1 rank a node over time at several"),
        ],
        rows=rows,
        spec={"height": 260, "transform": scaled_fields(1.0), "layer": layers},
        width="half" if len(rows) <= 2 * _HALF and len(counts) == 1 else "full",
    )


def _bars(rows: Sequence[Row], y: Spec, told: Sequence[Spec]) -> list[Spec]:
    """Works side by side, a bar for each number of ranks a node."""
    place: Spec = {
        "x": {
            "field": "work",
            "type": "nominal",
            "sort": None,
            "title": None,
            "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 8},
            "scale": {"paddingInner": 0.3, "paddingOuter": 0.15},
        },
        "xOffset": {"field": "ppn", "sort": None, "scale": {"paddingInner": 0.08}},
    }
    whiskers = error_bars()
    return [
        {
            "mark": {"type": "bar", "cornerRadiusEnd": 2},
            "encoding": {**place, "y": y, "color": colour("ppn", rows), "tooltip": list(told)},
        },
        {**whiskers, "encoding": place},
        level(1.0),
    ]


def _lines(
    rows: Sequence[Row], fixed: str, counts: Sequence[int], y: Spec, told: Sequence[Spec]
) -> list[Spec]:
    """A line over the fixed numbers for each work and number of ranks a node."""
    x: Spec = {
        "field": "count",
        "type": "quantitative",
        "title": fixed,
        "scale": {"type": "log", "base": 2, "domain": [counts[0], counts[-1]], "padding": 12},
        "axis": {"values": list(counts), "format": "d", "labelOverlap": "greedy"},
    }
    ranks = list(dict.fromkeys(row["ppn"] for row in rows))
    shape: Spec = {
        "field": "ppn",
        "type": "nominal",
        "sort": None,
        "legend": {"title": None} if len(ranks) > 1 else None,
    }
    hue = colour("work", rows)
    return [
        {
            "mark": {"type": "line", "strokeWidth": 1.5},
            "encoding": {
                "x": x,
                "y": y,
                "color": hue,
                "detail": [{"field": "ppn", "type": "nominal"}],
            },
        },
        {**error_bars(), "encoding": {"x": x, "color": hue}},
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": hue, "shape": shape, "tooltip": list(told)},
        },
        level(1.0),
    ]


def _fixed_count(fixed: str, found: Comparison) -> int:
    placement = found.above.summary.cell.placement
    return placement.nodes if fixed == "nodes" else placement.ranks

"""Linpack: rate over order and over processes, where its time goes, and the TOP500's course."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.answers.linpack_data import Results, curve_of, growing, order_of, results, shares
from assay.answers.scaling import phase_shares
from assay.answers.select import Point, labeller, placement_text, quantity_text
from assay.records.model import RunData
from assay.report.figures.phases import PHASE_FIELDS, phase_rows, phase_spec, phases_among
from assay.report.figures.top500 import lists_figure
from assay.report.marks import (
    Row,
    Spec,
    colour,
    data_fields,
    error_bars,
    line,
    listed,
    named_level,
    order_axis,
    scale_of,
    scaled_fields,
    statistics,
    tooltip,
    y_axis,
)
from assay.report.model import Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted

# What a share of ``linpack_data.shares`` is called where it is a line.
_LINES = {
    "peak": "theoretical peak",
    "DGEMM × ranks": "DGEMM × ranks",
    "DGEMM × cores": "DGEMM × cores",
}


def linpack_figures(cells: Sequence[CellSummary], run: RunData) -> list[Figure | None]:
    """All of them; none where no usable cell measured Linpack."""
    known = results(cells)
    if known is None:
        return []
    return [
        order_figure(known, cells, run),
        ranks_figure(known),
        phases_figure(known),
        lists_figure(known.rmax.metric.median),
    ]


def order_figure(known: Results, cells: Sequence[CellSummary], run: RunData) -> Figure | None:
    """Rate over N: Rmax, half of it and N½ marked, the peak and DGEMM × ranks as lines."""
    curves = _curves(known)
    if not curves:
        return None
    rows: list[Row] = [
        {
            "n": order,
            "placement": name,
            **statistics(point),
            "rmax": point is known.rmax,
        }
        for name, curve in curves.items()
        for order, point in curve.items()
    ]
    limits = {s.name: s.of for s in shares(known, cells, run) if s.name in _LINES}
    rmax = known.rmax.metric.median
    factor, prefix = scale_of([rmax])
    unit = f"{prefix}flop/s"
    orders = sorted({order for curve in curves.values() for order in curve})
    half = known.half if known.half is not None and known.half.how != "bounded" else None
    x = {"field": "n", "type": "quantitative", "title": "order N", **order_axis(orders)}
    hue = colour("placement", rows)
    y = y_axis(f"rate ({unit})", zero=True)
    layers: list[Spec] = [
        *(part for name, of in limits.items() for part in named_level(of / factor, _LINES[name])),
        *(_half_layers(rmax / 2 / factor, half.order, _half_name(half.how)) if half else []),
        error_bars(),
        {
            "mark": {"type": "line", "strokeWidth": 2, "point": {"filled": True, "size": 45}},
            "encoding": {
                "y": y,
                "color": hue,
                "tooltip": tooltip([("n", "N"), ("placement", "placement")], unit),
            },
        },
        {
            "transform": [{"filter": "datum.rmax"}],
            "mark": {"type": "point", "size": 220, "strokeWidth": 2, "filled": False},
            "encoding": {"y": {"field": "y", "type": "quantitative"}, "color": hue},
        },
        {
            "transform": [{"filter": "datum.rmax"}],
            "mark": {"type": "text", "align": "right", "baseline": "top", "dx": -2, "dy": 12},
            "encoding": {
                "y": {"field": "y", "type": "quantitative"},
                "text": {"value": "Rmax"},
            },
        },
    ]
    told = f"; half of it from N = {quantity_text(half.order, 'order')}" if half else ""
    dashes = [_LINES[name] for name in limits]
    return Figure(
        id="linpack",
        title="Linpack: rate over order",
        caption="Median over launches with 95% intervals. The ring marks Rmax"
        + (f", the dashed corner N½ ({half.how})" if half else "")
        + "."
        + (f" Dashed: {listed(dashes)}." if dashes else ""),
        alt=f"Line chart of the Linpack rate over order N, rising to "
        f"{quantity_text(rmax, 'flop/s')} at N = {known.nmax:,}{told}.",
        fields=[
            Field("n", "", "order that was solved"),
            Field("placement", "", "ranks and threads"),
            *data_fields("flop/s"),
            Field("rmax", "", "whether this is Rmax"),
        ],
        rows=rows,
        spec={
            "height": 300,
            "transform": scaled_fields(factor),
            "encoding": {"x": x},
            "layer": layers,
        },
    )


def _curves(known: Results) -> dict[str, Mapping[int, Point]]:
    """The curve of Rmax, and of every other placement and toolchain with two orders or more."""
    label = labeller(known.found)
    made: dict[str, Mapping[int, Point]] = {}
    for point in [known.rmax, *known.found]:
        curve = curve_of(known.found, point)
        if len(curve) > 1:
            made.setdefault(label(point), curve)
    return made


def _half_name(how: str) -> str:
    return "N½" if how == "interpolated" else "N½ (extrapolated)"


def _half_layers(at: float, order: float, name: str) -> list[Spec]:
    """From the axis at half of Rmax to the curve, and down to N½."""
    rule: Spec = {"type": "rule", "strokeDash": [2, 3], "strokeWidth": 1.5}
    corner = {"values": [{"n": order, "at": at, "zero": 0}]}
    y = {"field": "at", "type": "quantitative"}
    return [
        {
            "data": corner,
            "mark": rule,
            "encoding": {"x2": {"value": 0}, "y": y},
        },
        {"data": corner, "mark": rule, "encoding": {"y": y, "y2": {"field": "zero"}}},
        {
            "data": corner,
            "mark": {"type": "text", "align": "left", "baseline": "bottom", "dx": 5, "dy": -4},
            "encoding": {
                "y": {"field": "zero", "type": "quantitative"},
                "text": {"value": f"{name} = {order:,.0f}, half of Rmax"},
            },
        },
    ]


def ranks_figure(known: Results) -> Figure | None:
    """Rate over processes, or cores where threads kept them busy, with the ideal line."""
    by_cores = growing(known)
    if len(by_cores) < 2:
        return None
    counts = list(by_cores)
    plain = all(p.summary.cell.placement.threads == 1 for p in by_cores.values())
    rows: list[Row] = [
        {
            "cores": count,
            "placement": placement_text(point.summary.cell.placement),
            "toolchain": point.summary.cell.toolchain,
            "n": order_of(point),
            **statistics(point),
        }
        for count, point in by_cores.items()
    ]
    first = by_cores[counts[0]].metric.median
    factor, prefix = scale_of(point.metric.median for point in by_cores.values())
    unit = f"{prefix}flop/s"
    each = first / counts[0] / factor
    ideal = {
        "cores": counts[0],
        "to": counts[-1],
        "from": each * counts[0],
        "up": each * counts[-1],
    }
    x: Spec = {
        "field": "cores",
        "type": "quantitative",
        "scale": {"zero": False, "nice": False, "padding": 14},
        "axis": {"values": counts, "format": "d", "labelOverlap": "greedy"},
    }
    noun = "processes" if plain else "cores"
    orders = [order_of(point) for point in by_cores.values()]
    alike = len(set(orders)) == 1
    solved = (
        f"All solve N = {orders[0]:,}."
        if alike
        else (
            f"Each count solves an order of its own, from N = {min(orders):,} to {max(orders):,}."
        )
    )
    return Figure(
        id="linpack-ranks",
        title=f"Linpack: rate over {noun}",
        caption=f"The dashed line is perfect scaling from {counted(counts[0], 'core')}. {solved} "
        "Whiskers: 95% intervals.",
        alt=f"Line chart of the Linpack rate on {listed([str(count) for count in counts])} {noun} "
        "beside the ideal line.",
        fields=[
            Field("cores", "", "cores in use"),
            Field("placement", "", "ranks and threads"),
            Field("toolchain", "", "toolchain"),
            Field("n", "", "order that was solved"),
            *data_fields("flop/s"),
        ],
        rows=rows,
        spec={
            "height": 260,
            "transform": scaled_fields(factor),
            "encoding": {"x": {**x, "title": noun}},
            "layer": [
                {
                    "data": {"values": [ideal]},
                    "mark": {
                        "type": "rule",
                        "strokeDash": [6, 4],
                        "strokeWidth": 1.5,
                        "opacity": 0.6,
                    },
                    "encoding": {
                        "x2": {"field": "to"},
                        "y": {"field": "from", "type": "quantitative"},
                        "y2": {"field": "up"},
                    },
                },
                {
                    "data": {"values": [{**ideal, "cores": counts[-1]}]},
                    "mark": {"type": "text", "align": "right", "baseline": "bottom", "dx": -8},
                    "encoding": {
                        "y": {"field": "up", "type": "quantitative"},
                        "text": {"value": "ideal"},
                    },
                },
                error_bars(),
                line(
                    y_axis(f"rate ({unit})", zero=True),
                    colour("toolchain", rows),
                    tooltip([("cores", "cores"), ("placement", "placement"), ("n", "N")], unit),
                ),
            ],
        },
        width="half",
    )


def phases_figure(known: Results) -> Figure | None:
    """Where the time goes over N, at the placement of Rmax."""
    rows = [
        row
        for order, point in known.curve.items()
        for row in phase_rows(point, n=order)
        if row["share"]
    ]
    if not rows:
        return None
    x: Spec = {
        "field": "n",
        "title": "order N",
        "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 6, "labelOverlap": "greedy"},
    }
    update = phase_shares(known.rmax.summary).get("update", 0.0)
    return Figure(
        id="linpack-phases",
        title="Linpack: where the time goes",
        caption=f"Mean over ranks, on {placement_text(known.rmax.summary.cell.placement)}. The "
        "update is matrix products; all else is what it costs to get there.",
        alt=f"Stacked bars of the share of {listed(phases_among(rows))} in Linpack's time over "
        f"order N; at N = {known.nmax:,} the update takes {update:.0%}.",
        fields=[Field("n", "", "order that was solved"), *PHASE_FIELDS],
        rows=rows,
        spec=phase_spec(rows, x),
        width="half",
    )

"""Linpack: rate over order and over processes, phases of its time, and the TOP500 over time."""

from __future__ import annotations

from collections.abc import Mapping

from assay.charts.axes import order_axis
from assay.charts.builder import STATISTICS, Chart, numbers
from assay.charts.figure import Field, Figure
from assay.charts.levels import corner, ideal_line, named_level
from assay.charts.marks import Row
from assay.kernels.naming import placement_text
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.common.selection import Point, labeller, quantity_text
from assay.questions.speed.benchmarks.phase_figures import phase_rows, phases_among, phases_figure
from assay.questions.speed.linpack.findings import LinpackFindings
from assay.questions.speed.linpack.results import order_of
from assay.questions.speed.linpack.shares import DGEMM_CORES, DGEMM_RANKS, THEORETICAL_PEAK
from assay.questions.speed.linpack.top500_figures import lists_figure
from assay.units import counted, listed

# Shares of Rmax whose divisor is drawn as a level, with the names of the levels.
_LEVELS = {
    THEORETICAL_PEAK: "theoretical peak",
    DGEMM_RANKS: DGEMM_RANKS,
    DGEMM_CORES: DGEMM_CORES,
}
# Relative distance of two levels within which their labels would overlap.
_CLOSE = 0.1


def figures(found: LinpackFindings) -> list[Figure]:
    """Rate over order and over processes, phases of the time, and the TOP500 lists."""
    drawn = [
        order_figure(found),
        ranks_figure(found),
        time_figure(found),
        lists_figure(found.top500),
    ]
    return [figure for figure in drawn if figure is not None]


def order_figure(found: LinpackFindings) -> Figure | None:
    """Rate over N: Rmax, half of it and N½ marked, the peak and DGEMM × ranks as lines."""
    label = labeller(found.measured)
    curves: dict[str, Mapping[int, Point]] = {}
    for curve in found.curves:
        curves.setdefault(label(next(iter(curve.values()))), curve)
    if not curves:
        return None
    rows: list[Row] = [
        {"n": order, "placement": name, **statistics(point), "rmax": point is found.rmax}
        for name, curve in curves.items()
        for order, point in curve.items()
    ]
    levels = {_LEVELS[s.name]: s.of for s in found.shares if s.name in _LEVELS}
    rmax = found.rmax.metric.median
    half = found.half if found.half is not None and found.half.how != "bounded" else None
    orders = sorted({order for curve in curves.values() for order in curve})
    chart = Chart(
        rows,
        numbers("n", "order N", **order_axis(orders)),
        "rate",
        "flop/s",
        hue="placement",
        names=[("n", "N"), ("placement", "placement")],
        values=[rmax],
        height=300,
    )
    highest = max(levels.values(), default=0.0)
    for name, of in levels.items():
        # Labels above lines that are close to each other would overlap.
        close = of < highest < (1 + _CLOSE) * of
        chart.add(*named_level(of / chart.factor, name, below=close))
    if half is not None:
        name = "N½" if half.how == "interpolated" else "N½ (extrapolated)"
        name += f" = {half.order:,.0f}, half of Rmax"
        chart.add(*corner("n", (half.order, rmax / 2 / chart.factor), name))
    chart.whiskers().lines(size=45).rings("rmax")
    place: dict[str, str | float] = {"align": "right", "baseline": "top", "dx": -2, "dy": 12}
    chart.words({"value": "Rmax"}, "datum.rmax", **place)
    reached = f"; half of it at N = {quantity_text(half.order, 'order')}" if half else ""
    return chart.figure(
        "linpack",
        "Linpack: rate over order",
        caption=f"Median over launches. {intervals_text(chart.rows, 'whiskers')} "
        "The ring marks Rmax"
        + (f", the dashed corner N½ ({half.how})" if half else "")
        + "."
        + (f" Dashed: {listed(list(levels))}." if levels else ""),
        alt=f"Line chart of the Linpack rate over order N; Rmax is {quantity_text(rmax, 'flop/s')} "
        f"at N = {found.nmax:,}{reached}.",
        fields=[
            Field("n", "", "order that was solved"),
            Field("placement", "", "ranks and threads"),
            STATISTICS,
            Field("rmax", "", "whether this is Rmax"),
        ],
        width="full",
    )


def ranks_figure(found: LinpackFindings) -> Figure | None:
    """Rate over processes, or over cores if ranks have several threads, with the ideal line."""
    scaling = found.scaling
    if len(scaling) < 2:
        return None
    counts = list(scaling)
    rows: list[Row] = [
        {
            "cores": count,
            "placement": placement_text(point.summary.cell.placement),
            "toolchain": point.summary.cell.toolchain,
            "n": order_of(point),
            **statistics(point),
        }
        for count, point in scaling.items()
    ]
    plain = all(p.summary.cell.placement.threads == 1 for p in scaling.values())
    noun = "processes" if plain else "cores"
    chart = Chart(
        rows,
        numbers(
            "cores",
            noun,
            scale={"zero": False, "nice": False, "padding": 14},
            axis={"values": counts, "format": "d", "labelOverlap": "greedy"},
        ),
        "rate",
        "flop/s",
        hue="toolchain",
        names=[("cores", "cores"), ("placement", "placement"), ("n", "N")],
    )
    first, last = counts[0], counts[-1]
    each = scaling[first].metric.median / first / chart.factor
    chart.add(*ideal_line("cores", (first, each * first), (last, each * last)))
    orders = [order_of(point) for point in scaling.values()]
    solved = (
        f"All runs solve N = {orders[0]:,}."
        if len(set(orders)) == 1
        else f"Each count solves its own order, from N = {min(orders):,} to {max(orders):,}."
    )
    return (
        chart.whiskers()
        .lines()
        .figure(
            "linpack-ranks",
            f"Linpack: rate over {noun}",
            caption=f"The dashed line is perfect scaling from {counted(first, 'core')}. {solved} "
            f"{intervals_text(chart.rows, 'whiskers')}",
            alt=f"Line chart of the Linpack rate on {listed([str(count) for count in counts])} "
            f"{noun}, with the ideal line.",
            fields=[
                Field("cores", "", "cores in use"),
                Field("placement", "", "ranks and threads"),
                Field("toolchain", "", "toolchain"),
                Field("n", "", "order that was solved"),
            ],
        )
    )


def time_figure(found: LinpackFindings) -> Figure | None:
    """The phases of the time over N, at the placement of Rmax."""
    rows = [
        row
        for order, phases in found.phases.items()
        for row in phase_rows(phases, n=order)
        if row["share"]
    ]
    if not rows:
        return None
    shares = found.rmax_phases.shares if found.rmax_phases is not None else {}
    return phases_figure(
        "linpack-phases",
        "Linpack: where the time goes",
        rows,
        Field("n", "", "order that was solved"),
        "order N",
        caption=f"Mean over ranks, on {placement_text(found.rmax.summary.cell.placement)}. The "
        "update is matrix products; all other phases are overhead.",
        alt=f"Stacked bars of the share of {listed(phases_among(rows))} in Linpack's time over "
        f"order N; at N = {found.nmax:,} the update takes {shares.get('update', 0.0):.0%}.",
    )

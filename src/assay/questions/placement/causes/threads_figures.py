"""Figure of threads, bindings and shared cores: time by component, relative to one rank per
core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.charts.columns import DataColumn, statistics_columns
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec
from assay.charts.plot import Plot
from assay.kernels.naming import layout_text
from assay.model.placement import Placement
from assay.models.placement.components import COMPONENTS
from assay.questions.placement.causes.breakdown import PlacedWork, WorkBreakdown
from assay.units import counted, listed

# Number of fastest placements that are drawn for each work; maximum number of works.
_FASTEST, _WORKS = 3, 12
# Height of a bar, and margin for axis and legend, in pixels.
_STEP, _MARGIN = 17, 24


def threads_figure(
    works: Sequence[WorkBreakdown], hue: Callable[[Sequence[Row]], Spec], least: float
) -> Figure | None:
    """Bars of time by component, relative to one rank per core, on one number of nodes.

    ``hue``: the colours of rows. ``least``: components with smaller shares everywhere are left out.
    None if no other placement could be broken down.
    """
    drawn = [work for work in works if work.others and len(work.plain) > 1]
    if not drawn:
        return None
    left_out = len(drawn) - _WORKS
    rows = [
        row for work in drawn[:_WORKS] for placed in _chosen(work) for row in _rows(work, placed)
    ]
    kept = {row["part"] for row in rows if abs(float(row["share"] or 0.0)) >= least}
    rows = [row for row in rows if row["part"] in kept]
    bars = len({row["label"] for row in rows})
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))
    nodes = counted(works[0].nodes, "node")
    wholes = [float(row["whole"] or 0.0) for row in rows]
    more = f" The table has {counted(left_out, 'more work')}." if left_out > 0 else ""
    return _plot(rows, hue(rows), parts).figure(
        f"placement-ways-{works[0].nodes}",
        f"Threads and bindings compared with one rank per core, {nodes}",
        caption="For each work: the most ranks per node, the fastest other placements measured, "
        "and the most threads per rank (16 × 8: 16 ranks per node × 8 threads). Ticks and numbers: "
        "the whole time; dashed: one rank per core. Threads: additional time compared with ranks "
        "of one thread on the same cores. Below 0: savings by caches and hardware threads. "
        f"Grey: unexplained.{more}",
        alt=f"Stacked bars of time by {listed(parts)} for {bars} placements on {nodes}, from "
        f"{min(wholes):.2f} to {max(wholes):.2f} times the time of one rank per core.",
    )


def _chosen(work: WorkBreakdown) -> list[PlacedWork]:
    """One rank per core, then the fastest others, then the most threads per rank."""
    most = None if work.threads is None else work.threads.placement
    last = [placed for placed in work.others if placed.placement == most]
    return list(dict.fromkeys([work.full, *work.others[:_FASTEST], *last]))


def _short(placement: Placement) -> str:
    """A placement in short form: ``64 ranks``, ``16 × 8, spread``."""
    counts = f"{placement.ppn} ranks"
    if placement.threads > 1:
        counts = f"{placement.ppn} × {placement.threads}"
    words = [
        counts,
        placement.binding if placement.binding != "compact" else "",
        "SMT" if placement.smt == "on" else "",
        "fitted" if "," in placement.order else placement.order.replace("block", ""),
    ]
    return ", ".join(filter(None, words))


def _rows(work: WorkBreakdown, placed: PlacedWork) -> list[Row]:
    whole = work.full.time
    how = layout_text(placed.placement)
    # Right end of the bars, the tick and the dashed line.
    above = sum(max(seconds.value, 0.0) for seconds in placed.seconds.values())
    end = max(above, placed.time, whole)
    rows: list[Row] = []
    for component in COMPONENTS:
        seconds = placed.seconds[component]
        low, high = seconds.ci95 or (None, None)
        rows.append(
            {
                "label": f"{work.name}: {_short(placed.placement)}",
                "work": work.name,
                "how": how,
                "part": str(component),
                "share": seconds.value / whole,
                "whole": placed.time / whole,
                "end": end / whole,
                "median": seconds.value,
                "low": low,
                "high": high,
                "launches": placed.launches,
            }
        )
    return rows


def _plot(rows: Sequence[Row], hue: Spec, parts: Sequence[str]) -> Plot:
    bars = len({row["label"] for row in rows})
    columns = [
        DataColumn("work", "benchmark and class", kind="name"),
        DataColumn("how", "ranks per node, threads per rank and binding", title="placement",
                   kind="name"),
        DataColumn("part", "component of the time", title="component", kind="name"),
        DataColumn("share", "component over the whole time of one rank per core"),
        DataColumn("whole", "whole time over the time of one rank per core"),
        *statistics_columns("s"),
        DataColumn("label", kind="name"),
        DataColumn("end"),
        DataColumn("order", shown=f"indexof({list(parts)!r}, datum.part)"),
        DataColumn("whole_text", shown="format(datum.whole, '.2f')"),
    ]  # fmt: skip
    plot = Plot(columns, rows, height=_STEP * bars + _MARGIN)
    y = plot.names("label", label_limit=240, ticks=False, grid=False, padding_inner=0.25,
                   padding_outer=0.12)  # fmt: skip
    x = plot.axis("share", "time, one rank per core = 1", grid=True, tick_count=8)
    plot.bars(
        x=x, y=y, colour=hue, order="order",
        tips=("work", "how", "part", "median", "interval", "launches"),
    )  # fmt: skip
    first = f"datum.part === {parts[0]!r}"
    plot.text("whole_text", only=first, x="end", y=y, align="left", dx=6, font_size=11)
    mark: Spec = {"thickness": 3, "size": _STEP - 2, "orient": "vertical", "opacity": 1}
    plot.ticks(only=first, x="whole", y=y, **mark)
    return plot.level(x=1.0)

"""Figure of threads, bindings and shared cores against one rank per core: time by component."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, data_fields, scaled_fields, vertical_level
from assay.kernels.naming import layout_text
from assay.model.placement import Placement
from assay.models.placement.components import COMPONENTS
from assay.questions.placement.causes.breakdown import PlacedWork, WorkBreakdown
from assay.units import counted, listed

# Number of the fastest placements drawn for each work; maximum number of works.
_FASTEST, _WORKS = 3, 12
# Height of a bar, and margin for axis and legend, in pixels.
_STEP, _MARGIN = 17, 24


def threads_figure(
    works: Sequence[WorkBreakdown], hue: Callable[[Sequence[Row]], Spec], least: float
) -> Figure | None:
    """Bars of time by component, relative to one rank per core, on one number of nodes.

    ``hue``: the colours of rows; ``least``: a component with a smaller share everywhere is left
    out. None if no other placement could be broken down.
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
    bars = list(dict.fromkeys(str(row["label"]) for row in rows))
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))
    nodes = counted(works[0].nodes, "node")
    best = min(rows, key=lambda row: float(row["whole"] or 0.0))
    more = f" {counted(left_out, 'more work')} are in the table." if left_out > 0 else ""
    return Figure(
        id=f"placement-ways-{works[0].nodes}",
        title=f"Threads and bindings compared with one rank per core, {nodes}",
        caption="For each work: the most ranks per node, the fastest other placements measured, "
        "and the most threads per rank (16 × 8: 16 ranks per node × 8 threads). Ticks and numbers: "
        "the whole time; dashed: one rank per core. Threads: additional time relative to ranks of "
        "one thread on the same cores. Below 0: savings by caches and hardware threads. "
        f"Grey: unexplained.{more}",
        alt=f"Stacked bars of time by {listed(parts)} for {len(bars)} placements on {nodes}; the "
        f"shortest is {best['label']}, {best['whole']:.2f} times that of one rank per core.",
        fields=[
            Field("work", "", "benchmark and class"),
            Field("how", "", "ranks per node, threads per rank and binding"),
            Field("part", "", "component of the time"),
            Field("share", "", "component over the whole time of one rank per core"),
            Field("whole", "", "whole time over that of one rank per core"),
            *data_fields("s"),
        ],
        rows=rows,
        spec=_spec(hue(rows), len(bars), parts),
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


def _spec(hue: Spec, bars: int, parts: Sequence[str]) -> Spec:
    y: Spec = {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 240, "ticks": False, "grid": False},
        "scale": {"paddingInner": 0.25, "paddingOuter": 0.12},
    }
    x: Spec = {
        "type": "quantitative",
        "title": "time, one rank per core = 1",
        "axis": {"grid": True, "tickCount": 8},
    }
    return {
        "height": _STEP * bars + _MARGIN,
        "transform": [
            {"calculate": f"indexof({list(parts)!r}, datum.part)", "as": "order"},
            *scaled_fields(1.0),
        ],
        "layer": [
            {
                "mark": {"type": "bar"},
                "encoding": {
                    "y": y,
                    "x": {"field": "share", **x},
                    "color": hue,
                    "order": {"field": "order", "type": "quantitative"},
                    "tooltip": [
                        {"field": "work", "title": "work"},
                        {"field": "how", "title": "placement"},
                        {"field": "part", "title": "component"},
                        {
                            "field": "y",
                            "type": "quantitative",
                            "title": "median (s)",
                            "format": ".4~g",
                        },
                        {"field": "interval", "title": "95% interval (s)"},
                        {"field": "launches", "title": "launches"},
                    ],
                },
            },
            {
                "transform": [
                    {"filter": f"datum.part === {parts[0]!r}"},
                    {"calculate": "format(datum.whole, '.2f')", "as": "label_text"},
                ],
                "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 11},
                "encoding": {
                    "y": y,
                    "x": {"field": "end", "type": "quantitative"},
                    "text": {"field": "label_text"},
                },
            },
            {
                "transform": [{"filter": f"datum.part === {parts[0]!r}"}],
                "mark": {
                    "type": "tick",
                    "thickness": 3,
                    "size": _STEP - 2,
                    "orient": "vertical",
                    "opacity": 1,
                },
                "encoding": {"y": y, "x": {"field": "whole", "type": "quantitative"}},
            },
            vertical_level(1.0),
        ],
    }

"""The placements that each search measured, over ranks per node and threads per rank."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec
from assay.charts.plot import Plot, fixed, where
from assay.kernels.naming import cell_name, layout_text
from assay.questions.placement.best.findings import BestFindings
from assay.questions.placement.best.outcomes import PlacementOutcome
from assay.units import counted

# Maximum time of the colour scale, relative to the best placement.
_WORST = 4.0
# Share of the logarithmic colour scale on which black text has a contrast of at least 4.5.
_DARK = 0.565
# Height of a row of the heat map, in pixels.
_ROW = 30
# Maximum number of columns at which "not tried" fits into a cell of the heat map.
_WORDS_FIT = 5


def figures(found: BestFindings) -> list[Figure]:
    """A heat map for each search."""
    rows = [_rows(outcome) for outcome in found.outcomes]
    times = [row["times"] for each in rows for row in each]
    worst = min(max([1.1, *(time for time in times if isinstance(time, float))]), _WORST)
    drawn = (
        _surface_figure(place, outcome, rows[place], worst)
        for place, outcome in enumerate(found.outcomes)
    )
    return [figure for figure in drawn if figure is not None]


def _surface_figure(
    place: int, outcome: PlacementOutcome, rows: list[Row], worst: float
) -> Figure | None:
    """Heat map of ranks × threads of one search.

    Of several bindings, orders and adapters, the best measured one is drawn. ``worst``: maximum
    time of the colour scale, which all searches share.
    """
    if outcome.best is None or len(rows) < 2:
        return None
    name = cell_name(outcome.work)
    panel = f"{name} on {counted(outcome.work.placement.nodes, 'node')}"
    ranks = sorted({int(row["ppn"] or 0) for row in rows})
    unmeasured = sum(1 for row in rows if row["times"] is None)
    return _plot(rows, ranks, worst).figure(
        f"placement-surface-{place + 1}",
        f"{panel}: time by ranks and threads per node",
        caption="Numbers: median time over the time of the chosen placement (framed), each with "
        "the best measured binding, order and adapter. Bright: as fast as the chosen placement; "
        f"dark: at least {worst:.3g} times its time. Dashed: not measured, or failed.",
        alt=f"Heat map of the time of {name} over ranks per node and threads per rank. Best: "
        f"{layout_text(outcome.best.placement)}; {unmeasured} of {len(rows)} combinations were not "
        "measured.",
        width="half",
        group="Time by ranks per node and threads per rank",
        panel=panel,
    )


def _rows(outcome: PlacementOutcome) -> list[Row]:
    """A row for each pair of ranks and threads."""
    if outcome.best is None or outcome.point is None:
        return []
    failed = {cell.id for cell, _ in outcome.failed}
    groups: dict[tuple[int, int], list[str]] = {}
    placements = {cell.id: cell.placement for cell in outcome.search.cells}
    for name, placement in placements.items():
        groups.setdefault((placement.ppn, placement.threads), []).append(name)
    rows: list[Row] = []
    for (ppn, threads), names in sorted(groups.items()):
        here = [outcome.measured[name] for name in names if name in outcome.measured]
        best = min(here, key=lambda point: point.metric.median, default=None)
        failures = sum(name in failed for name in names)
        if outcome.best.id in names:
            best = outcome.point
        state = "measured" if best else "failed" if failures == len(names) else "not tried"
        rows.append(
            {
                "ppn": ppn,
                "threads": threads,
                "how": layout_text(placements[best.summary.id]) if best else "",
                "state": state,
                "median": best.metric.median if best else None,
                "times": best.metric.median / outcome.point.metric.median if best else None,
                "tried": f"{len(here) + failures} of {len(names)}",
                "launches": best.metric.n if best else 0,
                "best": outcome.best.id in names,
            }
        )
    return rows


def _plot(rows: Sequence[Row], ranks: Sequence[int], worst: float) -> Plot:
    threads = sorted({int(row["threads"] or 0) for row in rows}, reverse=True)
    columns = [
        DataColumn("ppn", "ranks per node", title="ranks per node", kind="rank"),
        DataColumn("threads", "threads per rank", title="threads per rank", kind="rank"),
        DataColumn(
            "how", "the best placement measured with these", title="best measured", kind="name"
        ),
        DataColumn(
            "state", "whether it was measured, and whether it failed", title="", kind="name"
        ),
        DataColumn(
            "median",
            "median over launches of its time; empty if not measured",
            "s",
            "median (s)",
            ".4~g",
        ),
        DataColumn(
            "times",
            "ratio of this time to the time of the chosen placement",
            title="time relative to the best",
            format=".3~f",
        ),
        DataColumn(
            "tried",
            "number of placements measured, of all with these",
            title="measured",
            kind="name",
        ),
        DataColumn("launches", "number of launches"),
        DataColumn("best", "whether the chosen placement is among these"),
        DataColumn("label", shown="isValid(datum.times) ? format(datum.times, '.2f') : ''"),
    ]
    plot = Plot(columns, rows, height=max(_ROW * len(threads), 2 * _ROW))
    style: Spec = {"padding_inner": 0.06, "ticks": False, "domain_line": False}
    plot.share(
        x=plot.axis("ppn", sort=list(ranks), label_angle=0, **style),
        y=plot.axis("threads", sort=threads, grid=False, **style),
        tips=tuple(name for name in plot.columns if name not in ("best", "label")),
    )
    measured, unmeasured = "isValid(datum.times)", "!isValid(datum.times)"
    # No legend: each cell has its number.
    shade = plot.shade("times", scale="log", scheme="viridis", reverse=True, domain=[1, worst],
                       clamp=True)  # fmt: skip
    plot.boxes(only=measured, colour=shade)
    frame: Spec = {"fill_opacity": 0}
    plot.boxes(
        only=unmeasured, stroke=fixed("#8a8f98"), stroke_dash=[3, 3], stroke_width=1, **frame
    )
    # With many columns only "failed" fits.
    words = unmeasured if len(ranks) <= _WORDS_FIT else "datum.state === 'failed'"
    plot.text("state", only=words, font_size=10)
    # Above this, the background is dark and the text is white.
    dark = where(f"datum.times > {float(worst**_DARK)!r}", "white", "black")
    plot.text("label", only=measured, font_size=11, colour=dark)
    return plot.boxes(only="datum.best", stroke=fixed("#D55E00"), stroke_width=3, **frame)

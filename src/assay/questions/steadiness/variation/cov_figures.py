"""Coefficients of variation on one axis: cells, published systems, levels of a factor."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row
from assay.charts.plot import Plot
from assay.kernels.naming import kernel_code
from assay.questions.common.figure_rows import intervals_text
from assay.questions.steadiness.variation.cells import notable
from assay.questions.steadiness.variation.findings import VariationFindings
from assay.reference.variability import SOURCE, published_runs

_CELLS = 24
_LINE_HEIGHT = 20
_TICKS = [step * 10.0**power for power in range(-6, 2) for step in (1, 2, 5)]
# A logarithmic axis has no 0: a cell without variation is drawn at its lower end.
_MIN_COV = 1e-6
_HERE = "this machine"


def cov_figure(found: VariationFindings) -> Figure | None:
    """The coefficient of variation of each cell with its interval, then the published ones."""
    chosen = [each for each in notable(found.varied, _CELLS) if each.spread.cov is not None]
    if not chosen:
        return None
    rows = [
        cov_row(each.label, _HERE, each.spread.cov, each.spread.cov_ci95, each.spread.n)
        for each in chosen
    ]
    measured = list(rows)
    codes = {kernel_code(each.cell.kernel) for each in chosen}
    rows += [
        cov_row(f"{each.code}, {each.system}", SOURCE, each.cov, None, each.runs)
        for each in published_runs()
        if each.code in codes
    ]
    count = len(found.varied)
    return cov_plot(
        rows, "the cell; for published coefficients, code and system", "this machine, or the source"
    ).figure(
        "variation-cov",
        "Coefficient of variation of run times",
        caption=f"{intervals_text(measured, 'whiskers')} Published coefficients have no intervals."
        + (f" Drawn: the {_CELLS} most notable of {count} cells." if count > _CELLS else ""),
        alt=cov_alt("Coefficients of variation", rows),
    )


def cov_row(
    name: str, where: str, cov: float | None, ci95: tuple[float, float] | None, runs: int
) -> Row:
    """A coefficient as a row. ``where``: the category that its colour shows."""
    low, high = ci95 or (None, None)
    return {"name": name, "where": where, "cov": cov, "low": low, "high": high, "runs": runs}


def cov_alt(what: str, rows: Sequence[Row]) -> str:
    """The alternative text: the first six coefficients."""
    words = "; ".join(f"{row['name']} {float(row['cov'] or 0.0):.2%}" for row in rows[:6])
    return f"{what}: {words}."


def cov_plot(rows: Sequence[Row], name: str, where: str, joined: DataColumn | None = None) -> Plot:
    """A line per row: a dot at the coefficient, a rule over its interval.

    ``name`` and ``where``: meanings of these columns. ``joined``: the column whose equal values are
    joined by a dashed line.
    """
    low = min(float(row["low"] or row["cov"] or 0.0) for row in rows)
    least = max(low, _MIN_COV)
    columns = [
        *([] if joined is None else [joined]),
        DataColumn("name", name, title="cell", kind="name"),
        DataColumn("where", where, kind="name"),
        DataColumn("cov", "coefficient of variation of the times", "1", "coefficient of variation",
                   ".3~%", shown=f"max(datum.cov, {least!r})"),
        DataColumn("low", "lower end of its 95% interval; empty if unknown", "1", "from", ".3~%",
                   shown=f"isValid(datum.low) ? max(datum.low, {least!r}) : null"),
        DataColumn("high", "upper end of its 95% interval", "1", "to", ".3~%"),
        DataColumn("runs", "number of runs"),
    ]  # fmt: skip
    plot = Plot(columns, rows, height=_LINE_HEIGHT * len(rows))
    y = plot.names("name", label_limit=300, ticks=False)
    x = plot.axis("cov", scale="log", nice=False, padding=12, domain_min=least, values=_TICKS,
                  format="~%", label_overlap="greedy", grid=True)  # fmt: skip
    hue = plot.hue("where")
    if joined is not None:
        thin = {"stroke_width": 1, "stroke_dash": [3, 3], "opacity": 0.6}
        plot.line(x=x, y=y, detail=joined.name, **thin)
    plot.intervals("low", "high", x=x, width=2, y=y, colour=hue)
    tips = ("name", "cov", "low", "high", "runs")
    return plot.dots(size=60, opacity=1, x=x, y=y, colour=hue, tips=tips)

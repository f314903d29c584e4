"""Coefficients of variation on one axis: cells, published systems, levels of a factor."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.builder import numbers
from assay.charts.figure import Field, Figure
from assay.charts.layers import calculated, layer, logarithmic, tips
from assay.charts.marks import Row, Spec, colour
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

COV_FIELDS = (
    Field("cov", "1", "coefficient of variation of the times"),
    Field("low", "1", "lower end of its 95% interval; empty if unknown"),
    Field("high", "1", "upper end of its 95% interval"),
    Field("runs", "", "number of runs"),
)


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
    return Figure(
        id="variation-cov",
        title="Coefficient of variation of run times",
        caption=f"{intervals_text(measured, 'whiskers')} Published coefficients have none."
        + (f" The {_CELLS} most notable cells of {count}." if count > _CELLS else ""),
        alt=cov_alt("Coefficients of variation", rows),
        fields=[
            Field("name", "", "the cell; for published coefficients, code and system"),
            Field("where", "", "this machine, or the source"),
            *COV_FIELDS,
        ],
        rows=rows,
        spec=cov_spec(rows),
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


def cov_spec(rows: Sequence[Row], joined: str | None = None) -> Spec:
    """A line per row: a dot at the coefficient, a rule over its interval.

    ``joined``: the field whose equal values are joined by a dashed line.
    """
    low = min(float(row["low"] or row["cov"] or 0.0) for row in rows)
    least = max(low, _MIN_COV)
    y: Spec = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 300, "ticks": False},
    }
    style = logarithmic(_TICKS, "~%", padding=12, domainMin=least)
    style["axis"] |= {"labelOverlap": "greedy", "grid": True}
    x = numbers("shown", "coefficient of variation", **style)
    hue = colour("where", rows)
    lines: list[Spec] = []
    if joined is not None:
        dashed = {"type": "line", "strokeWidth": 1, "strokeDash": [3, 3], "opacity": 0.6}
        groups = [{"field": joined, "type": "nominal"}]
        lines.append(layer(dashed, {"y": y, "x": x, "detail": groups}))
    percent = ".3~%"
    return {
        "height": _LINE_HEIGHT * len(rows),
        "transform": calculated(
            {
                "shown": f"max(datum.cov, {least!r})",
                "shown_low": f"isValid(datum.low) ? max(datum.low, {least!r}) : null",
            }
        ),
        "layer": [
            *lines,
            layer(
                {"type": "rule", "strokeWidth": 2},
                {"y": y, "x": {**x, "field": "shown_low"}, "x2": {"field": "high"}, "color": hue},
                only="isValid(datum.low)",
            ),
            layer(
                {"type": "point", "filled": True, "size": 60, "opacity": 1},
                {
                    "y": y,
                    "x": x,
                    "color": hue,
                    "tooltip": tips(
                        ("name", "cell"),
                        ("cov", "coefficient of variation", percent),
                        ("low", "from", percent),
                        ("high", "to", percent),
                        ("runs", "runs"),
                    ),
                },
            ),
        ],
    }

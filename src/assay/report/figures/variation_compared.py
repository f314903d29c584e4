"""Coefficients of variation side by side: cells beside published systems, levels of factors."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.factors import Comparison
from assay.answers.study import Study
from assay.answers.variation import code_of, notable
from assay.reference.variability import SOURCE, published_runs
from assay.report.marks import Row, Spec, colour
from assay.report.model import Field, Figure

_CELLS, _COMPARISONS = 24, 16
_STEP = 20  # height of a line of text with room around it
_HERE = "this machine"


def cov_figure(study: Study) -> Figure | None:
    """The coefficient of variation of each cell with its interval, published ones below."""
    chosen = [each for each in notable(study, _CELLS) if each.spread.cov is not None]
    if not chosen:
        return None
    rows: list[Row] = [
        _row(each.label, _HERE, each.spread.cov, each.spread.cov_ci95, len(each.times))
        for each in chosen
    ]
    codes = {code_of(each.cell) for each in chosen}
    rows += [
        _row(f"{found.code}, {found.system}", SOURCE, found.cov, None, found.runs)
        for found in published_runs()
        if found.code in codes
    ]
    low = min(float(row["low"] or row["cov"] or 0.0) for row in rows)
    return Figure(
        id="variation-cov",
        title="Coefficient of variation of run times",
        caption="Whiskers: 95% intervals; the published ones have none."
        + (
            f" The {_CELLS} cells with most to see of {len(study.varied)}."
            if len(study.varied) > _CELLS
            else ""
        ),
        alt="Coefficients of variation: "
        + "; ".join(f"{row['name']} {float(row['cov'] or 0.0):.2%}" for row in rows[:6])
        + ".",
        fields=[
            Field("name", "", "what was measured; of published ones, on which system"),
            Field("where", "", "this machine, or the source"),
            *_COV_FIELDS,
        ],
        rows=rows,
        spec=_dots(rows, "where", low),
    )


def factor_figure(compared: Sequence[Comparison]) -> Figure | None:
    """The coefficient of variation at each level of each factor, the surest differences first."""
    chosen = compared[:_COMPARISONS]
    rows: list[Row] = [
        {
            "factor": each.name,
            **_row(
                f"{each.name}: {group.name}", f"level {place}", group.cov, group.cov_ci95, group.n
            ),
        }
        for each in chosen
        for place, group in enumerate(each.spread.groups, 1)
        if group.cov is not None
    ]
    if not rows:
        return None
    low = min(float(row["low"] or row["cov"] or 0.0) for row in rows)
    spec = _dots(rows, "where", low)
    spec["layer"].insert(
        0,
        {
            "mark": {"type": "line", "strokeWidth": 1, "strokeDash": [3, 3], "opacity": 0.6},
            "encoding": {
                "y": spec["layer"][-1]["encoding"]["y"],
                "x": spec["layer"][-1]["encoding"]["x"],
                "detail": [{"field": "factor", "type": "nominal"}],
            },
        },
    )
    return Figure(
        id="variation-factors",
        title="Variation before and after: the levels of each factor",
        caption="Coefficient of variation at each level, others pooled; whiskers: 95% intervals. "
        "Surest differences first."
        + (
            f" {_COMPARISONS} of {len(compared)} comparisons."
            if len(compared) > len(chosen)
            else ""
        ),
        alt="Coefficients of variation by level: "
        + "; ".join(f"{row['name']} {float(row['cov'] or 0.0):.2%}" for row in rows[:6])
        + ".",
        fields=[
            Field("factor", "", "which cells, and which factor"),
            Field("name", "", "the same with the level"),
            Field("where", "", "the how-many-th level, in the plan's order"),
            *_COV_FIELDS,
        ],
        rows=rows,
        spec=spec,
    )


_COV_FIELDS = [
    Field("cov", "1", "coefficient of variation of the times"),
    Field("low", "1", "lower end of its 95% interval; empty where none is known"),
    Field("high", "1", "upper end of it"),
    Field("runs", "", "number of runs"),
]


def _row(
    name: str, where: str, cov: float | None, ci95: tuple[float, float] | None, runs: int
) -> Row:
    low, high = ci95 or (None, None)
    return {"name": name, "where": where, "cov": cov, "low": low, "high": high, "runs": runs}


def _dots(rows: list[Row], hue: str, low: float) -> Spec:
    """A line a row: a dot at the coefficient, a rule over its interval."""
    y: Spec = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 300, "ticks": False},
    }
    ticks = [step * 10.0**power for power in range(-6, 2) for step in (1, 2, 5)]
    # A logarithmic axis has no place for nothing: a cell that never varied stands at its edge.
    least = max(low, 1e-6)
    x: Spec = {
        "type": "quantitative",
        "title": "coefficient of variation",
        "scale": {"type": "log", "nice": False, "padding": 12, "domainMin": least},
        "axis": {"values": ticks, "format": "~%", "labelOverlap": "greedy", "grid": True},
    }
    told = [
        {"field": "name", "title": "what"},
        {"field": "cov", "title": "coefficient of variation", "format": ".3~%"},
        {"field": "low", "title": "from", "format": ".3~%"},
        {"field": "high", "title": "to", "format": ".3~%"},
        {"field": "runs", "title": "runs"},
    ]
    shade = colour(hue, rows)
    return {
        "height": _STEP * len(rows),
        "transform": [
            {"calculate": f"max(datum.cov, {least!r})", "as": "shown"},
            {
                "calculate": f"isValid(datum.low) ? max(datum.low, {least!r}) : null",
                "as": "shown_low",
            },
        ],
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {
                    "y": y,
                    "x": {"field": "shown_low", **x},
                    "x2": {"field": "high"},
                    "color": shade,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {
                    "y": y,
                    "x": {"field": "shown", **x},
                    "color": shade,
                    "tooltip": told,
                },
            },
        ],
    }

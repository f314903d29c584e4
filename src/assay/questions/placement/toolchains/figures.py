"""Figure of the share that each factor explains of each program's variation over a plan."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, colour
from assay.questions.placement.toolchains.answer import sentence
from assay.questions.placement.toolchains.findings import CrossedFactors, ToolchainFindings

_STEP = 34
# Segments of a bar that are not a single factor.
TOGETHER, LEFT = "interactions", "residual"


def figures(found: ToolchainFindings) -> list[Figure]:
    """A bar for each program with the shares of all factors."""
    programs = found.programs
    factors = list(dict.fromkeys(name for each in programs for name in each.factors))
    rows = [row for each in programs for row in _rows(each, factors)]
    return [
        Figure(
            id="placement-variance",
            title="Shares of each program's variation over the plan",
            caption="Omega squared of the logarithms of times, by an analysis of variance. "
            "Interactions: of pairs of factors. Residual: variation between launches of the same "
            "cell, and interactions of three or more factors. The table has intervals and tests.",
            alt="Shares of variance: " + "; ".join(sentence(each) for each in programs[:4]) + ".",
            fields=[
                Field("work", "", "program and its class"),
                Field("factor", "", "factor; interactions of pairs of factors; residual"),
                Field("share", "1", "omega squared"),
                Field("low", "1", "lower end of its 95% interval; empty for sums"),
                Field("high", "1", "upper end of its 95% interval"),
            ],
            rows=rows,
            spec=_spec(rows, len(programs)),
            width="full",
        )
    ]


def _rows(each: CrossedFactors, factors: Sequence[str]) -> list[Row]:
    """Single factors in the run's order, then the sum of all interactions, then the residual."""
    alone = {e.factors[0]: e for e in each.anova.effects if len(e.factors) == 1}
    rows: list[Row] = []
    for name in factors:
        effect = alone.get(name)
        if effect is not None:
            low, high = effect.share_ci95 or (None, None)
            rows.append(_row(each, name, effect.share or 0.0, low, high))
    pairs = [e.share or 0.0 for e in each.anova.effects if len(e.factors) > 1]
    if pairs:
        rows.append(_row(each, TOGETHER, sum(pairs), None, None))
    explained = sum(float(row["share"] or 0.0) for row in rows)
    rows.append(_row(each, LEFT, max(1.0 - explained, 0.0), None, None))
    return rows


def _row(
    each: CrossedFactors, name: str, share: float, low: float | None, high: float | None
) -> Row:
    return {"work": each.title, "factor": name, "share": share, "low": low, "high": high}


def _spec(rows: Sequence[Row], programs: int) -> Spec:
    return {
        "height": _STEP * programs,
        "transform": [
            {"window": [{"op": "row_number", "as": "place"}]},
        ],
        "mark": {"type": "bar", "cornerRadius": 1},
        "encoding": {
            "y": {
                "field": "work",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"ticks": False, "labelLimit": 260},
                "scale": {"paddingInner": 0.3},
            },
            "x": {
                "field": "share",
                "type": "quantitative",
                "stack": "zero",
                "title": "share of the variation over the plan",
                "axis": {"format": ".0%", "grid": True},
                "scale": {"domain": [0, 1], "clamp": True},
            },
            "color": colour("factor", rows),
            "order": {"field": "place"},
            "opacity": {
                "condition": {"test": f"datum.factor === '{LEFT}'", "value": 0.25},
                "value": 1,
            },
            "tooltip": [
                {"field": "work", "title": "program"},
                {"field": "factor", "title": "factor"},
                {"field": "share", "title": "share", "format": ".2~%"},
                {"field": "low", "title": "from", "format": ".2~%"},
                {"field": "high", "title": "to", "format": ".2~%"},
            ],
        },
    }

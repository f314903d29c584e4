"""Figure of the share that each factor explains of each program's variation over a plan."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row
from assay.charts.plot import Plot, where
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
        _plot(rows, len(programs)).figure(
            "placement-variance",
            "Shares of each program's variation over the plan",
            caption="Omega squared of the logarithms of times, by an analysis of variance. "
            "Interactions: pairs of factors. Residual: variation between launches of the same "
            "cell, and interactions of three or more factors. The table has intervals and tests.",
            alt="Shares of variance: " + "; ".join(sentence(each) for each in programs[:4]) + ".",
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


def _plot(rows: Sequence[Row], programs: int) -> Plot:
    columns = [
        DataColumn("work", "program and its class", title="program", kind="name"),
        DataColumn("factor", "factor; interactions of pairs of factors; residual", kind="name"),
        DataColumn("share", "omega squared", "1", format=".2~%"),
        DataColumn("low", "lower end of its 95% interval; empty for sums", "1", "from", ".2~%"),
        DataColumn("high", "upper end of its 95% interval", "1", "to", ".2~%"),
    ]
    plot = Plot(columns, rows, height=_STEP * programs).numbered("place")
    return plot.bars(
        corner_radius=1,
        y=plot.names("work", ticks=False, label_limit=260, padding_inner=0.3),
        x=plot.axis(
            "share", "share of the variation over the plan", stack="zero", format=".0%", grid=True,
            domain=[0, 1], clamp=True,
        ),
        colour=plot.hue("factor"),
        order="place",
        fade=where(f"datum.factor === '{LEFT}'", 0.25, 1),
        tips=("work", "factor", "share", "low", "high"),
    )  # fmt: skip

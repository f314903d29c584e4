"""The coefficient of variation at each level of each factor."""

from __future__ import annotations

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row
from assay.questions.common.figure_rows import intervals_text
from assay.questions.steadiness.factors.findings import FactorFindings
from assay.questions.steadiness.variation.cov_figures import (
    cov_alt,
    cov_plot,
    cov_row,
)

_COMPARISONS = 16


def figures(found: FactorFindings) -> list[Figure]:
    """The coefficient of variation at each level, the most significant differences first."""
    chosen = found.comparisons[:_COMPARISONS]
    rows: list[Row] = [
        {
            "factor": each.name,
            **cov_row(
                f"{each.name}: {group.name}", f"level {place}", group.cov, group.cov_ci95, group.n
            ),
        }
        for each in chosen
        for place, group in enumerate(each.spread.groups, 1)
        if group.cov is not None
    ]
    if not rows:
        return []
    count = len(found.comparisons)
    figure = cov_plot(
        rows,
        "the cells, the factor and the level",
        "number of the level, in the plan's order",
        DataColumn("factor", "the cells and the factor", kind="name"),
    ).figure(
        "variation-factors",
        "Variation at the levels of each factor",
        caption="Coefficient of variation at each level, pooled over the other factors. "
        f"{intervals_text(rows, 'whiskers')} The most significant differences come first."
        + (f" {_COMPARISONS} of {count} comparisons are shown." if count > len(chosen) else ""),
        alt=cov_alt("Coefficients of variation by level", rows),
    )
    return [figure]

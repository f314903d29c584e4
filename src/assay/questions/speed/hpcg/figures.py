"""The figure of hpcg: where the time of a set goes."""

from __future__ import annotations

from assay.charts.builder import STATISTICS, Chart, named
from assay.charts.figure import Field, Figure
from assay.kernels.hpcg.entry import OWN_CODE
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.speed.hpcg.findings import PARTS, HpcgFindings


def figures(found: HpcgFindings) -> list[Figure]:
    """Bars of the rates of the parts on the most cores; none without several parts."""
    if len(found.parts) < 2:
        return []
    rows = [{"part": PARTS[name], **statistics(point)} for name, point in found.parts.items()]
    chart = Chart(
        rows,
        named("part", title="part"),
        "rate",
        "flop/s",
        names=[("part", "part")],
        height=240,
    )
    return [
        chart.bars()
        .whiskers()
        .figure(
            "hpcg-parts",
            "HPCG: rates of its parts",
            caption=f"Median over launches. {intervals_text(chart.rows, 'whiskers')} {OWN_CODE}.",
            alt=f"Bar chart of the rates of {len(rows)} parts of HPCG.",
            fields=[Field("part", "", "part of an iteration"), STATISTICS],
        )
    ]

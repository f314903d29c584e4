"""Table of placements by their slow launches."""

from __future__ import annotations

from assay.kernels.naming import cell_name, where_text
from assay.questions.common.tables import Entry, Table, TableBuilder, quantity, share
from assay.questions.placement.steadiest.findings import SteadiestFindings
from assay.units import format_probability


def tables(found: SteadiestFindings) -> list[Table]:
    """Every placement with enough launches; the chosen placement of each work is first."""
    rows = [(one, each) for one in found.works for each in one.placements]
    table = TableBuilder(rows).text("work", "Work", lambda row: cell_name(row[0].work))
    table.text("placement", "Placement", lambda row: where_text(row[1].cell.placement))
    table.counts("launches", "Launches", lambda row: row[1].launches)
    table.numbers("mean", "Mean", lambda row: quantity(row[1].mean, "s"), unit="s")
    table.numbers(
        "p95",
        "95th percentile [95% interval]",
        lambda row: quantity(row[1].p95, "s", row[1].p95_ci95),
        unit="s",
    )
    table.numbers("cov", "CoV [95% interval]", lambda row: share(row[1].cov, row[1].cov_ci95))
    table.text("level", "As fast as the fastest", lambda row: "yes" if row[1].level else "no")
    table.numbers(
        "least",
        "Probability of being steadiest",
        lambda row: Entry(format_probability(row[1].least, 1), row[1].least),
    )
    return [table.table("placement-steadiest", "Placements by their slow launches")]

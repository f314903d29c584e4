"""Tables of the causes of variation: shares, and the two clocks as in Kramer & Ryan's table 3."""

from __future__ import annotations

from assay.questions.common.tables import Column, Entry, Table, TableBuilder, share
from assay.questions.steadiness.causes.answer import share_note
from assay.questions.steadiness.causes.findings import CauseFindings, CellCauses
from assay.reference.variability import SOURCE, published_clocks
from assay.stats.attribution.attribution import CauseShare
from assay.stats.attribution.covariates import cause_of
from assay.stats.attribution.wall_clock import BUSY, WallClock
from assay.units import counted, format_share

# Text of each verdict of the comparison of clocks.
_CLOCK_VERDICTS = {
    "kept from running": "the ranks were descheduled",
    "ran longer": "shorter waits offset longer computing",
    "alike": "alike",
    "asleep": "the ranks mostly wait off the CPU",
}


def tables(found: CauseFindings) -> list[Table]:
    """The shares, and the clocks if CPU times are known."""
    clocks = _clocks_table(found)
    return [_shares_table(found), *([clocks] if clocks else [])]


def _shares_table(found: CauseFindings) -> Table:
    """A row for each cause of each cell, and one for its unexplained share."""
    causes = [
        (cell, part)
        for cell in found.cells
        for part in (*cell.attribution.shares, None)  # None: unexplained
    ]

    def associated(row: tuple[CellCauses, CauseShare | None]) -> Entry:
        part = row[1]
        if part is None:
            return Entry("unexplained", tone="quiet")
        return Entry(cause_of(part.cause).words)

    def explained(row: tuple[CellCauses, CauseShare | None]) -> Entry:
        cell, part = row
        if part is None:
            return share(cell.attribution.unexplained, cell.attribution.unexplained_ci95)
        return share(part.share, part.ci95)

    return (
        TableBuilder(causes)
        .text("cell", "Cell", lambda row: row[0].label)
        .numbers(
            "deviation",
            "Standard deviation",
            lambda row: share(row[0].attribution.deviation),
            unit="1",
        )
        .column("cause", "Associated with", associated)
        .numbers("share", "Share [95% interval]", explained, unit="1")
        .text(
            "note",
            "Observed",
            lambda row: _unexplained_note(row[0]) if row[1] is None else share_note(row[1]),
            tone="quiet",
        )
        .table(
            "causes",
            "Variance by cause",
            caption="Shares of the variance of the logarithm of each cell's cost; its standard "
            "deviation is about the coefficient of variation.",
        )
    )


def _unexplained_note(cell: CellCauses) -> str:
    attribution = cell.attribution
    if attribution.silent:
        return attribution.silent
    return (
        f"{counted(attribution.n, 'measurement')}, "
        f"{counted(attribution.tried, 'covariate')} and factors tested"
    )


def _clocks_table(found: CauseFindings) -> Table | None:
    """Coefficients of variation by wall clock and CPU time; then the published values of the T3E.

    None if no cell has CPU times and jobs have no accounting.
    """
    known = [cell for cell in found.cells if cell.clocks is not None]
    accounted = found.accounted
    if not known and accounted is None:
        return None
    rows = []
    for cell in known:
        assert cell.clocks is not None
        rows.append(_clocks_row(cell.label, cell.clocks))
    if accounted is not None:
        label = f"whole jobs, {accounted.what} by {accounted.source}"
        rows.append(_clocks_row(label, accounted.clocks))
    rows += [
        [
            Entry(f"{published.code} on the Cray T3E (1)", tone="quiet"),
            Entry(format_share(published.wall), published.wall, tone="quiet"),
            Entry(format_share(published.accounting), published.accounting, tone="quiet"),
            Entry(""),
            Entry("jobs were moved between processors", tone="quiet"),
        ]
        for published in published_clocks()
    ]
    return Table(
        id="clocks",
        title="Variation by wall clock and by CPU time",
        columns=[
            Column("cell", "Cell"),
            Column("wall", "CoV of wall time [95% interval]", unit="1", numeric=True),
            Column("cpu", "CoV of CPU time [95% interval]", unit="1", numeric=True),
            Column("busy", "On a CPU", unit="1", numeric=True),
            Column("verdict", "Finding"),
        ],
        rows=rows,
        caption="CPU time: user and kernel time for the same work of the rank with the least CPU "
        "time, because ranks that wait by polling use CPU time, too. If ranks are on a CPU for "
        f"less than {format_share(BUSY)} of the time, the clocks are not compared.",
        notes=[f"{SOURCE}, table 3: 128 processes, class C; system accounting instead of CPU time"],
    )


def _clocks_row(label: str, clocks: WallClock) -> list[Entry]:
    return [
        Entry(label),
        share(clocks.wall, clocks.wall_ci95),
        share(clocks.cpu, clocks.cpu_ci95),
        Entry("") if clocks.busy is None else share(clocks.busy),
        Entry(
            _CLOCK_VERDICTS[clocks.verdict],
            tone="warn" if clocks.verdict == "kept from running" else "",
        ),
    ]

"""Tables of the causes of variation: shares, and the two clocks as in Kramer & Ryan's table 3."""

from __future__ import annotations

from assay.answers.causes import Causes, CellCauses, share_note
from assay.reference.variability import SOURCE, published_clocks
from assay.report.model import Column, Entry, Table
from assay.stats.covariates import cause_of
from assay.stats.wall_clock import BUSY, WallClock
from assay.units import counted, format_share

_VERDICTS = {
    "kept from running": "the ranks were kept from running",
    "ran longer": "waits made up for computing",
    "alike": "alike",
    "asleep": "the ranks mostly wait asleep",
}


def causes_tables(causes: Causes | None) -> list[Table]:
    """Every table of causes that there is data for."""
    if causes is None:
        return []
    made = [shares_table(causes), clocks_table(causes)]
    return [table for table in made if table is not None]


def shares_table(causes: Causes) -> Table:
    """A row for each cause of each cell, and one for what is left; cells as they come."""
    rows = []
    for cell in causes.cells:
        attribution = cell.attribution
        spread = Entry(format_share(attribution.deviation), attribution.deviation)
        rows += [
            [
                Entry(cell.label),
                spread,
                Entry(cause_of(share.cause).words),
                Entry(format_share(share.share, share.ci95), share.share),
                Entry(share_note(share), tone="quiet"),
            ]
            for share in attribution.shares
        ]
        rows.append(
            [
                Entry(cell.label),
                spread,
                Entry("unexplained", tone="quiet"),
                Entry(
                    format_share(attribution.unexplained, attribution.unexplained_ci95),
                    attribution.unexplained,
                ),
                Entry(_rest(cell), tone="quiet"),
            ]
        )
    return Table(
        id="causes",
        title="What the variation goes with",
        columns=[
            Column("cell", "Cell"),
            Column("deviation", "Deviation", unit="1", numeric=True),
            Column("cause", "Goes with"),
            Column("share", "Share [95% interval]", unit="1", numeric=True),
            Column("note", "Seen"),
        ],
        rows=rows,
        caption="Shares of the variance of the logarithm of each cell's cost; its standard "
        "deviation is about the coefficient of variation.",
    )


def _rest(cell: CellCauses) -> str:
    attribution = cell.attribution
    if attribution.silent:
        return attribution.silent
    return (
        f"{counted(attribution.n, 'measurement')}, "
        f"{counted(attribution.tried, 'covariate')} and factors tried"
    )


def clocks_table(causes: Causes) -> Table | None:
    """Coefficients of variation by wall clock and CPU time, the T3E's published ones beside them.

    None where no cell's CPU time is known.
    """
    known = [cell for cell in causes.cells if cell.clocks is not None]
    accounted = causes.accounted
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
            Column("verdict", "So"),
        ],
        rows=rows,
        caption="CPU time, user and kernel, for the same work, of the rank that had least of it: "
        "ranks that wait by polling use CPU time too. Where ranks are on a CPU for less than "
        f"{format_share(BUSY)} of the time there is nothing to compare.",
        notes=[
            f"{SOURCE}, table 3: 128 processes, class C, system accounting in place of CPU time"
        ],
    )


def _clocks_row(label: str, clocks: WallClock) -> list[Entry]:
    return [
        Entry(label),
        Entry(format_share(clocks.wall, clocks.wall_ci95), clocks.wall),
        Entry(format_share(clocks.cpu, clocks.cpu_ci95), clocks.cpu),
        Entry("" if clocks.busy is None else format_share(clocks.busy), clocks.busy),
        Entry(
            _VERDICTS[clocks.verdict],
            tone="warn" if clocks.verdict == "kept from running" else "",
        ),
    ]

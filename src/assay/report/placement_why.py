"""Where the time of each placement goes, and what the contention model predicted, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.placement_why_data import Spot, Why, whys
from assay.answers.select import measured_text, quantity_text
from assay.records.model import RunData
from assay.report.model import Column, Entry, Table
from assay.stats.model import CellSummary
from assay.units import MISSING, format_share

# Shares below this are not worth the eye.
_QUIET = 0.005
# Columns' headings, by component.
_HEADINGS = (
    "Computing",
    "Memory contention",
    "Cache effect",
    "Imbalance",
    "Within nodes",
    "Between nodes",
    "Unexplained",
)


def why_table(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> Table | None:
    """A line for each placement of works that told their phases; None where none did."""
    rows = [_row(why, spot) for why in whys(cells, run, history) for spot in why.spots]
    if not rows:
        return None
    return Table(
        id="placement-why",
        title="Where the time goes, and what was predicted",
        caption="Shares of the time with 95% intervals; they add up to 100%. What caches save is "
        "negative. Predicted: by the contention model, for placements it was not made from.",
        columns=[
            Column("work", "Work"),
            Column("nodes", "Nodes", numeric=True),
            Column("ppn", "Ranks a node", numeric=True),
            Column("time", "Time [95% interval]", unit="s", numeric=True),
            *(Column(f"part{n}", heading, numeric=True) for n, heading in enumerate(_HEADINGS)),
            Column("predicted", "Predicted", unit="s", numeric=True),
            Column("error", "Off by", numeric=True),
        ],
        rows=rows,
    )


def _row(why: Why, spot: Spot) -> list[Entry]:
    predicted = next((found.time for of, found in why.predictions if of is spot), None)
    time = spot.point.metric.median
    shares = []
    for number in range(len(_HEADINGS)):
        share = spot.split.share(number)
        told = format_share(share.value, share.ci95)
        shares.append(Entry(told, share.value, tone="quiet" if abs(share.value) < _QUIET else ""))
    return [
        Entry(why.name),
        Entry(str(why.nodes), why.nodes),
        Entry(str(spot.placement.ppn), spot.placement.ppn),
        Entry(measured_text(spot.point), time),
        *shares,
        Entry(MISSING, tone="quiet")
        if predicted is None
        else Entry(quantity_text(predicted, "s"), predicted),
        Entry(MISSING, tone="quiet")
        if predicted is None
        else Entry(f"{predicted / time - 1:+.0%}", predicted / time - 1),
    ]

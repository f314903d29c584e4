"""Where the time of each placement goes, and what the contention model predicted, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.answers.placement_why_data import Spot, Why, whys
from assay.answers.select import measured_text, quantity_text
from assay.records.model import RunData
from assay.report.model import Column, Entry, Table
from assay.stats.model import CellSummary
from assay.units import format_share

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
_WHERE = (
    Column("work", "Work"),
    Column("nodes", "Nodes", numeric=True),
    Column("ppn", "Ranks a node", numeric=True),
)


def why_tables(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> list[Table]:
    """Predictions beside what was measured, and all parts of each placement's time."""
    found = whys(cells, run, history)
    predicted = [row for why in found for row in _predictions(why)]
    return [*([_predicted(predicted)] if predicted else []), *([_parts(found)] if found else [])]


def _predicted(rows: list[list[Entry]]) -> Table:
    return Table(
        id="placement-predicted",
        title="Predicted and measured",
        caption="By the contention model, for placements that it was not made from.",
        columns=[
            *_WHERE,
            Column("from", "From ranks a node"),
            Column("predicted", "Predicted", unit="s", numeric=True),
            Column("time", "Measured [95% interval]", unit="s", numeric=True),
            Column("error", "Off by", numeric=True),
        ],
        rows=rows,
    )


def _predictions(why: Why) -> Iterator[list[Entry]]:
    made_from = " and ".join(map(str, why.made_from))
    for spot, prediction in why.predictions:
        off = prediction.time / spot.point.metric.median - 1.0
        yield [
            *_where(why, spot),
            Entry(made_from),
            Entry(quantity_text(prediction.time, "s"), prediction.time),
            Entry(measured_text(spot.point), spot.point.metric.median),
            Entry(f"{off:+.0%}", off),
        ]


def _parts(found: Sequence[Why]) -> Table:
    return Table(
        id="placement-why",
        title="Where the time goes",
        caption="Shares of the time with 95% intervals; they add up to 100%. What caches save is "
        "negative.",
        columns=[
            *_WHERE,
            Column("time", "Time [95% interval]", unit="s", numeric=True),
            *(Column(f"part{n}", heading, numeric=True) for n, heading in enumerate(_HEADINGS)),
        ],
        rows=[_row(why, spot) for why in found for spot in why.spots],
        folded=True,
    )


def _where(why: Why, spot: Spot) -> list[Entry]:
    return [
        Entry(why.name),
        Entry(str(why.nodes), why.nodes),
        Entry(str(spot.placement.ppn), spot.placement.ppn),
    ]


def _row(why: Why, spot: Spot) -> list[Entry]:
    shares = []
    for number in range(len(_HEADINGS)):
        share = spot.split.share(number)
        told = format_share(share.value, share.ci95)
        shares.append(Entry(told, share.value, tone="quiet" if abs(share.value) < _QUIET else ""))
    time = Entry(measured_text(spot.point), spot.point.metric.median)
    return [*_where(why, spot), time, *shares]

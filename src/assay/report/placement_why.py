"""Where the time of each placement goes, and what the contention model predicted, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.answers.placement_data import bound_text
from assay.answers.placement_why_data import Spot, Why, whys
from assay.answers.select import measured_text, quantity_text
from assay.records.model import RunData
from assay.report.marks import listed
from assay.report.model import Column, Entry, Table
from assay.stats.model import CellSummary
from assay.units import format_share

if TYPE_CHECKING:
    from assay.models.placement_prediction import Prediction

# Shares below this are not worth the eye.
_QUIET = 0.005
# Columns' headings, by component.
_HEADINGS = (
    "Computing",
    "Memory contention",
    "Cache effect",
    "Shared cores",
    "Threads",
    "Imbalance",
    "Within nodes",
    "Between nodes",
    "Unexplained",
)
# Parts that only threads have.
_OF_THREADS = ("Shared cores", "Threads")


def why_tables(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> list[Table]:
    """Predictions beside what was measured, and all parts of each placement's time."""
    found = whys(cells, run, history)
    predicted = [(why, spot, guess) for why in found for spot, guess in why.predictions]
    return [
        *([_predicted(predicted)] if predicted else []),
        *([_parts(found)] if found else []),
    ]


def _predicted(predicted: Sequence[tuple[Why, Spot, Prediction]]) -> Table:
    ways = any(spot in why.ways for why, spot, _ in predicted)
    return Table(
        id="placement-predicted",
        title="Predicted and measured",
        caption="By the contention model, for placements that it was not made from.",
        columns=[
            *_where_columns(ways),
            Column("from", "From ranks a node"),
            Column("predicted", "Predicted", unit="s", numeric=True),
            Column("time", "Measured [95% interval]", unit="s", numeric=True),
            Column("error", "Off by", numeric=True),
        ],
        rows=[_prediction(why, spot, guess, ways) for why, spot, guess in predicted],
    )


def _prediction(why: Why, spot: Spot, prediction: Prediction, ways: bool) -> list[Entry]:
    off = prediction.time / spot.point.metric.median - 1.0
    return [
        *_where(why, spot, ways),
        Entry(listed(why.made_from)),
        Entry(quantity_text(prediction.time, "s"), prediction.time),
        Entry(measured_text(spot.point), spot.point.metric.median),
        Entry(f"{off:+.0%}", off),
    ]


def _parts(found: Sequence[Why]) -> Table:
    ways = any(why.ways for why in found)
    shown = [
        (number, heading)
        for number, heading in enumerate(_HEADINGS)
        if ways or heading not in _OF_THREADS
    ]
    return Table(
        id="placement-why",
        title="Where the time goes",
        caption="Shares of the time with 95% intervals; they add up to 100%. What caches"
        f"{' and hardware threads' * ways} save is negative.",
        columns=[
            *_where_columns(ways),
            Column("time", "Time [95% interval]", unit="s", numeric=True),
            *(Column(f"part{number}", heading, numeric=True) for number, heading in shown),
        ],
        rows=[
            _row(why, spot, [number for number, _ in shown], ways)
            for why in found
            for spot in (*why.spots, *why.ways)
        ],
        folded=True,
    )


def _where_columns(ways: bool) -> list[Column]:
    """``ways``: whether there are threads or bindings to tell of."""
    return [
        Column("work", "Work"),
        Column("nodes", "Nodes", numeric=True),
        Column("ppn", "Ranks a node", numeric=True),
        *([Column("threads", "Threads a rank", numeric=True), Column("how", "Bound")] * ways),
    ]


def _where(why: Why, spot: Spot, ways: bool) -> list[Entry]:
    placement = spot.placement
    told = [
        Entry(why.name),
        Entry(str(why.nodes), why.nodes),
        Entry(str(placement.ppn), placement.ppn),
    ]
    if ways:
        told.append(Entry(str(placement.threads), placement.threads))
        told.append(Entry(bound_text(placement)))
    return told


def _row(why: Why, spot: Spot, shown: Sequence[int], ways: bool) -> list[Entry]:
    shares = []
    for number in shown:
        share = spot.split.share(number)
        told = format_share(share.value, share.ci95)
        shares.append(Entry(told, share.value, tone="quiet" if abs(share.value) < _QUIET else ""))
    time = Entry(measured_text(spot.point), spot.point.metric.median)
    return [*_where(why, spot, ways), time, *shares]

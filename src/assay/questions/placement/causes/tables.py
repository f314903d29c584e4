"""Where the time of each placement goes, and the contention model's predictions, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import binding_text
from assay.models.placement.components import COMPONENTS, Component
from assay.models.placement.prediction import Prediction
from assay.questions.common.selection import measured_text, quantity_text
from assay.questions.common.tables import Column, Entry, Table
from assay.questions.placement.causes.breakdown import PlacedWork, WorkBreakdown
from assay.questions.placement.causes.findings import CausesFindings
from assay.units import format_share, listed

# Shares below this are written in a quiet tone.
_QUIET = 0.005


def tables(found: CausesFindings) -> list[Table]:
    """Predicted and measured times, and the components of each placement's time."""
    predicted = [
        (work, placed, placed.predicted)
        for work in found.works
        for placed in work.placements
        if placed.predicted is not None
    ]
    return [
        *([_predicted(predicted)] if predicted else []),
        *([_components(found.works)] if found.works else []),
    ]


def _predicted(predicted: Sequence[tuple[WorkBreakdown, PlacedWork, Prediction]]) -> Table:
    threads = any(placed in work.others for work, placed, _ in predicted)
    return Table(
        id="placement-predicted",
        title="Predicted and measured",
        caption="By the contention model, for placements that it was not fitted to.",
        columns=[
            *_where_columns(threads),
            Column("from", "Fitted to ranks per node"),
            Column("predicted", "Predicted", unit="s", numeric=True),
            Column("time", "Measured [95% interval]", unit="s", numeric=True),
            Column("error", "Error", numeric=True),
        ],
        rows=[_predicted_row(*one, threads) for one in predicted],
    )


def _predicted_row(
    work: WorkBreakdown, placed: PlacedWork, prediction: Prediction, threads: bool
) -> list[Entry]:
    error = prediction.time / placed.point.metric.median - 1.0
    return [
        *_where(work, placed, threads),
        Entry(listed(work.fitted_to)),
        Entry(quantity_text(prediction.time, "s"), prediction.time),
        Entry(measured_text(placed.point), placed.point.metric.median),
        Entry(f"{error:+.0%}", error),
    ]


def _components(works: Sequence[WorkBreakdown]) -> Table:
    threads = any(work.others for work in works)
    shown = [one for one in COMPONENTS if threads or not one.of_threads]
    return Table(
        id="placement-why",
        title="Where the time goes",
        caption="Shares of the time with 95% intervals; they add up to 100%. Savings by caches"
        f"{' and hardware threads' * threads} are negative.",
        columns=[
            *_where_columns(threads),
            Column("time", "Time [95% interval]", unit="s", numeric=True),
            *(Column(f"part{one.index}", one.heading, numeric=True) for one in shown),
        ],
        rows=[
            _component_row(work, placed, shown, threads)
            for work in works
            for placed in work.placements
        ],
        folded=True,
    )


def _component_row(
    work: WorkBreakdown, placed: PlacedWork, shown: Sequence[Component], threads: bool
) -> list[Entry]:
    shares = []
    for component in shown:
        share = placed.shares[component]
        text = format_share(share.value, share.ci95)
        shares.append(Entry(text, share.value, "quiet" if abs(share.value) < _QUIET else ""))
    time = Entry(measured_text(placed.point), placed.point.metric.median)
    return [*_where(work, placed, threads), time, *shares]


def _where_columns(threads: bool) -> list[Column]:
    """``threads``: whether there are placements with threads or other bindings."""
    return [
        Column("work", "Work"),
        Column("nodes", "Nodes", numeric=True),
        Column("ppn", "Ranks per node", numeric=True),
        *(
            [Column("threads", "Threads per rank", numeric=True), Column("how", "Binding")]
            * threads
        ),
    ]


def _where(work: WorkBreakdown, placed: PlacedWork, threads: bool) -> list[Entry]:
    placement = placed.placement
    return [
        Entry(work.name),
        Entry(str(work.nodes), work.nodes),
        Entry(str(placement.ppn), placement.ppn),
        *([Entry(str(placement.threads), placement.threads)] if threads else []),
        *([Entry(binding_text(placement))] if threads else []),
    ]

"""Tables of the time of each placement by component, and of the model's predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from assay.kernels.naming import binding_text
from assay.models.placement.components import COMPONENTS, Component
from assay.models.placement.prediction import Prediction
from assay.questions.common.tables import (
    Entry,
    R,
    Table,
    TableBuilder,
    Tone,
    measured,
    quantity,
    written,
)
from assay.questions.placement.causes.breakdown import PlacedWork, WorkBreakdown
from assay.questions.placement.causes.findings import CausesFindings
from assay.units import format_share, listed

# Shares below this have a quiet tone.
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

    def error(row: tuple[WorkBreakdown, PlacedWork, Prediction]) -> Entry:
        _, placed, prediction = row
        return written(prediction.time / placed.point.metric.median - 1.0, "{:+.0%}")

    return (
        _where(TableBuilder(predicted), lambda row: row[:2], threads)
        .text("from", "Fitted to ranks per node", lambda row: listed(row[0].fitted_to))
        .numbers("predicted", "Predicted", lambda row: quantity(row[2].time, "s"), unit="s")
        .numbers("time", "Measured [95% interval]", lambda row: measured(row[1].point), unit="s")
        .numbers("error", "Error", error)
        .table(
            "placement-predicted",
            "Predicted and measured",
            caption="Predictions of the contention model for placements that it was not fitted to.",
        )
    )


def _components(works: Sequence[WorkBreakdown]) -> Table:
    threads = any(work.others for work in works)
    rows = [(work, placed) for work in works for placed in work.placements]
    table = _where(TableBuilder(rows), lambda row: row, threads)
    table.numbers("time", "Time [95% interval]", lambda row: measured(row[1].point), unit="s")
    for one in COMPONENTS:
        if threads or not one.of_threads:
            table.numbers(f"part{one.index}", one.heading, partial(_component, one))
    return table.table(
        "placement-why",
        "Time by component",
        caption="Shares of the time with 95% intervals; they sum to 100%. Savings by caches"
        f"{' and hardware threads' * threads} are negative.",
        folded=True,
    )


def _component(component: Component, row: tuple[WorkBreakdown, PlacedWork]) -> Entry:
    share = row[1].shares[component]
    tone: Tone = "quiet" if abs(share.value) < _QUIET else ""
    return Entry(format_share(share.value, share.ci95), share.value, tone)


def _where(
    table: TableBuilder[R], of: Callable[[R], tuple[WorkBreakdown, PlacedWork]], threads: bool
) -> TableBuilder[R]:
    """Columns of work and placement; ``threads``: whether some have threads or other bindings."""
    table.text("work", "Work", lambda row: of(row)[0].name)
    table.counts("nodes", "Nodes", lambda row: of(row)[0].nodes)
    table.counts("ppn", "Ranks per node", lambda row: of(row)[1].placement.ppn)
    if threads:
        table.counts("threads", "Threads per rank", lambda row: of(row)[1].placement.threads)
        table.text("how", "Binding", lambda row: binding_text(of(row)[1].placement))
    return table

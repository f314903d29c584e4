"""Figures of one-sided communication: against messages, and by synchronisation."""

from __future__ import annotations

from assay.charts.figure import Figure
from assay.questions.common.ratios import Ratio
from assay.questions.network.against import ratios_figure
from assay.questions.network.onesided.findings import (
    FLUSH,
    OneSidedFindings,
    operation,
    synchronisation,
)
from assay.questions.network.parameters import integer


def figures(found: OneSidedFindings) -> list[Figure]:
    """The figures for which there are at least two ratios."""
    drawn = [
        ratios_figure(
            found.messages,
            lambda times: operation(times.above),
            id="onesided-messages",
            title="One-sided operations with flush against messages",
            axis="time / a message's latency",
            series="operation",
            equal="On the dashed line an operation takes as long as a message of its size.",
        ),
        ratios_figure(
            found.synchronisations,
            _synchronised,
            id="onesided-synchronisation",
            title="One-sided operations by synchronisation",
            axis=f"time / time with {FLUSH}",
            series="operation and synchronisation",
            equal=f"On the dashed line a synchronisation costs as much as {FLUSH}.",
        ),
    ]
    return [figure for figure in drawn if figure is not None]


def _synchronised(times: Ratio) -> str:
    window = integer(times.above, "window")
    several = f", {window} per window" if window > 1 else ""
    return f"{operation(times.above)}, {synchronisation(times.above)}{several}"

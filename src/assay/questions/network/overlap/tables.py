"""The table of overlap: the times from which the shares of both definitions follow."""

from __future__ import annotations

from assay.questions.common.selection import Point, labeller
from assay.questions.common.tables import Entry, Table, TableBuilder, quantity, share
from assay.questions.network.overlap.findings import OverlapCase, OverlapFindings
from assay.units import format_size


def tables(found: OverlapFindings) -> list[Table]:
    """All cases, with their four times."""
    label = labeller(found.points)

    def operation(case: OverlapCase) -> str:
        return f"{case.op} {format_size(case.bytes)}" if case.bytes else case.op

    def time(point: Point) -> Entry:
        return quantity(point.metric.median, "s", point.metric.ci95)

    def hidden(point: Point) -> Entry:
        return share(point.metric.median, point.metric.ci95)

    builder = (
        TableBuilder(found.cases)
        .text("op", "Operation", operation)
        .text("placement", "Placement", lambda case: label(case.hidden))
        .numbers("communication", "Communication", lambda c: time(c.communication), unit="s")
        .numbers("computation", "Computation", lambda c: time(c.computation), unit="s")
        .numbers("overlapped", "Both", lambda c: time(c.overlapped), unit="s")
        .numbers("tested", "Both, calls", lambda c: time(c.with_calls), unit="s")
        .numbers("hidden", "Hidden", lambda c: hidden(c.hidden), unit="1")
        .numbers("hidden_tested", "Hidden, calls", lambda c: hidden(c.hidden_with_calls))
        .numbers("osu", "As OSU", lambda c: share(c.osu), unit="1")
    )
    return [
        builder.table(
            "overlap-times",
            "Communication and computation, alone and together",
            caption="Hidden: (communication + computation - both) / the longer of the two, as in "
            "IMB-NBC. Calls: with MPI_Testall during the computation. As OSU: the sum without "
            "calls, divided by communication.",
            folded=True,
        )
    ]

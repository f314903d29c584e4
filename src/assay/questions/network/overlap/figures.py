"""The figure of overlap: hidden share against size, without and with calls."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.charts.axes import size_axis
from assay.charts.builder import Chart
from assay.charts.figure import Field, Figure
from assay.charts.marks import Row
from assay.questions.common.figure_rows import intervals_text, statistics
from assay.questions.common.selection import labeller
from assay.questions.network.overlap.findings import OverlapCase, OverlapFindings, key_of
from assay.units import format_size, listed

_PERCENT = (0.01, "%")
_HEIGHT = 240


def figures(found: OverlapFindings) -> list[Figure]:
    """Hidden share against size, without and with calls; a panel for each placement."""
    cases = [case for case in found.cases if case.bytes > 0]
    several = [c for c in cases if sum(key_of(o) == key_of(c) for o in cases) > 1]
    label = labeller([case.hidden for case in several])
    places = list(dict.fromkeys(label(case.hidden) for case in several))
    drawn = []
    for calls in (False, True):
        for number, place in enumerate(places):
            here = [case for case in several if label(case.hidden) == place]
            figure = _figure(here, calls, place if len(places) > 1 else "", number)
            drawn.append(figure)
    return drawn


def _figure(cases: Sequence[OverlapCase], calls: bool, place: str, number: int) -> Figure:
    """``place``: the name of the panel; empty if there is one placement."""
    points = [case.hidden_with_calls if calls else case.hidden for case in cases]
    rows: list[Row] = [
        {"bytes": case.bytes, "curve": case.op, **statistics(point)}
        for case, point in zip(cases, points, strict=True)
    ]
    sizes = sorted({case.bytes for case in cases})
    names = list(dict.fromkeys(str(row["curve"]) for row in rows))
    chart = Chart(
        rows,
        size_axis("bytes", "bytes", sizes),
        "hidden by computation",
        "",
        hue="curve",
        names=[("curve", "operation"), ("bytes", "bytes")],
        scale=_PERCENT,
        height=_HEIGHT,
    )
    how = "with calls of MPI_Test" if calls else "without calls"
    title = f"Hidden by computation, {how}"
    name = f"overlap-{'calls' if calls else 'plain'}"
    figure = (
        chart.lines()
        .whiskers(coloured=True)
        .figure(
            f"{name}-{number}" if place else name,
            f"{title}: {place}" if place else title,
            caption="Share of a non-blocking operation that a computation of the same length "
            f"hides (definition of IMB-NBC). {intervals_text(rows, 'whiskers')}",
            alt=f"Line chart of the hidden share {how} against size, from {format_size(sizes[0])} "
            f"to {format_size(sizes[-1])}, of {listed(names)}{f' ({place})' if place else ''}.",
            fields=[
                Field("bytes", "B", "size of a message, vector or block"),
                Field("curve", "", "operation"),
            ],
        )
    )
    if not place:
        return figure
    return msgspec.structs.replace(figure, group=title, panel=place)

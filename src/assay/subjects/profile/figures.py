"""Figures on a program's MPI calls: time by rank, who sends to whom, sizes."""

from __future__ import annotations

from assay.charts.columns import DataColumn
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec, scale_of
from assay.charts.plot import Plot
from assay.subjects.profile.answer import kind_name
from assay.subjects.profile.doubts import computing_label, profile_doubts
from assay.subjects.profile.model import ProfileFindings
from assay.units import counted, format_quantity, format_share, format_size

# Maximum number of ranks that have names along an axis.
_MOST_NAMED = 32
# Maximum number of ranks that have a fixed height each.
_MOST_STEPPED = 10
# Maximum number of ranks that are drawn as a matrix.
_MOST_DRAWN = 128


def figures(found: ProfileFindings) -> list[Figure]:
    """The figures for which the profile has data."""
    drawn = [time_by_rank(found), sent_matrix(found), sizes(found)]
    return [figure for figure in drawn if figure is not None]


def _ranks(plot: Plot, column: str, title: str, number: int, **scale: object) -> Spec:
    apart = {"label_separation": 12} if number > _MOST_NAMED else {}
    style = {"label_angle": 0, "label_overlap": "greedy", "ticks": False, "grid": False}
    return plot.axis(column, title, **style, **apart, **scale)


def time_by_rank(found: ProfileFindings) -> Figure:
    """Each rank's wall time, in parts."""
    computing = computing_label(profile_doubts(found)).lower().replace("cpu", "CPU")
    names = [computing, *(kind_name(kind.kind) for kind in found.kinds)]
    rows: list[Row] = []
    for rank in found.ranks:
        parts = {computing: rank.computing}
        parts |= {kind_name(kind): time for kind, time in rank.kinds.items()}
        rows += [
            {"rank": rank.rank, "part": name, "order": names.index(name), "time": parts[name]}
            for name in names
            if name in parts
        ]
    factor, prefix = scale_of([found.wall])
    columns = [
        DataColumn("rank", "rank in MPI_COMM_WORLD", kind="rank"),
        DataColumn("part", "computing, or the kind of function", title="in", kind="name"),
        DataColumn("order", "order of the parts"),
        DataColumn("time", "time", "s", f"time ({prefix}s)", ".4~g", factor=factor),
    ]
    plot = Plot(columns, rows, height=240)
    plot.bars(
        x=_ranks(plot, "rank", "rank", len(found.ranks)),
        y=plot.axis("time", f"wall time ({prefix}s)", stack="zero", tick_count=5),
        colour=plot.hue("part"),
        order="order",
        tips=("rank", "part", "time"),
    )
    return plot.figure(
        "profile-ranks",
        "Time by rank",
        caption=f"Wall time after MPI_Init: outside of MPI functions ({computing}), and inside by "
        "kind of function, including waiting.",
        alt=f"Bars of {counted(len(found.ranks), 'rank')}; "
        f"{format_share(found.mpi_share.mean)} of the time is in MPI.",
    )


def sent_matrix(found: ProfileFindings) -> Figure | None:
    """Bytes by sender and receiver; None if no bytes were sent individually."""
    if not found.sent or found.size > _MOST_DRAWN:
        return None
    factor, prefix = scale_of([max(pair.bytes for pair in found.sent)])
    every = list(range(found.size))
    columns = [
        DataColumn("sender", "rank that sends", title="from rank", kind="rank",
                   of=lambda pair: pair.sender),
        DataColumn("receiver", "rank that receives", title="to rank", kind="rank",
                   of=lambda pair: pair.receiver),
        DataColumn("messages", "messages", of=lambda pair: pair.messages),
        DataColumn("bytes", "bytes", "B", f"sent ({prefix}B)", ".4~g", factor=factor,
                   of=lambda pair: pair.bytes),
    ]  # fmt: skip
    size = {"step": 28} if found.size <= _MOST_STEPPED else {"height": 300}
    plot = Plot.of(found.sent, columns, **size)
    plot.boxes(
        x=_ranks(plot, "receiver", "to rank", found.size, domain=every),
        y=_ranks(plot, "sender", "from rank", found.size, domain=every),
        colour=plot.shade("bytes", f"{prefix}B", scheme="viridis", domain_min=0),
        tips=("sender", "receiver", "messages", "bytes"),
    )
    most = max(found.sent, key=lambda pair: pair.bytes)
    return plot.figure(
        "profile-sent",
        "Sent from rank to rank",
        caption="Bytes sent individually: with sends, and as the receiver's part of exchanges with "
        "counts. Other collectives are not included.",
        alt=f"Matrix of {counted(len(found.sent), 'pair')} of ranks; most from {most.sender} to "
        f"{most.receiver}, {format_quantity(most.bytes, 'B')}.",
        width="half",
    )


def sizes(found: ProfileFindings) -> Figure | None:
    """Calls that send, by size; None if there are none."""
    if not found.sizes:
        return None
    columns = [
        DataColumn(
            "size", "minimum of bytes per call", kind="name", of=lambda one: format_size(one.low)
        ),
        DataColumn(
            "between",
            "bytes per call, from and to",
            title="bytes per call",
            kind="name",
            of=lambda one: f"{format_size(one.low)} to {format_size(one.high)}",
        ),
        DataColumn("low", "bytes per call, at least", "B", of=lambda one: one.low),
        DataColumn("high", "bytes per call, less than", "B", of=lambda one: one.high),
        DataColumn("calls", "calls", of=lambda one: one.calls),
        DataColumn("bytes", "bytes", "B", format=".4~s", of=lambda one: one.bytes),
    ]
    plot = Plot.of(found.sizes, columns, height=240)
    plot.bars(
        corner_radius_end=2,
        x=plot.names("size", "bytes per call, from", label_angle=0, label_overlap="greedy"),
        y=plot.axis("calls", tick_count=5, format="~s"),
        tips=("between", "calls", "bytes"),
    )
    common = max(found.sizes, key=lambda one: one.calls)
    return plot.figure(
        "profile-sizes",
        "Sizes",
        caption="Calls of all ranks that send data, by bytes per call. Each bar covers twice the "
        "range in bytes of the bar before it.",
        alt=f"Histogram of {counted(len(found.sizes), 'size class')}; most calls have "
        f"{format_size(common.low)} or more.",
        width="half",
    )

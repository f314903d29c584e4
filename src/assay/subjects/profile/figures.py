"""Figures on a program's MPI calls: time by rank, who sends to whom, sizes."""

from __future__ import annotations

from assay.charts.figure import Field, Figure
from assay.charts.marks import Row, Spec, colour, scale_of
from assay.subjects.profile.answer import kind_name
from assay.subjects.profile.doubts import computing_label, profile_doubts
from assay.subjects.profile.model import ProfileFindings
from assay.units import counted, format_quantity, format_share, format_size

# More ranks than this have no names along an axis.
_MOST_NAMED = 32
# More ranks than this share a height.
_MOST_STEPPED = 10
# More ranks than this aren't drawn as a matrix.
_MOST_DRAWN = 128


def figures(found: ProfileFindings) -> list[Figure]:
    """Those that the profile has data for."""
    drawn = [time_by_rank(found), sent_matrix(found), sizes(found)]
    return [figure for figure in drawn if figure is not None]


def _ranks(field: str, title: str, number: int) -> Spec:
    axis: Spec = {"labelAngle": 0, "labelOverlap": "greedy", "ticks": False, "grid": False}
    if number > _MOST_NAMED:
        axis["labelSeparation"] = 12
    return {"field": field, "type": "ordinal", "title": title, "axis": axis}


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
    spec: Spec = {
        "height": 240,
        "transform": [{"calculate": f"datum.time / {factor!r}", "as": "shown"}],
        "mark": {"type": "bar"},
        "encoding": {
            "x": _ranks("rank", "rank", len(found.ranks)),
            "y": {"field": "shown", "type": "quantitative", "stack": "zero",
                  "title": f"wall time ({prefix}s)", "axis": {"tickCount": 5}},
            "color": colour("part", rows),
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [
                {"field": "rank", "title": "rank"},
                {"field": "part", "title": "in"},
                {"field": "shown", "title": f"time ({prefix}s)", "format": ".4~g"},
            ],
        },
    }  # fmt: skip
    return Figure(
        id="profile-ranks",
        title="Time by rank",
        caption="Wall time from the end of MPI_Init on: outside of MPI's functions "
        f"({computing}), "
        "and inside by their kind, waiting included.",
        alt=f"Bars of {counted(len(found.ranks), 'rank')}; "
        f"{format_share(found.mpi_share.mean)} of the time is in MPI.",
        fields=[
            Field("rank", "", "rank in MPI_COMM_WORLD"),
            Field("part", "", "computing, or the kind of function"),
            Field("order", "", "order of the parts"),
            Field("time", "s", "time"),
        ],
        rows=rows,
        spec=spec,
    )


def sent_matrix(found: ProfileFindings) -> Figure | None:
    """Bytes by sender and receiver; None if nothing was sent individually."""
    if not found.sent or found.size > _MOST_DRAWN:
        return None
    rows: list[Row] = [
        {
            "sender": pair.sender,
            "receiver": pair.receiver,
            "messages": pair.messages,
            "bytes": pair.bytes,
        }
        for pair in found.sent
    ]
    factor, prefix = scale_of([max(pair.bytes for pair in found.sent)])
    every = list(range(found.size))
    spec: Spec = {
        "height": {"step": 28} if found.size <= _MOST_STEPPED else 300,
        "transform": [{"calculate": f"datum.bytes / {factor!r}", "as": "shown"}],
        "mark": {"type": "rect"},
        "encoding": {
            "x": {**_ranks("receiver", "to rank", found.size), "scale": {"domain": every}},
            "y": {**_ranks("sender", "from rank", found.size), "scale": {"domain": every}},
            "color": {"field": "shown", "type": "quantitative", "title": f"{prefix}B",
                      "scale": {"scheme": "viridis", "domainMin": 0}},
            "tooltip": [
                {"field": "sender", "title": "from rank"},
                {"field": "receiver", "title": "to rank"},
                {"field": "messages", "title": "messages"},
                {"field": "shown", "title": f"sent ({prefix}B)", "format": ".4~g"},
            ],
        },
    }  # fmt: skip
    most = max(found.sent, key=lambda pair: pair.bytes)
    return Figure(
        id="profile-sent",
        title="Sent from rank to rank",
        caption="Bytes sent individually: by sends, and as the receiver's part of exchanges with "
        "counts. Other collectives are not included.",
        alt=f"Matrix of {counted(len(found.sent), 'pair')} of ranks; most from {most.sender} to "
        f"{most.receiver}, {format_quantity(most.bytes, 'B')}.",
        fields=[
            Field("sender", "", "rank that sends"),
            Field("receiver", "", "rank that receives"),
            Field("messages", "", "messages"),
            Field("bytes", "B", "bytes"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )


def sizes(found: ProfileFindings) -> Figure | None:
    """Calls that send, by size; None if there are none."""
    if not found.sizes:
        return None
    names = [f"{format_size(one.low)} to {format_size(one.high)}" for one in found.sizes]
    rows: list[Row] = [
        {"size": format_size(one.low), "between": name, "low": one.low, "high": one.high,
         "calls": one.calls, "bytes": one.bytes}
        for name, one in zip(names, found.sizes, strict=True)
    ]  # fmt: skip
    spec: Spec = {
        "height": 240,
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {
            "x": {"field": "size", "type": "nominal", "sort": None, "title": "bytes per call, from",
                  "axis": {"labelAngle": 0, "labelOverlap": "greedy"}},
            "y": {"field": "calls", "type": "quantitative", "title": "calls",
                  "axis": {"tickCount": 5, "format": "~s"}},
            "tooltip": [
                {"field": "between", "title": "bytes per call"},
                {"field": "calls", "title": "calls"},
                {"field": "bytes", "title": "bytes", "format": ".4~s"},
            ],
        },
    }  # fmt: skip
    common = max(found.sizes, key=lambda one: one.calls)
    return Figure(
        id="profile-sizes",
        title="Sizes",
        caption="Calls that send data, of all ranks, by bytes per call; each bar is twice as wide "
        "in bytes as the one before.",
        alt=f"Histogram of {counted(len(found.sizes), 'size class')}; most calls have from "
        f"{format_size(common.low)} on.",
        fields=[
            Field("size", "", "least bytes per call"),
            Field("between", "", "bytes per call, from and to"),
            Field("low", "B", "bytes per call, at least"),
            Field("high", "B", "bytes per call, less than"),
            Field("calls", "", "calls"),
            Field("bytes", "B", "bytes"),
        ],
        rows=rows,
        spec=spec,
        width="half",
    )

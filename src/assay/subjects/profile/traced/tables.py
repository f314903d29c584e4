"""Tables on waiting and on networks, from a trace."""

from __future__ import annotations

from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    quantity,
    share,
    written,
)
from assay.subjects.profile.doubts import (
    LEAVES_RANGE,
    Doubts,
    ProgramStatement,
    computing_label,
    left_out,
    trace_doubts,
    with_prediction,
)
from assay.subjects.profile.traced.model import (
    MessagesInARow,
    NetworkSensitivity,
    RunTimeOn,
    TraceFindings,
    TransferOverlap,
)
from assay.units import format_quantity

_MOST = 20
_UNKNOWN = Entry("unknown", tone="quiet")

# A coefficient of variation below this may come from rounding of equal times.
_LEAST_COV = 1e-4


def tables(found: TraceFindings) -> list[Table]:
    """The tables of a trace that no doubt touches.

    Efficiencies, waiting by cause, origin and place, phases, critical path, savings and
    networks.
    """
    doubts, network = trace_doubts(found), found.network
    drawn: list[tuple[ProgramStatement | None, Table]] = [
        (None, _efficiencies(found, doubts)),
        (None, _causes(found)),
        ("origin", _origins(found)),
        (None, _places(found)),
        (None, _phases(found, doubts)),
        ("path", _critical(found)),
        (None, _savings(found, doubts)),
        (None, _worst(found)),
    ]
    if network is not None:
        drawn += [
            ("need", _needed(network)),
            (None, _predictions(network, doubts)),
            ("link", _links(network)),
        ]
    return [
        table
        for statement, table in drawn
        if table.rows and (statement is None or not doubts.about(statement))
    ]


def _efficiencies(found: TraceFindings, doubts: Doubts) -> Table:
    of = found.efficiencies
    every: list[tuple[ProgramStatement, str, float | None, str]] = [
        ("efficiency", "Parallel efficiency", of.parallel, "mean computing time ÷ run time"),
        ("efficiency", "· Load balance", of.load_balance, "mean ÷ longest computing time"),
        ("efficiency", "· Communication efficiency", of.communication,
         "longest computing time ÷ run time"),
        ("ideal", "·· Serialisation", of.serialisation,
         "longest computing ÷ run time on an ideal network"),
        ("ideal", "·· Transfer", of.transfer, "run time on an ideal network ÷ run time"),
    ]  # fmt: skip
    rows = [(what, value, how) for about, what, value, how in every if not doubts.about(about)]
    table = TableBuilder(rows).text("what", "Efficiency", lambda row: row[0])
    table.numbers("value", "Value", lambda row: share(row[1]))
    table.text("meaning", "Meaning", lambda row: row[2])
    unknown = left_out(doubts, ("efficiency", "ideal"))
    caption = " ".join(["Each efficiency is the product of the efficiencies below it.", *unknown])
    return table.table("trace-efficiencies", "Efficiencies", caption=caption)


def _savings(found: TraceFindings, doubts: Doubts) -> Table:
    """The savings of all changes, including those too small to be advised."""
    every: list[tuple[ProgramStatement, str, MessagesInARow | TransferOverlap]] = [
        *(("model saving", f"one call for {one.in_a_row:,}", one) for one in found.in_a_row),
        *(("saving", "transfer during computing", one) for one in found.overlaps),
    ]  # fmt: skip
    rows = [(change, of) for statement, change, of in every if not doubts.about(statement)]
    table = TableBuilder(sorted(rows, key=lambda row: -row[1].gain)[:_MOST])
    table.text("change", "Change", lambda row: row[0])
    table.text("function", "Function", lambda row: row[1].function)
    table.text("place", "Called from", lambda row: row[1].place)
    table.counts("calls", "Calls", lambda row: row[1].calls)
    table.numbers("gain", "Saves at most", lambda row: quantity(row[1].gain, "s"), unit="s")
    table.numbers("share", "Share of run time", lambda row: share(row[1].share))
    return table.table(
        "trace-savings",
        "What changes would save at most",
        caption="Each saving is an upper bound; savings don't add up.",
    )


def _causes(found: TraceFindings) -> Table:
    table = TableBuilder(found.causes).text("cause", "Cause", lambda row: row.cause)
    table.counts("calls", "Calls that waited", lambda row: row.calls)
    table.numbers("time", "Time, all ranks", lambda row: quantity(row.time, "s"), unit="s")
    table.numbers("share", "Share of wall time", lambda row: share(row.share))
    return table.table("trace-causes", "Waiting by cause")


def _origins(found: TraceFindings) -> Table:
    table = TableBuilder(found.origins[:_MOST])
    table.numbers("rank", "Rank", lambda row: written(row.rank, "{:d}"))
    table.text("kind", "Late by", lambda row: row.kind)
    table.text("place", "Where", lambda row: row.place)
    table.text("phase", "Phase", lambda row: row.phase)
    table.numbers("direct", "Waiting for it", lambda row: quantity(row.direct, "s"), unit="s")
    table.numbers("later", "Handed on", lambda row: quantity(row.handed_on, "s"), unit="s")
    table.numbers("share", "Share of waiting", lambda row: share(row.share))
    return table.table(
        "trace-origins",
        "Waiting by origin",
        caption="Waiting of all ranks, caused by a rank that spent more time in a place than the "
        f"ranks that waited. The {_MOST} origins with the most waiting."
        if len(found.origins) > _MOST
        else "",
    )


def _places(found: TraceFindings) -> Table:
    table = TableBuilder(found.places[:_MOST]).text(
        "function", "Function", lambda row: row.function
    )
    table.text("place", "Called from", lambda row: row.place)
    table.text("cause", "Cause", lambda row: row.cause)
    table.counts("calls", "Calls that waited", lambda row: row.calls)
    table.numbers("time", "Time, all ranks", lambda row: quantity(row.time, "s"), unit="s")
    table.numbers("share", "Share of wall time", lambda row: share(row.share))
    return table.table("trace-places", "Waiting by place")


def _phases(found: TraceFindings, doubts: Doubts) -> Table:
    of = found.iterations
    caption = ""
    if of is not None:
        inner = f", with {of.inner} repetitions in each" if of.inner else ""
        caption = (
            f"{of.times:,} iterations of {of.calls:,} calls per rank{inner}, from {of.first} on: "
            f"median {format_quantity(of.median, 's')}, CoV {_cov_text(of.cov)}, the longest "
            f"{format_quantity(of.longest, 's')} (number {of.longest_number})."
        )
    table = TableBuilder(found.phases).text("name", "Phase", lambda row: row.name)
    table.numbers("begin", "From", lambda row: quantity(row.begin, "s"), unit="s")
    table.numbers("end", "To", lambda row: quantity(row.end, "s"), unit="s")
    label = computing_label(doubts)
    table.numbers("computing", label, lambda row: quantity(row.computing, "s"), unit="s")
    table.numbers("waiting", "Waiting", lambda row: quantity(row.waiting, "s"), unit="s")
    table.numbers("mpi", "Other time in MPI", lambda row: quantity(row.mpi, "s"), unit="s")
    return table.table("trace-phases", "Phases", caption=caption)


def _critical(found: TraceFindings) -> Table:
    table = TableBuilder(found.critical[:_MOST])
    table.numbers("rank", "Rank", lambda row: written(row.rank, "{:d}"))
    table.text("kind", "Kind", lambda row: row.kind)
    table.text("place", "Where", lambda row: row.place)
    table.numbers("time", "Time", lambda row: quantity(row.time, "s"), unit="s")
    table.numbers("share", "Share of the path", lambda row: share(row.share))
    return table.table(
        "trace-critical",
        "Critical path",
        caption="Activities that would have to be faster for the run to end sooner.",
    )


def _worst(found: TraceFindings) -> Table:
    table = TableBuilder(found.worst)
    table.numbers("rank", "Rank", lambda row: written(row.rank, "{:d}"))
    table.numbers("begin", "At", lambda row: quantity(row.begin, "s"), unit="s")
    table.numbers("time", "Waits", lambda row: quantity(row.time, "s"), unit="s")
    table.text("cause", "Cause", lambda row: row.cause)
    table.text("place", "In", lambda row: row.place)
    table.numbers("late", "For rank", lambda row: written(row.late, "{:d}"))
    return table.table("trace-worst", "Longest waits")


def _needed(network: NetworkSensitivity) -> Table:
    def bound(value: float | None, unit: str) -> Entry:
        return written(None, "", missing=NOTHING) if value is None else quantity(value, unit)

    table = TableBuilder(network.needed).numbers("share", "Cost", lambda row: share(row.share))
    table.numbers("latency", "Latency at most", lambda row: bound(row.latency, "s"), unit="s")
    table.numbers(
        "bandwidth", "Bandwidth per rank at least", lambda row: bound(row.bandwidth, "B/s"),
        unit="B/s",
    )  # fmt: skip
    return table.table(
        "trace-needed",
        "The network that it needs",
        caption="Latency that adds this share to the run time without latency; bandwidth that adds "
        "it to the run time with unlimited bandwidth.",
    )


def _predictions(network: NetworkSensitivity, doubts: Doubts) -> Table:
    """Doubtful run times have only a range, or nothing."""

    def known(row: RunTimeOn, value: float | None) -> float | None:
        return None if with_prediction(doubts, row).about("run time") else value

    def seconds(row: RunTimeOn) -> Entry:
        doubt = with_prediction(doubts, row).about("run time")
        if doubt is None:
            return quantity(row.seconds, "s", (row.low, row.high))
        if doubt.kind not in LEAVES_RANGE:
            return _UNKNOWN
        span = f"{format_quantity(row.low, 's')} to {format_quantity(row.high, 's')}, doubtful"
        return Entry(span, tone="warn")

    table = TableBuilder(network.predictions)
    table.text("interconnect", "Interconnect", lambda row: row.interconnect)
    table.numbers("latency", "Latency", lambda row: quantity(row.latency, "s"), unit="s")
    table.numbers("bandwidth", "Bandwidth", lambda row: quantity(row.bandwidth, "B/s"), unit="B/s")
    table.numbers("seconds", "Run time [range]", seconds, unit="s")
    table.numbers("ratio", "÷ this run", lambda row: written(known(row, row.ratio), "{:.3g}"))
    table.text("grain", "Grain", lambda row: row.grain if known(row, 1.0) else _UNKNOWN.text)
    table.numbers(
        "computing", "Computation ÷ communication",
        lambda row: written(known(row, row.computing_ratio), "{:.3g}"),
    )  # fmt: skip
    table.numbers(
        "medium", "Medium from ranks", lambda row: written(known(row, row.medium_from), "{:.3g}")
    )
    table.numbers(
        "fine", "Fine from ranks", lambda row: written(known(row, row.fine_from), "{:.3g}")
    )
    unknown = "".join(f" {text}" for text in left_out(doubts, ("run time",)))
    return table.table(
        "trace-networks",
        "On other interconnects",
        caption="Coarse: computation at least 10 × communication. Fine: computation at most 1 × "
        "communication. "
        + "; ".join(f"{row.interconnect}: {row.source}" for row in network.predictions)
        + f".{unknown}",
    )


def _links(network: NetworkSensitivity) -> Table:
    rows = [one for one in network.links if one.observations]
    table = TableBuilder(rows).text("link", "Link", lambda row: row.link)
    table.numbers("latency", "L", lambda row: quantity(row.latency, "s"), unit="s")
    table.numbers("overhead", "o", lambda row: quantity(row.overhead, "s"), unit="s")
    table.numbers("bandwidth", "1/G", lambda row: quantity(row.bandwidth, "B/s"), unit="B/s")
    table.counts("observations", "Observations", lambda row: row.observations)
    table.numbers("scatter", "Median deviation", lambda row: share(row.scatter))
    return table.table("trace-links", "The network of this run, estimated from its messages")


def _cov_text(cov: float) -> str:
    """A coefficient of variation; ``under …`` if it may come from rounding."""
    return f"{100 * cov:.2g}%" if cov >= _LEAST_COV else f"under {_LEAST_COV:.2%}"

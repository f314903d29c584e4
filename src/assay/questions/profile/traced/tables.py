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
from assay.questions.profile.traced.model import NetworkSensitivity, TraceFindings
from assay.units import format_quantity

_MOST = 20

# Below this a coefficient of variation is what rounding makes of equal times.
_LEAST_COV = 1e-4


def tables(found: TraceFindings) -> list[Table]:
    """Efficiencies, waiting by cause, place and origin, phases, critical path, networks."""
    drawn = [_efficiencies(found), _causes(found), _origins(found), _places(found)]
    drawn += [_phases(found), _critical(found), _worst(found)]
    if found.network is not None:
        drawn += [_needed(found.network), _predictions(found.network), _links(found.network)]
    return [table for table in drawn if table.rows]


def _efficiencies(found: TraceFindings) -> Table:
    of = found.efficiencies
    rows = [
        ("Parallel efficiency", of.parallel, "mean computing time ÷ run time"),
        ("· Load balance", of.load_balance, "mean ÷ longest computing time"),
        ("· Communication efficiency", of.communication, "longest computing time ÷ run time"),
        ("·· Serialisation", of.serialisation, "longest computing ÷ run time on an ideal network"),
        ("·· Transfer", of.transfer, "run time on an ideal network ÷ run time"),
    ]
    table = TableBuilder(rows).text("what", "Efficiency", lambda row: row[0])
    table.numbers("value", "Value", lambda row: share(row[1]))
    table.text("meaning", "Meaning", lambda row: row[2])
    return table.table(
        "trace-efficiencies", "Efficiencies", caption="Each is the product of those below it."
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
        caption="Waiting of all ranks that goes back to what one rank did in one place longer than "
        f"those that waited. The {_MOST} with most."
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


def _phases(found: TraceFindings) -> Table:
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
    table.numbers("computing", "Computing", lambda row: quantity(row.computing, "s"), unit="s")
    table.numbers("waiting", "Waiting", lambda row: quantity(row.waiting, "s"), unit="s")
    table.numbers("mpi", "Else in MPI", lambda row: quantity(row.mpi, "s"), unit="s")
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
        caption="What would have to be faster for the run to end sooner.",
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
        caption="Latency that costs this share of the run time without any; bandwidth likewise.",
    )


def _predictions(network: NetworkSensitivity) -> Table:
    table = TableBuilder(network.predictions)
    table.text("interconnect", "Interconnect", lambda row: row.interconnect)
    table.numbers("latency", "Latency", lambda row: quantity(row.latency, "s"), unit="s")
    table.numbers("bandwidth", "Bandwidth", lambda row: quantity(row.bandwidth, "B/s"), unit="B/s")
    table.numbers(
        "seconds", "Run time [range]",
        lambda row: quantity(row.seconds, "s", (row.low, row.high)), unit="s",
    )  # fmt: skip
    table.numbers("ratio", "÷ this run", lambda row: written(row.ratio, "{:.3g}"))
    table.text("grain", "Grain", lambda row: row.grain)
    table.numbers(
        "computing", "Computation ÷ communication",
        lambda row: written(row.computing_ratio, "{:.3g}"),
    )  # fmt: skip
    table.numbers("medium", "Medium from ranks", lambda row: written(row.medium_from, "{:.3g}"))
    table.numbers("fine", "Fine from ranks", lambda row: written(row.fine_from, "{:.3g}"))
    return table.table(
        "trace-networks",
        "On other interconnects",
        caption="Coarse: computation at least 10 × communication; fine: at most as long. "
        + "; ".join(f"{row.interconnect}: {row.source}" for row in network.predictions)
        + ".",
    )


def _links(network: NetworkSensitivity) -> Table:
    rows = [one for one in network.links if one.observations]
    table = TableBuilder(rows).text("link", "Link", lambda row: row.link)
    table.numbers("latency", "L", lambda row: quantity(row.latency, "s"), unit="s")
    table.numbers("overhead", "o", lambda row: quantity(row.overhead, "s"), unit="s")
    table.numbers("bandwidth", "1/G", lambda row: quantity(row.bandwidth, "B/s"), unit="B/s")
    table.counts("observations", "Observations", lambda row: row.observations)
    table.numbers("scatter", "Median deviation", lambda row: share(row.scatter))
    return table.table("trace-links", "The network of this run, as its messages show it")


def _cov_text(cov: float) -> str:
    """A coefficient of variation, as far as it is known."""
    return f"{100 * cov:.2g}%" if cov >= _LEAST_COV else f"under {_LEAST_COV:.2%}"

"""Tables on a program's MPI calls."""

from __future__ import annotations

from assay.questions.common.tables import (
    NOTHING,
    Table,
    TableBuilder,
    fact_table,
    quantity,
    share,
    written,
)
from assay.subjects.profile.answer import kind_name
from assay.subjects.profile.doubts import computing_label, left_out, profile_doubts
from assay.subjects.profile.launches import launches_evidence
from assay.subjects.profile.model import ProfileFindings, ProfileRank
from assay.units import counted, format_duration, format_minute, listed

_MOST_SITES = 20


def tables(found: ProfileFindings) -> list[Table]:
    """Summary, kinds, functions and call sites."""
    return [_summary(found), _kinds(found), _functions(found), _sites(found)]


def program_table(found: ProfileFindings) -> Table:
    """The run of the program."""
    facts = [
        ("Command", " ".join(found.command)),
        ("Started", format_minute(found.utc)),
        ("Exit status", str(found.status)),
        ("MPI", found.mpi),
        ("Ranks", f"{found.size:,} on {counted(found.hosts, 'host')}"),
        ("Hosts", listed(sorted({rank.host for rank in found.ranks})[:8])),
        ("From start to end", format_duration(found.total)),
        ("From MPI_Init to MPI_Finalize", format_duration(found.wall)),
    ]
    return fact_table("system", "Program", facts)


def _summary(found: ProfileFindings) -> Table:
    demand, grain, of = found.demand, found.grain, found.efficiencies
    span = (demand.bytes.least, demand.bytes.most)
    doubts = profile_doubts(found)
    of = None if doubts.about("efficiency") else of
    between = None if doubts.about("computing") else grain.between
    rows = [
        ("Parallel efficiency", share(of.parallel) if of else NOTHING),
        ("Load balance", share(of.load_balance) if of else NOTHING),
        ("Communication efficiency", share(of.communication) if of else NOTHING),
        ("Computing between two calls, mean", quantity(between, "s")),
        ("Sent to other ranks, per rank [least, most]", quantity(demand.bytes.mean, "B/s", span)),
        ("Messages per s, per rank", written(demand.messages.mean, "{:.3g}")),
        ("Collectives per s, per rank", written(demand.collectives, "{:.3g}")),
        *(
            (f"{one.label} ({one.note})", written(one.value, "{:.3g}"))
            for one in launches_evidence(found.launches)
        ),
    ]
    table = TableBuilder(rows).text("what", "What", lambda row: row[0])
    table.numbers("value", "Value", lambda row: row[1])
    caption = " ".join(left_out(doubts, ("efficiency", "computing")))
    return table.table("profile-summary", "Summary", caption=caption)


def _kinds(found: ProfileFindings) -> Table:
    table = TableBuilder(found.kinds).text("kind", "Kind", lambda row: kind_name(row.kind))
    table.counts("calls", "Calls", lambda row: row.calls)
    table.numbers("mean", "Time, mean of ranks", lambda row: quantity(row.time.mean, "s"), unit="s")
    table.numbers("least", "least", lambda row: quantity(row.time.least, "s"), unit="s")
    table.numbers("most", "most", lambda row: quantity(row.time.most, "s"), unit="s")
    table.numbers("share", "Share of wall time", lambda row: share(row.share))
    return table.table("profile-kinds", "Time by kind of function")


def _functions(found: ProfileFindings) -> Table:
    table = TableBuilder(found.functions).text("function", "Function", lambda row: row.function)
    table.counts("calls", "Calls", lambda row: row.calls)
    table.numbers("bytes", "Bytes", lambda row: quantity(row.bytes, "B"), unit="B")
    if any(row.device_calls for row in found.functions):
        title = "of these in device memory"
        table.numbers("device_bytes", title, lambda row: quantity(row.device_bytes, "B"), unit="B")
        table.counts("device_calls", "Calls with device memory", lambda row: row.device_calls)
    table.numbers("time", "Time, all ranks", lambda row: quantity(row.time, "s"), unit="s")
    table.numbers("longest", "Longest call", lambda row: quantity(row.longest, "s"), unit="s")
    table.numbers("share", "Share of wall time", lambda row: share(row.share))
    return table.table(
        "profile-functions",
        "Functions",
        caption="Bytes are counted in the rank's own send buffer; for receives, they are the size "
        "of the receive buffer.",
    )


def _sites(found: ProfileFindings) -> Table:
    table = TableBuilder(found.sites[:_MOST_SITES])
    table.text("function", "Function", lambda row: row.function)
    table.text("place", "Called from", lambda row: row.place)
    table.counts("ranks", "Ranks", lambda row: row.ranks)
    table.counts("calls", "Calls", lambda row: row.calls)
    table.numbers("bytes", "Bytes", lambda row: quantity(row.bytes, "B"), unit="B")
    if any(row.device_bytes for row in found.sites):
        title = "of these in device memory"
        table.numbers("device_bytes", title, lambda row: quantity(row.device_bytes, "B"), unit="B")
    table.numbers("mean", "Time, mean of ranks", lambda row: quantity(row.time.mean, "s"), unit="s")
    table.numbers("most", "most", lambda row: quantity(row.time.most, "s"), unit="s")
    table.numbers("share", "Share of wall time", lambda row: share(row.share))
    more = len(found.sites) - _MOST_SITES
    left = (
        f" The {_MOST_SITES} with the most time; {more:,} more are in the JSON." if more > 0 else ""
    )
    return table.table(
        "profile-sites",
        "Call sites",
        caption=f"Programs compiled with -g have lines; addr2line (binutils) finds them.{left}",
    )


def rank_table(found: ProfileFindings) -> Table:
    """Each rank's times."""

    def inside(row: ProfileRank) -> float | None:
        return row.mpi / row.wall if row.wall > 0.0 else None

    table = TableBuilder(found.ranks).counts("rank", "Rank", lambda row: row.rank)
    table.text("host", "Host", lambda row: row.host)
    table.numbers("wall", "Wall time", lambda row: quantity(row.wall, "s"), unit="s")
    label = computing_label(profile_doubts(found))
    table.numbers("computing", label, lambda row: quantity(row.computing, "s"), unit="s")
    table.numbers("mpi", "In MPI", lambda row: quantity(row.mpi, "s"), unit="s")
    table.numbers("share", "Share in MPI", lambda row: share(inside(row)))
    table.counts("messages", "Messages sent", lambda row: row.messages)
    table.numbers("bytes", "Bytes sent", lambda row: quantity(row.bytes, "B"), unit="B")
    return table.table("profile-ranks", "Ranks")

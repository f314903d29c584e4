"""Tables on samples of call stacks."""

from __future__ import annotations

from collections.abc import Callable

from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    quantity,
    share,
    written,
)
from assay.subjects.profile.sampled.model import (
    CountedFunction,
    SampledCode,
    SampledFindings,
    SampledProcess,
)
from assay.subjects.profile.sampled.words import line_name, shortened
from assay.units import format_duration, format_share

_MOST = 25
# Share of the time above which counters ran always, but for rounding.
_ALWAYS = 0.999


def tables(found: SampledFindings) -> list[Table]:
    """Functions, lines, the slowest rank, owed waiting, counters, processes, threads.

    Only tables with rows.
    """
    every = [
        _functions(found),
        _lines(found),
        _slowest(found),
        _owed(found),
        _counters(found),
        _processes(found),
        _threads(found),
    ]
    return [table for table in every if table.rows]


def _functions(found: SampledFindings) -> Table:
    table = _code(found.functions[:_MOST])
    return table.table(
        "sampled-functions",
        "Functions",
        caption="Shares of the computing time: of the function itself [95% interval], and with all "
        f"functions that it calls. Times are CPU times of a rank.{_more(found.found)}",
    )


def _lines(found: SampledFindings) -> Table:
    table = _code([one for one in found.lines if line_name(one)][:_MOST], lines=True)
    return table.table(
        "sampled-lines",
        "Lines",
        caption="Lines are known for code that is compiled with -g.",
    )


def _code(rows: list[SampledCode], *, lines: bool = False) -> TableBuilder[SampledCode]:
    def own(of: Callable[[SampledCode], Entry]) -> Callable[[SampledCode], Entry]:
        return lambda row: of(row) if row.samples else NOTHING

    table = TableBuilder(rows).text("function", "Function", lambda row: shortened(row.function))
    if lines:
        table.text("line", "Line", line_name)
    table.text("module", "Module", lambda row: shortened(row.module, 32))
    # Functions that only call others have no time of their own to compare.
    table.numbers("share", "Share", lambda row: share(row.share or None, row.ci95))
    if not lines:
        table.numbers("inclusive", "With callees", lambda row: share(row.inclusive))
    table.numbers("mean", "Time, mean of ranks", own(lambda row: quantity(row.mean, "s")), unit="s")
    table.numbers("least", "least", own(lambda row: quantity(row.least, "s")), unit="s")
    table.numbers("most", "most", own(lambda row: quantity(row.most, "s")), unit="s")
    table.numbers("imbalance", "Most ÷ mean", own(lambda row: written(row.imbalance, "{:.3g}")))
    return table.numbers("rank", "Rank with the most", own(lambda row: written(row.rank, "{:d}")))


def _more(number: int) -> str:
    return f" The {_MOST} of {number:,} with the most time." if number > _MOST else ""


def _slowest(found: SampledFindings) -> Table:
    slowest = found.slowest
    table = TableBuilder([] if slowest is None else slowest.functions[:_MOST])
    table.text("function", "Function", lambda row: shortened(row.function))
    table.numbers(
        "excess", "Beyond the mean of ranks", lambda row: quantity(row.seconds, "s", row.ci95),
        unit="s",
    )  # fmt: skip
    table.numbers("share", "Share of the excess", lambda row: share(row.share))
    table.numbers("p", "p", lambda row: written(row.p, "{:.2g}"))
    if slowest is None:
        return table.table("sampled-slowest", "The slowest rank")
    return table.table(
        "sampled-slowest",
        f"Rank {slowest.rank}, which computes longest",
        caption=f"It computes {format_duration(slowest.seconds)}, the mean of the ranks "
        f"{format_duration(slowest.mean)}. p is corrected for the number of functions and ranks.",
    )


def _owed(found: SampledFindings) -> Table:
    owed = found.owed
    table = TableBuilder([] if owed is None else owed.functions[:_MOST])
    table.numbers("rank", "Rank", lambda row: written(row.rank, "{:d}"))
    table.text("function", "Function", lambda row: shortened(row.function))
    table.numbers(
        "waiting", "Waiting of other ranks", lambda row: quantity(row.seconds, "s", row.ci95),
        unit="s",
    )  # fmt: skip
    table.numbers("share", "Share", lambda row: share(row.share))
    if owed is None or owed.computing <= 0.0:
        return table.table("sampled-owed", "What the waiting is owed to")
    return table.table(
        "sampled-owed",
        "What the waiting is owed to",
        caption=f"{format_duration(owed.computing)} of waiting for ranks that computed longer. "
        f"{format_share(owed.asleep / owed.computing)} of it is for ranks that were not on a CPU, "
        f"{format_share(owed.unsampled / owed.computing)} for computing with too few samples.",
    )


def _counters(found: SampledFindings) -> Table:
    counters = found.counters
    table = TableBuilder([] if counters is None else counters.functions[:_MOST])
    table.text("function", "Function", lambda row: shortened(row.function))
    table.numbers("seconds", "CPU time", lambda row: quantity(row.seconds, "s"), unit="s")
    for at, name in enumerate([] if counters is None else counters.events):
        table.numbers(name, name, _event(at))
    table.numbers("ipc", "Instructions ÷ cycles", lambda row: written(row.ipc, "{:.3g}"))
    table.numbers("misses", "Misses per 1,000", lambda row: written(row.misses, "{:.3g}"))
    table.numbers("shared", "Shared periods", lambda row: share(row.shared))
    if counters is None:
        return table.table("sampled-counters", "Counters")
    part = (
        ""
        if counters.counted is None or counters.counted > _ALWAYS
        else f" The counters were shared: they ran for {format_share(counters.counted)} of the "
        "time, and numbers are scaled up."
    )
    return table.table(
        "sampled-counters",
        "Counters",
        caption="Events between two samples count for the function of the second one. Shared "
        "periods began in another function, which may have caused a part of the events. Misses are "
        f"cache misses per 1,000 instructions.{part}",
    )


def _event(at: int) -> Callable[[CountedFunction], Entry]:
    return lambda row: written(row.events[at], "{:.4g}")


def _processes(found: SampledFindings) -> Table:
    table = TableBuilder(found.processes[:_MOST]).counts("rank", "Rank", lambda row: row.rank)
    table.text("host", "Host", lambda row: shortened(row.host, 32))
    table.counts("process", "Process", lambda row: row.process)
    table.numbers("parent", "Forked by", lambda row: written(row.parent or None, "{:d}"))
    table.counts("threads", "Threads", lambda row: row.threads)
    table.numbers("computing", "Computing", lambda row: quantity(row.computing, "s"), unit="s")
    table.numbers("mpi", "In MPI", lambda row: quantity(row.mpi, "s"), unit="s")
    table.text("functions", "Most computing in", _busiest)
    many = len(found.processes)
    return table.table(
        "sampled-processes",
        "Processes",
        caption="CPU times of the program's processes and of the children that they forked, which "
        "have the rank of their parent."
        + (f" The {_MOST} of {many:,} that compute longest." if many > _MOST else ""),
    )


def _busiest(row: SampledProcess) -> str:
    return ", ".join(
        f"{shortened(one.function)} {format_share(one.seconds / row.computing)}"
        for one in row.functions
    )


def _threads(found: SampledFindings) -> Table:
    rows = sorted(found.threads, key=lambda one: -one.waiting)[:_MOST]
    rows.sort(key=lambda one: (one.rank, one.thread))
    if len(found.threads) == found.ranks:  # one per rank, which the functions show
        rows = []
    table = TableBuilder(rows).counts("rank", "Rank", lambda row: row.rank)
    table.counts("thread", "Thread", lambda row: row.thread)
    table.text("name", "Name", lambda row: shortened(row.name, 32))
    table.numbers("computing", "Computing", lambda row: quantity(row.computing, "s"), unit="s")
    table.numbers(
        "waiting", "Waiting for threads", lambda row: quantity(row.waiting, "s"), unit="s"
    )
    table.numbers("mpi", "In MPI", lambda row: quantity(row.mpi, "s"), unit="s")
    table.text("function", "Most computing in", lambda row: shortened(row.function))
    more = len(found.threads) > _MOST
    return table.table(
        "sampled-threads",
        "Threads",
        caption="CPU times. Waiting is time in a run-time library of OpenMP."
        + (f" The {_MOST} threads that wait longest." if more else ""),
    )

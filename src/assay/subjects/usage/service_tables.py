"""Tables of a service report: use against request by cluster, month, account, user and job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    count,
    share,
)
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.words import SOURCES, hours_text, seconds_text
from assay.units import format_quantity, format_share
from assay.usage.analysis.model import (
    UsageAccount,
    UsageCluster,
    UsageEfficiency,
    UsageFairShare,
    UsageJob,
    UsageSpan,
)

R = TypeVar("R")
# The columns by which a page filters rows, with their headings.
_FILTERS = {"month": "Month", "cluster": "Cluster", "group": "Account", "user": "User"}
_EFFICIENCY = (
    "CPU efficiency: processor time computed ÷ allocated. Memory efficiency: memory used ÷ "
    "allocated. Over several jobs both parts are summed; memory counts for as long as it was held."
)


def service_tables(found: UsageFindings) -> list[Table]:
    """The tables for which the log has data."""
    built = []
    if found.clusters:
        built.append(_clusters(found.clusters))
    if len(found.months) > 1 or any(each.efficiency for each in found.months):
        built.append(_months(found.months))
    # A table of one row says what the summary says.
    if len(found.accounts) > 1:
        built.append(_accounts(found.accounts))
    if found.fair_shares:
        built.append(_fair_shares(found.fair_shares))
    if found.wasteful:
        built.append(_wasteful(found.wasteful, shown=not found.anonymous))
    return built


def efficiency_columns(
    table: TableBuilder[R], rows: Iterable[R], of: Callable[[R], UsageEfficiency | None]
) -> TableBuilder[R]:
    """Add the columns of efficiency for which any row has a value."""

    def value(row: R, name: str) -> float | None:
        found = of(row)
        number: float | None = None if found is None else getattr(found, name)
        return number

    def known(name: str) -> bool:
        return any(value(row, name) is not None for row in rows)

    def hours(name: str) -> Callable[[R], Entry]:
        return lambda row: _hours(value(row, name))

    rows = list(rows)
    if known("cpu"):
        table.numbers("cpu", "CPU eff.", lambda row: share(value(row, "cpu")), unit="1",
                      total="use")  # fmt: skip
    if known("memory"):
        table.numbers("memory", "Memory eff.", lambda row: share(value(row, "memory")), unit="1",
                      total="use")  # fmt: skip
    if any(value(row, "gpu_time") for row in rows):
        table.numbers("gpus", "GPU time", hours("gpu_time"), total="sum")
    if known("energy"):
        table.numbers("energy", "Energy", lambda row: _energy(value(row, "energy")), unit="J",
                      total="sum")  # fmt: skip
    return table


def _hours(time: float | None) -> Entry:
    return NOTHING if time is None else Entry(hours_text(time), time)


def energy_text(joule: float) -> str:
    """Energy in kWh, the unit of bills."""
    return format_quantity(joule / 3600.0, "Wh")


def _energy(joule: float | None) -> Entry:
    return NOTHING if joule is None else Entry(energy_text(joule), joule)


def _named(table: TableBuilder[R], rows: Sequence[R]) -> TableBuilder[R]:
    """Add the columns by which a page filters, if they have different or known names."""
    for name, label in _FILTERS.items():
        names = {getattr(row, name) for row in rows}
        if names - {"", "unknown"}:
            table.text(name, label, partial(_attribute, name))
    return table


def _attribute(name: str, row: object) -> str:
    return str(getattr(row, name))


def _accounts(rows: Sequence[UsageAccount]) -> Table:
    table = _named(TableBuilder(rows), rows)
    table.numbers("jobs", "Jobs", lambda row: count(row.jobs), total="sum")
    table.numbers("use", "Processor time", lambda row: _hours(row.use), total="sum")
    efficiency_columns(table, rows, lambda row: row.efficiency)
    return table.table(
        "usage-accounts",
        "Use by month, account and user",
        caption=f"Jobs count in the month in which they ended. {_EFFICIENCY}",
        filters=list(_FILTERS),
    )


def _fair_shares(rows: Sequence[UsageFairShare]) -> Table:
    def ratio(row: UsageFairShare) -> Entry:
        return NOTHING if row.ratio is None else Entry(format_quantity(row.ratio, ""), row.ratio)

    return (
        TableBuilder(rows)
        .text("group", "Account", lambda row: row.account)
        .numbers("target", "Target", lambda row: share(row.target), unit="1", total="sum")
        .numbers("share_use", "Of the use", lambda row: share(row.share_of_use), unit="1",
                 total="sum")
        .numbers("use", "Processor time", lambda row: _hours(row.use), total="sum")
        .numbers("ratio", "Use ÷ target", ratio)
        .table(
            "usage-fair-shares",
            "Fair share",
            caption="Target: the account's shares ÷ those of its siblings, over all levels, "
            "without the accounts below it, as of the time of sshare. Use comes from "
            "this log, without sshare's decay.",
            filters=["group"],
        )
    )  # fmt: skip


def _wasteful(rows: Sequence[UsageJob], *, shown: bool) -> Table:
    table = TableBuilder(rows).text("job", "Job", lambda row: row.job)
    _named(table, rows)
    table.text("state", "Outcome", lambda row: row.state)
    table.numbers("processors", "Processors", lambda row: count(row.processors))
    table.numbers("run", "Run time", lambda row: Entry(seconds_text(row.run), row.run), unit="s")
    table.numbers("unused", "Unused", lambda row: _hours(row.unused), total="sum")
    table.numbers("cpu", "CPU eff.", lambda row: share(row.cpu), unit="1")
    if any(row.memory is not None for row in rows):
        table.numbers("memory", "Memory eff.", lambda row: share(row.memory), unit="1")
    if any(row.gpus for row in rows):
        table.numbers("gpus", "GPUs", lambda row: count(row.gpus or 0))
    if any(row.energy is not None for row in rows):
        table.numbers("energy", "Energy", lambda row: _energy(row.energy), unit="J", total="sum")
    ids = "" if shown else " `--identify` shows the ids."
    return table.table(
        "usage-wasteful",
        "Jobs with the most unused processor time",
        caption=f"Unused: processor time allocated and not computed.{ids}",
        filters=list(_FILTERS),
        folded=True,
    )


def _months(spans: Sequence[UsageSpan]) -> Table:
    table = (
        TableBuilder(spans)
        .text("month", "Month", lambda span: span.name)
        .numbers("utilisation", "Utilisation", lambda span: share(span.utilisation), unit="1")
        .numbers("use", "In use", lambda span: _hours(span.busy), total="sum")
        .numbers("available", "Available", lambda span: _hours(span.available), total="sum")
        .numbers("submitted", "Submitted", lambda span: count(span.submitted), total="sum")
        .numbers("ended", "Ended", lambda span: count(span.ended), total="sum")
    )
    efficiency_columns(table, spans, lambda span: span.efficiency)
    table.text("part", "Coverage", lambda span: "" if span.whole else "in part", tone="quiet")
    return table.table(
        "usage-months",
        "Months",
        caption="In part: at the ends of the log, where use may be missing. Efficiencies cover the "
        "jobs that ended in the month.",
        filters=["month"],
    )


def _clusters(rows: Sequence[UsageCluster]) -> Table:
    def bounds(row: UsageCluster) -> Entry:
        use = row.utilisation
        if use.value is None:
            return NOTHING
        text = format_share(use.value)
        if use.high - use.low >= 0.005:
            text += f" [{format_share(use.low)}, {format_share(use.high)}]"
        return Entry(text, use.value)

    table = (
        TableBuilder(rows)
        .text("cluster", "Cluster", lambda row: row.name)
        .numbers("jobs", "Jobs", lambda row: count(row.jobs), total="sum")
        .numbers("use", "Processor time", lambda row: _hours(row.use), total="sum")
        .numbers("share_use", "Of the use", lambda row: share(row.share_of_use), unit="1")
        .numbers("processors", "Processors", lambda row: count(row.processors), total="sum")
        .numbers("utilisation", "Utilisation [bounds]", bounds, unit="1")
    )
    if any(row.wait is not None for row in rows):
        table.numbers(
            "wait",
            "Median wait",
            lambda row: NOTHING if row.wait is None else Entry(seconds_text(row.wait), row.wait),
            unit="s",
        )
    efficiency_columns(table, rows, lambda row: row.efficiency)
    sources = "; ".join(f"{row.name}: {SOURCES[row.source]}" for row in rows)
    return table.table(
        "usage-clusters",
        "Clusters",
        caption="Each cluster against its own processors, over the period of its records. "
        f"Processors: {sources}. `--cluster` reports one of them.",
        filters=["cluster"],
    )

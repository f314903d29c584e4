"""The annex of an acceptance: the conditions under which every run was measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence

from assay.acceptance.measured import ContractRun
from assay.hostnames import compress_hosts, natural
from assay.questions.common.tables import Entry, Table, TableBuilder
from assay.report.machine import provenance_tables, system_table
from assay.units import format_quantity

# Covariates of a run's measurements: name, heading, and unit. Sums over a measurement are divided
# by its duration.
_OBSERVED = (
    ("load_average", "Load average", ""),
    ("clock_rate", "Clock", "Hz"),
    ("frequency", "Frequency, as reported", "Hz"),
    ("throttle_events", "Throttling events", ""),
    ("memory_available", "Memory available", "B"),
    ("device_clock", "Clock of devices", "Hz"),
    ("device_power", "Power of devices", "W"),
    ("device_temperature", "Temperature of devices", "°C"),
    ("device_throttled", "Share of time with throttled devices", ""),
)
_PER_SECOND = (
    ("other_cpu_seconds", "CPUs kept by other processes", ""),
    ("steal_seconds", "CPUs taken by other guests", ""),
    ("energy", "Power", "W"),
)
_SPAN = "sampling_seconds"
# Tables of a run's provenance whose facts are conditions.
_TOOLCHAINS = "toolchains"
_MOST_NAMED = 6


def annex_tables(runs: Sequence[ContractRun]) -> list[Table]:
    """The conditions of all runs, and what was observed while they were measured."""
    tables = [_conditions(runs), _observed(runs)]
    return [table for table in tables if table.rows and len(table.columns) > 1]


def _conditions(runs: Sequence[ContractRun]) -> Table:
    """A row for each value of each fact, with the runs that have it."""
    found: dict[tuple[str, str], list[ContractRun]] = {}
    for each in runs:
        for fact in _facts(each):
            found.setdefault(fact, []).append(each)
    # Facts in the order of the first run, with all their values together.
    order = list(dict.fromkeys(name for name, _ in found))
    rows = sorted(found.items(), key=lambda row: order.index(row[0][0]))
    return (
        TableBuilder(rows)
        .text("fact", "Condition", lambda row: row[0][0])
        .text("value", "Value", lambda row: row[0][1])
        .text("runs", "Runs", lambda row: _named(row[1], runs))
        .table("acceptance-conditions", "Conditions of the runs")
    )


def _facts(each: ContractRun) -> Iterator[tuple[str, str]]:
    manifest = each.run.manifest
    for row in system_table(manifest).rows:
        if row[0].text != "Host":
            yield row[0].text, row[1].text
    firmware = manifest.system.get("firmware")
    if isinstance(firmware, str) and firmware:
        yield "Firmware", firmware
    for table in provenance_tables(each.run):
        if table.id == _TOOLCHAINS:
            for place, column in enumerate(table.columns[1:], start=1):
                for row in table.rows:
                    if row[place].text:
                        yield f"Toolchain {column.label}: {row[0].text}", row[place].text
    yield "assay", manifest.assay


def _named(some: Sequence[ContractRun], runs: Sequence[ContractRun]) -> str:
    """The runs by name; members of a group by their nodes."""
    if len(some) == len(runs):
        return "all"
    names = []
    for name in dict.fromkeys(each.name for each in some):
        nodes = [each.node for each in some if each.name == name and each.node]
        whole = sum(each.name == name for each in runs)
        if not nodes or len(nodes) == whole:
            names.append(name)
        else:
            names.append(f"{name}: {compress_hosts(sorted(nodes, key=natural))}")
    more = len(names) - _MOST_NAMED
    return "; ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _observed(runs: Sequence[ContractRun]) -> Table:
    """A row for each run or group, a column for each covariate that any run has."""
    groups: dict[str, list[ContractRun]] = {}
    for each in runs:
        groups.setdefault(each.name, []).append(each)
    columns = [
        (name, title, unit, name in {first for first, _, _ in _PER_SECOND})
        for name, title, unit in (*_OBSERVED, *_PER_SECOND)
    ]
    rows = [
        (name, {c[0]: _values(members, c[0], per_second=c[3]) for c in columns})
        for name, members in groups.items()
    ]
    builder = TableBuilder(rows).text("run", "Run", lambda row: row[0])
    for name, title, unit, _ in columns:
        if any(values[name] for _, values in rows):
            builder.column(name, title, _entry_of(name, unit))
    return builder.table(
        "acceptance-observed",
        "While the runs were measured",
        caption="Median [lowest, highest] of all measurements. Temperatures are not recorded; "
        "throttling events show overheating.",
    )


def _entry_of(name: str, unit: str) -> Callable[[tuple[str, dict[str, list[float]]]], Entry]:
    return lambda row: _range(row[1][name], unit)


def _values(members: Sequence[ContractRun], name: str, *, per_second: bool) -> list[float]:
    values = []
    for each in members:
        for measurement in each.run.measurements:
            found = measurement.record.covariates
            value, span = found.get(name), found.get(_SPAN)
            if value is None or not math.isfinite(value):
                continue
            if not per_second:
                values.append(value)
            elif span:
                values.append(value / span)
    return values


def _range(values: Sequence[float], unit: str) -> Entry:
    if not values:
        return Entry("")

    def text(value: float) -> str:
        return format_quantity(value, unit) if unit else f"{value:.3g}"

    middle = statistics.median(values)
    return Entry(f"{text(middle)} [{text(min(values))}, {text(max(values))}]", middle)

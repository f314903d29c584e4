"""The hosts of a run: groups of equal hosts, their differences, clocks and traffic."""

from __future__ import annotations

from collections.abc import Sequence

from assay.hostnames import compress_hosts, natural
from assay.questions.common.tables import Column, Entry, Table
from assay.records.directory import NODES
from assay.records.model import RunData
from assay.records.stream import sent_by_adapter
from assay.stats.fleet.clock_spread import widest_spread
from assay.system.nodes import differences
from assay.system.survey import HostSurvey, read_nodes
from assay.units import MISSING, format_memory, format_quantity

_Row = tuple[str, ...]


def node_tables(run: RunData) -> list[Table]:
    """A table with one row per group of equal hosts; no table for a run without a survey."""
    nodes = read_nodes(run.path / NODES) if run.path else []
    if not nodes:
        return []
    equal: dict[_Row, list[HostSurvey]] = {}
    for node in nodes:
        equal.setdefault(_facts(node), []).append(node)
    return [
        Table(
            id="nodes",
            title="Hosts",
            caption=f"{len(nodes)} hosts, surveyed before the measurement. The plan uses the "
            "minimum of each resource over all hosts.",
            columns=[
                Column("hosts", "Hosts"),
                Column("processor", "Processor"),
                Column("cores", "Cores", numeric=True),
                Column("memory", "Memory", numeric=True),
                Column("system", "System"),
                Column("toolchains", "Toolchains"),
            ],
            rows=[[Entry(_names(group)), *map(Entry, row)] for row, group in equal.items()],
            notes=differences(nodes),
        )
    ]


def _names(group: Sequence[HostSurvey]) -> str:
    return compress_hosts(sorted((node.host for node in group), key=natural))


def _facts(node: HostSurvey) -> _Row:
    return (
        node.processor or MISSING,
        MISSING if node.cores is None else str(node.cores),
        MISSING if node.memory is None else format_memory(node.memory),
        " · ".join(filter(None, (node.distribution, node.kernel, node.glibc))),
        "; ".join(f"{name}: {text}" for name, text in node.toolchains.items()),
    )


def clock_text(run: RunData) -> str:
    """The largest difference in the time of day between hosts, as text; empty for one host."""
    spread = widest_spread(run.measurements)
    if spread is None:
        return ""
    apart, error = (format_quantity(value, "s") for value in (spread.apart, spread.error))
    return f"times of day differ by up to {apart} (±{error})"


def clock_notes(run: RunData) -> list[str]:
    """A caveat with a recommendation if the times of day differ too much."""
    spread = widest_spread(run.measurements)
    if spread is None or not spread.confusing:
        return []
    return [
        f"The clock of {spread.ahead} is {format_quantity(spread.apart, 's')} ahead of the clock "
        f"of {spread.behind}, so the order of events in their logs is unknown. Run an NTP client "
        "(chrony, ntpd) on every host. The numbers in this report are not affected: samples are "
        "timed by monotonic clocks."
    ]


def network_text(run: RunData) -> str:
    """``12 GB over eth1``, the adapter with the most bytes first; empty if nothing was counted."""
    sent = sent_by_adapter(m.record for m in run.measurements)
    return ", ".join(f"{format_quantity(most, 'B')} over {name}" for name, most in sent.items())

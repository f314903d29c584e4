"""The hosts of a run: a row per group of equal hosts, their differences, clocks and traffic."""

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
    """One table, a row per group of equal hosts; none for a run without a survey."""
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
            caption=f"{len(nodes)} hosts, surveyed before the measurement. The plan is made "
            "for the minimum of each resource over them.",
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
    """The greatest difference in the time of day between hosts, as text; empty on one host."""
    spread = widest_spread(run.measurements)
    if spread is None:
        return ""
    apart, error = (format_quantity(value, "s") for value in (spread.apart, spread.error))
    return f"times of day differ by {apart} at most, known to ±{error}"


def clock_notes(run: RunData) -> list[str]:
    """A caveat with a recommendation where the times of day differ by too much."""
    spread = widest_spread(run.measurements)
    if spread is None or not spread.confusing:
        return []
    return [
        f"The time of day of {spread.ahead} is {format_quantity(spread.apart, 's')} ahead of that "
        f"of {spread.behind}: events in their logs cannot be put in order. Run an NTP client "
        "(chrony, ntpd) on every host. No number of this report is affected: samples are timed by "
        "monotonic clocks."
    ]


def network_text(run: RunData) -> str:
    """``12 GB over eth1``, the most bytes first; empty where nothing was counted."""
    sent = sent_by_adapter(m.record for m in run.measurements)
    return ", ".join(f"{format_quantity(most, 'B')} over {name}" for name, most in sent.items())

"""The hosts of a run, one row per group of equal hosts, and their differences."""

from __future__ import annotations

from collections.abc import Sequence

from assay.hostnames import compress_hosts, natural
from assay.questions.common.tables import Column, Entry, Table
from assay.records.directory import NODES
from assay.records.model import RunData
from assay.system.nodes import differences
from assay.system.survey import HostSurvey, read_nodes
from assay.units import MISSING, format_memory

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

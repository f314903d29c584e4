"""The hosts of a run, equal ones in one row, and the differences between them."""

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
    """One table, a row for each kind of host; none for a run on one machine."""
    nodes = read_nodes(run.path / NODES) if run.path else []
    if not nodes:
        return []
    kinds: dict[_Row, list[HostSurvey]] = {}
    for node in nodes:
        kinds.setdefault(_facts(node), []).append(node)
    return [
        Table(
            id="nodes",
            title="Hosts",
            caption=f"{len(nodes)} hosts, surveyed before the measurement. The plan suits "
            "the smallest of them in each respect.",
            columns=[
                Column("hosts", "Hosts"),
                Column("processor", "Processor"),
                Column("cores", "Cores", numeric=True),
                Column("memory", "Memory", numeric=True),
                Column("system", "System"),
                Column("toolchains", "Toolchains"),
            ],
            rows=[[Entry(_names(group)), *map(Entry, row)] for row, group in kinds.items()],
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

"""Kinds of nodes as findings: their nodes, and how much they differ from the largest kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.hostnames import compress_hosts, natural
from assay.stats.fleet.fleet import Fleet
from assay.stats.fleet.judgement import KindDifference
from assay.stats.fleet.node_groups import columns_cells
from assay.subjects.nodes.diagnosis_rules import resource_of
from assay.subjects.nodes.model import CellByNode, MeasuredNode, NodeKind, gain_of, gains_of
from assay.subjects.nodes.slow_groups import what_of


def node_kinds(
    fleet: Fleet,
    nodes: Sequence[MeasuredNode],
    cells: Sequence[CellByNode],
    differences: Mapping[int, KindDifference],
) -> list[NodeKind]:
    """The kinds of nodes, by their machines' properties or by their values."""
    resources = [resource_of(cell.cell) for cell in cells]
    kinds = []
    for kind in np.unique(fleet.kinds).tolist():
        rows = np.flatnonzero(fleet.kinds == kind).tolist()
        names = sorted((nodes[row].name for row in rows), key=natural)
        description = Counter(nodes[row].kind for row in rows).most_common(1)[0][0]
        plain = NodeKind(compress_hosts(names), description, len(rows))
        apart = differences.get(kind)
        if apart is not None:
            members = columns_cells(fleet, resources, apart.column)
            rate = all(cells[i].better == "more" for i in members)
            plain = replace(
                plain,
                what=what_of(fleet, cells, apart.column),
                gain=gain_of(apart.shift, rate),
                ci95=gains_of(apart.interval, rate),
                rate=rate,
            )
        kinds.append(plain)
    return kinds

"""Groups of nodes as findings: slow groups, their slow resources, and what to check."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.hostnames import compress_hosts, natural
from assay.stats.fleet.fleet import ALL, Fleet
from assay.stats.fleet.node_groups import (
    GROUP_LEVEL,
    GroupComparison,
    columns_cells,
    group_interval,
)
from assay.subjects.nodes.diagnosis_rules import NETWORK, STORAGE, resource_of
from assay.subjects.nodes.grouping import Grouping
from assay.subjects.nodes.model import CellByNode, MeasuredNode, NodeGroup, gain_of, gains_of
from assay.units import listed

_SHARED = {
    NETWORK: "the switch that its nodes share, and its links",
    STORAGE: "the path to the storage that its nodes share",
}
_ELSE = (
    "what its nodes share: cooling, inlet temperature, power limits, firmware "
    "settings or the installed system"
)


def node_groups(
    fleet: Fleet,
    compared: GroupComparison,
    partitions: Sequence[Grouping],
    nodes: Sequence[MeasuredNode],
    cells: Sequence[CellByNode],
) -> list[NodeGroup]:
    """All groups that were compared: the slow groups first, in order of certainty."""
    rest = [group for group in range(len(compared.members)) if group not in compared.slow]
    found = []
    first = _headline(fleet, compared, compared.slow[0], cells) if compared.slow else None
    for group in (*compared.slow, *rest):
        rows = compared.members[group].tolist()
        partition = partitions[int(compared.partition[group])]
        column = first if first is not None and group in rest else None
        column = _headline(fleet, compared, group, cells) if column is None else column
        if column is None or not np.isfinite(compared.error[group, column]):
            continue
        resources = [resource_of(cell.cell) for cell in cells]
        rate = all(cells[i].better == "more" for i in columns_cells(fleet, resources, column))
        what = what_of(fleet, cells, column)
        resource = resource_of(cells[column].cell) if column < fleet.cells else what
        names = sorted((nodes[row].name for row in rows), key=natural)
        found.append(
            NodeGroup(
                what=partition.what,
                name=partition.names[int(partition.numbers[rows[0]])],
                nodes=compress_hosts(names),
                members=[nodes[row].member for row in rows],
                slow=group in compared.slow,
                resource=what,
                gain=gain_of(float(compared.shift[group, column]), rate),
                ci95=gains_of(group_interval(compared, group, column), rate),
                rate=rate,
                launches=int(compared.launches[group]) if group in compared.slow else 0,
                slow_launches=int(compared.slow_launches[group]) if group in compared.slow else 0,
                p_adjusted=float(compared.p[group, column]),
                suspicion=_SHARED.get(resource, _ELSE) if group in compared.slow else "",
            )
        )
    return found


def slow_groups_of(groups: Sequence[NodeGroup], member: int) -> str:
    """The slow groups of a node, in words; empty if there are none."""
    titles = [group.title for group in groups if group.slow and member in group.members]
    return listed(titles) if titles else ""


def what_of(fleet: Fleet, cells: Sequence[CellByNode], column: int) -> str:
    """A column in words: the resource, with the cell if it is one of several of the resource."""
    if column >= fleet.cells:
        return fleet.columns[column]
    resource = resource_of(cells[column].cell)
    alone = sum(resource_of(cell.cell) == resource for cell in cells) == 1
    return resource if alone else f"{resource} ({cells[column].label})"


def _headline(
    fleet: Fleet, compared: GroupComparison, group: int, cells: Sequence[CellByNode]
) -> int | None:
    """The column that reports the group.

    It is all kernels if several resources are slow, otherwise the slow resource or the most
    certain of its cells.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.nan_to_num(compared.shift[group] / compared.error[group], nan=-np.inf)
    if not np.isfinite(score).any():
        return None
    best = int(np.argmax(score))
    if group not in compared.slow:
        return best
    names = list(fleet.columns)
    resources = [resource_of(cell.cell) for cell in cells]
    significant = np.flatnonzero(compared.p[group] <= GROUP_LEVEL).tolist()
    slow = {
        resources[column] if column < fleet.cells else names[column]
        for column in significant
        if names[column] != ALL
    }
    if len(slow) == 1:
        (resource,) = slow
        whole = names.index(resource) if resource in names else -1
        if whole in significant:
            return whole
        return max((c for c in significant if names[c] != ALL), key=lambda c: float(score[c]))
    return names.index(ALL) if ALL in names and names.index(ALL) in significant else best

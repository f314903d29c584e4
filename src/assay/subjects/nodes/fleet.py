"""Nodes that are slower than the others or get slower, with the slow resource and the suspect."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.fleet.drift import Drift, find_drifts
from assay.stats.fleet.earlier_runs import EarlierRun, with_now
from assay.stats.fleet.fleet import ALL, LEVEL, Fleet, logarithms
from assay.stats.fleet.judgement import (
    chosen_node_interval,
    judge,
    kind_differences,
    smallest_seen,
)
from assay.stats.fleet.node_groups import GroupComparison, columns_cells
from assay.stats.fleet.peers import MIN_VALUES, median_down
from assay.subjects.nodes.covariates import covariate_deviations
from assay.subjects.nodes.diagnosis_rules import (
    CovariateDeviation,
    Profile,
    SlowCore,
    resource_of,
    suspect,
)
from assay.subjects.nodes.grouping import groupings
from assay.subjects.nodes.kinds import node_kinds
from assay.subjects.nodes.model import (
    CellByNode,
    ExplainedNode,
    FasterNode,
    MeasuredNode,
    NodeDeviations,
    NodeGroup,
    NodeKind,
    SuspectNode,
    gain_of,
    gains_of,
)
from assay.subjects.nodes.slow_groups import node_groups, slow_groups_of, what_of
from assay.units import counted

# An earlier run confirms a finding if its shift is at least this share of the present one.
_AGAIN = 0.5


@dataclass(frozen=True)
class FleetExamination:
    """Results of examining a fleet."""

    fleet: Fleet
    #: Comparison of ``groups``.
    compared: GroupComparison | None
    #: ``nodes``, ``cells``: the rows and columns of ``fleet``. The effects of slow groups are
    #: removed from it.
    nodes: Sequence[MeasuredNode]
    cells: Sequence[CellByNode]
    groups: list[NodeGroup]
    suspects: list[SuspectNode]
    kinds: list[NodeKind]
    #: Cells, as text, whose values form separate groups of nodes.
    split: list[str]
    faster: list[FasterNode]
    #: Number of earlier runs compared.
    occasions: int
    #: Number of nodes that seem slow, but not slower than some nodes by chance in fleets without
    #: slow nodes. ``more_launches`` per node would decide whether they are slow.
    undecided: int
    more_launches: int
    #: Nodes that are slower, but not beyond the tail of the fleet; the farthest first.
    explained: list[ExplainedNode]
    #: The relative slowdown from which on 95% of nodes that are slow in all cells would be named.
    #: None if none would, and if a node is named.
    seen: float | None

    def deviations(self) -> NodeDeviations:
        """Each node against the typical node of its kind, by cell, with effects of its groups."""
        shift = self.fleet.shift[:, : self.fleet.cells]
        if self.compared is not None:
            shift = shift + self.compared.effects[:, : self.fleet.cells]
        rates = np.array([cell.better == "more" for cell in self.cells])
        return NodeDeviations(
            nodes=[node.name for node in self.nodes],
            members=[node.member for node in self.nodes],
            cells=[cell.label for cell in self.cells],
            gain=np.where(rates, np.expm1(-shift), -np.expm1(shift)),  # as gain_of
            slower=self.fleet.p_columns[:, : self.fleet.cells] <= LEVEL,
        )


def examine(
    nodes: Sequence[MeasuredNode],
    cells: Sequence[CellByNode],
    utc: float = 0.0,
    before: Sequence[EarlierRun] = (),
    stated: Mapping[str, Mapping[str, str]] | None = None,
) -> FleetExamination | None:
    """Examine the nodes. ``cells``: from ``by_node``. None if too few can be compared.

    ``utc``: time of the measurement; ``before``: earlier runs; ``stated``: groups of nodes as in
    ``[system.groups]``.
    """
    used = [cell for cell in cells if len(cell.values) >= MIN_VALUES]
    if len(nodes) < MIN_VALUES or not used:
        return None
    resources = [resource_of(cell.cell) for cell in used]
    costs = _costs(nodes, used)
    partitions = groupings([node.host or "" for node in nodes], stated)
    judged = judge(costs, resources, [each.numbers for each in partitions], _known_kinds(nodes))
    fleet, compared = judged.fleet, judged.compared
    groups = node_groups(fleet, compared, partitions, nodes, used) if compared else []
    hosts = Counter(node.host for node in nodes)
    names = [node.host if node.host and hosts[node.host] == 1 else "" for node in nodes]
    now = EarlierRun("now", utc, _present(nodes, names, used))
    history, times = with_now(before, now, names, [cell.id for cell in used])
    deviating, cores = covariate_deviations(
        [node.covariates for node in nodes], [node.core for node in nodes], fleet.kinds
    )
    known = frozenset(name for node in nodes for name in node.covariates)
    suspects: list[SuspectNode] = []
    outliers: set[int] = set()
    for row in judged.named:
        profile = _profile(
            fleet=fleet,
            cells=used,
            row=row,
            deviating=deviating[row],
            recorded=known,
            core=cores[row],
        )
        within = slow_groups_of(groups, nodes[row].member)
        found = _outlier(
            fleet=fleet,
            node=nodes[row],
            cells=used,
            row=row,
            profile=profile,
            history=history,
            within=within,
        )
        found = replace(found, beyond=float(judged.beyond[row]))
        if found.ci95[1] < 0.0:  # a node whose interval includes 0 is not reported
            suspects.append(found)
            outliers.add(row)
    for drift in find_drifts(history, times, fleet.kinds):
        if drift.node not in outliers and drift.interval[0] > 0.0:
            profile = _drifting(
                fleet=fleet,
                cells=used,
                drift=drift,
                deviating=deviating[drift.node],
                known=known,
                core=cores[drift.node],
            )
            suspects.append(_drifting_node(nodes[drift.node], used, drift, profile, times))
    return FleetExamination(
        fleet=fleet,
        compared=compared,
        nodes=nodes,
        cells=used,
        groups=groups,
        suspects=suspects,
        kinds=node_kinds(fleet, nodes, used, kind_differences(costs, resources, fleet)),
        split=[_label(fleet, used, column) for column in dict.fromkeys(fleet.split)],
        faster=[_faster(fleet, nodes[row], used, row) for row in fleet.faster().tolist()],
        occasions=len(before),
        undecided=len(judged.undecided),
        more_launches=judged.more_launches,
        explained=[
            _explained(fleet, nodes[row], used, row, float(judged.beyond[row]))
            for row in sorted(judged.explained, key=lambda row: float(judged.beyond[row]))
        ],
        seen=None if suspects else _seen(smallest_seen(costs, resources, judged)),
    )


def _seen(shift: float) -> float | None:
    return float(np.expm1(shift)) if np.isfinite(shift) else None


def _label(fleet: Fleet, cells: Sequence[CellByNode], column: int) -> str:
    return cells[column].label if column < fleet.cells else fleet.columns[column]


def _costs(nodes: Sequence[MeasuredNode], cells: Sequence[CellByNode]) -> Floats:
    most = max((len(node.costs.get(cell.id, ())) for node in nodes for cell in cells), default=0)
    costs = np.full((len(nodes), len(cells), max(most, 1)), np.nan)
    for row, node in enumerate(nodes):
        for column, cell in enumerate(cells):
            launches = node.costs.get(cell.id, ())
            costs[row, column, : len(launches)] = launches
    return costs


def _known_kinds(nodes: Sequence[MeasuredNode]) -> Ints | None:
    """Kinds by the machines' recorded properties, the most common first."""
    common = [kind for kind, _ in Counter(node.kind for node in nodes).most_common()]
    return np.array([common.index(node.kind) for node in nodes]) if len(common) > 1 else None


def _present(
    nodes: Sequence[MeasuredNode], hosts: Sequence[str], cells: Sequence[CellByNode]
) -> dict[str, dict[str, float]]:
    return {
        cell.id: {
            host: float(np.median(node.costs[cell.id]))
            for host, node in zip(hosts, nodes, strict=True)
            if host and len(node.costs.get(cell.id, ()))
        }
        for cell in cells
    }


def _profile(
    fleet: Fleet,
    cells: Sequence[CellByNode],
    row: int,
    deviating: Mapping[str, CovariateDeviation],
    recorded: frozenset[str],
    core: SlowCore | None,
) -> Profile:
    """The node's profile for the rules: the shift of each resource, and the significant shifts."""
    shifts: dict[str, float] = {}
    slow: set[str] = set()
    single_cells: list[str] = []
    for resource, members in _by_resource(cells).items():
        columns = [*members, *(i for i, c in enumerate(fleet.columns) if c == resource)]
        shift = fleet.shift[row, columns]
        measured = int(np.isfinite(shift[: len(members)]).sum())
        if measured == 0:
            continue
        shifts[resource] = float(shift[-1] if np.isfinite(shift[-1]) else np.nanmedian(shift))
        significant = fleet.p_columns[row, columns] <= LEVEL
        significant_count = int(significant[: len(members)].sum())
        if significant[len(members) :].any() or 2 * significant_count >= measured:
            slow.add(resource)
        elif significant_count:
            single_cells.append(f"{significant_count} of {counted(measured, 'cell')} of {resource}")
    return Profile(
        shifts=shifts,
        slow=frozenset(slow),
        deviating=deviating,
        known=recorded,
        core=core,
        single_cells=tuple(single_cells),
    )


def _by_resource(cells: Sequence[CellByNode]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, cell in enumerate(cells):
        places[resource_of(cell.cell)].append(place)
    return places


def _outlier(
    fleet: Fleet,
    node: MeasuredNode,
    cells: Sequence[CellByNode],
    row: int,
    profile: Profile,
    history: Floats,
    within: str,
) -> SuspectNode:
    column = _headline(fleet, cells, row, profile)
    resources = [resource_of(cell.cell) for cell in cells]
    members = columns_cells(fleet, resources, column)
    with np.errstate(invalid="ignore"):
        worst = members[int(np.nanargmax(np.nan_to_num(fleet.t[row, members], nan=-np.inf)))]
    shift = float(fleet.shift[row, column])
    rate = all(cells[i].better == "more" for i in members)
    occasions, again = _earlier(history, fleet.kinds, row, members, shift)
    suspicion, evidence = suspect(profile)
    return SuspectNode(
        node=node.name,
        member=node.member,
        how="outlier",
        what=what_of(fleet, cells, column),
        cell=cells[worst].label,
        gain=gain_of(shift, rate),
        ci95=gains_of(chosen_node_interval(fleet, row, column), rate),
        rate=rate,
        launches=int(fleet.counts[row, worst]),
        slow=int(fleet.slow[row, worst]),
        occasions=occasions,
        again=again,
        since=None,
        p_adjusted=float(fleet.p_nodes[row]),
        suspicion=suspicion,
        evidence=evidence,
        within=within,
    )


def _explained(
    fleet: Fleet, node: MeasuredNode, cells: Sequence[CellByNode], row: int, beyond: float
) -> ExplainedNode:
    column = int(np.nanargmin(fleet.p[row]))
    resources = [resource_of(cell.cell) for cell in cells]
    rate = all(cells[i].better == "more" for i in columns_cells(fleet, resources, column))
    return ExplainedNode(
        node=node.name,
        member=node.member,
        what=what_of(fleet, cells, column),
        gain=gain_of(float(fleet.shift[row, column]), rate),
        ci95=gains_of(chosen_node_interval(fleet, row, column), rate),
        rate=rate,
        beyond=beyond,
    )


def _headline(fleet: Fleet, cells: Sequence[CellByNode], row: int, profile: Profile) -> int:
    """The column that reports the node.

    It is all kernels if several resources are slow, otherwise the slow resource or the most
    certain of its cells.
    """
    names = list(fleet.columns)
    if len(profile.slow) != 1:
        certain = ALL in names and fleet.p_columns[row, names.index(ALL)] <= LEVEL
        return names.index(ALL) if certain else int(np.nanargmin(fleet.p[row]))
    (resource,) = profile.slow
    if resource in names and fleet.p_columns[row, names.index(resource)] <= LEVEL:
        return names.index(resource)
    members = _by_resource(cells)[resource]
    return members[int(np.nanargmin(fleet.p[row, members]))]


def _earlier(
    history: Floats, kinds: Ints, row: int, members: Sequence[int], shift: float
) -> tuple[int, int]:
    """Numbers of earlier runs with this node: all, and runs with half of the present shift."""
    if history.shape[2] < 2:
        return 0, 0
    logs = logarithms(history[:, list(members), :-1])
    away = logs[row] - median_down(logs[kinds == kinds[row]])
    there = np.isfinite(away).any(axis=0)
    if not there.any():
        return 0, 0
    typical = median_down(away[:, there])
    return int(there.sum()), int((typical >= _AGAIN * shift).sum())


def _drifting(
    fleet: Fleet,
    cells: Sequence[CellByNode],
    drift: Drift,
    deviating: Mapping[str, CovariateDeviation],
    known: frozenset[str],
    core: SlowCore | None,
) -> Profile:
    """The profile of a node that drifts but isn't an outlier.

    The drifting resource counts as slow.
    """
    plain = _profile(
        fleet=fleet, cells=cells, row=drift.node, deviating=deviating, recorded=known, core=core
    )
    resource = resource_of(cells[drift.cell].cell)
    shifts = {**plain.shifts, resource: drift.size}
    return replace(plain, shifts=shifts, slow=plain.slow | {resource})


def _drifting_node(
    node: MeasuredNode,
    cells: Sequence[CellByNode],
    drift: Drift,
    profile: Profile,
    times: Floats,
) -> SuspectNode:
    cell = cells[drift.cell]
    rate = cell.better == "more"
    suspicion, evidence = suspect(profile)
    since = datetime.datetime.fromtimestamp(float(times[drift.since]), datetime.UTC)
    return SuspectNode(
        node=node.name,
        member=node.member,
        how=drift.how,
        what=f"{resource_of(cell.cell)} ({cell.label})",
        cell=cell.label,
        gain=gain_of(drift.size, rate),
        ci95=gains_of(drift.interval, rate),
        rate=rate,
        launches=0,
        slow=0,
        occasions=drift.occasions,
        again=0,
        since=since.date().isoformat(),
        p_adjusted=drift.p,
        suspicion=suspicion,
        evidence=evidence,
    )


def _faster(fleet: Fleet, node: MeasuredNode, cells: Sequence[CellByNode], row: int) -> FasterNode:
    column = int(np.nanargmin(fleet.t[row]))
    resources = [resource_of(cell.cell) for cell in cells]
    rate = all(cells[i].better == "more" for i in columns_cells(fleet, resources, column))
    gain = gain_of(float(fleet.shift[row, column]), rate)
    return FasterNode(node.name, what_of(fleet, cells, column), gain)

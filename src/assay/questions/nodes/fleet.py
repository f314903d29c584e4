"""Which nodes are slower than the others, or getting slower, in what, and the suspected cause."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.hostnames import compress_hosts, natural
from assay.questions.nodes.covariates import covariate_deviations
from assay.questions.nodes.diagnosis_rules import (
    CovariateDeviation,
    Profile,
    SlowCore,
    resource_of,
    suspect,
)
from assay.questions.nodes.model import (
    CellByNode,
    FasterNode,
    MeasuredNode,
    NodeDeviations,
    NodeKind,
    SuspectNode,
)
from assay.stats.core.intervals import Floats, Interval
from assay.stats.fleet.calibration import clean_level, more_launches
from assay.stats.fleet.drift import Drift, find_drifts
from assay.stats.fleet.earlier_runs import EarlierRun, with_now
from assay.stats.fleet.fleet import ALL, LEVEL, Fleet, compare, interval, logarithms
from assay.stats.fleet.kinds import Ints
from assay.stats.fleet.peers import MIN_VALUES, median_down
from assay.units import counted

# An earlier occasion counts as the same finding from this share of the present shift on.
_AGAIN = 0.5


@dataclass(frozen=True)
class FleetExamination:
    """A fleet examined. ``nodes`` and ``cells``: the rows and columns of the ``fleet``.

    ``split``: cells, in words, whose values form separate groups of nodes. ``occasions``: how many
    earlier ones were compared. ``undecided``: nodes that clean fleets of launches like these would
    name too, which ``more_launches`` of each node would tell.
    """

    fleet: Fleet
    nodes: Sequence[MeasuredNode]
    cells: Sequence[CellByNode]
    suspects: list[SuspectNode]
    kinds: list[NodeKind]
    split: list[str]
    faster: list[FasterNode]
    occasions: int
    undecided: int
    more_launches: int

    def deviations(self) -> NodeDeviations:
        """Each node in each cell against the typical node of its kind."""
        shift = self.fleet.shift[:, : self.fleet.cells]
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
) -> FleetExamination | None:
    """Examine the nodes; ``cells`` as ``by_node`` gives them. None where too few can be compared.

    ``utc``: when they were measured; ``before``: earlier occasions.
    """
    used = [cell for cell in cells if len(cell.values) >= MIN_VALUES]
    if len(nodes) < MIN_VALUES or not used:
        return None
    resources = [resource_of(cell.cell) for cell in used]
    costs = _costs(nodes, used)
    fleet = compare(costs, resources, _known_kinds(nodes))
    slow = fleet.outliers().tolist()
    level = clean_level(costs, resources, fleet) if slow else LEVEL
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
    undecided = [row for row in slow if fleet.p_nodes[row] > level]
    for row in (row for row in slow if fleet.p_nodes[row] <= level):
        profile = _profile(fleet, used, row, deviating[row], known, cores[row])
        found = _outlier(fleet, nodes[row], used, row, profile, history)
        if found.ci95[1] < 0.0:  # an interval that holds 0 accuses no node
            suspects.append(found)
            outliers.add(row)
    for drift in find_drifts(history, times, fleet.kinds):
        if drift.node not in outliers and drift.interval[0] > 0.0:
            profile = _drifting(fleet, used, drift, deviating[drift.node], known, cores[drift.node])
            suspects.append(_drifting_node(nodes[drift.node], used, drift, profile, times))
    return FleetExamination(
        fleet=fleet,
        nodes=nodes,
        cells=used,
        suspects=suspects,
        kinds=_kinds(fleet, nodes),
        split=[used[column].label for column in dict.fromkeys(fleet.split)],
        faster=[_faster(fleet, nodes[row], used, row) for row in fleet.faster().tolist()],
        occasions=len(before),
        undecided=len(undecided),
        more_launches=more_launches(costs, resources, fleet) if undecided else 0,
    )


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
    """A node as the rules see it: by resource, its shift and whether that is significant."""
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
    return Profile(shifts, frozenset(slow), deviating, recorded, core, tuple(single_cells))


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
) -> SuspectNode:
    column = _headline(fleet, cells, row, profile)
    members = _members(fleet, cells, column)
    with np.errstate(invalid="ignore"):
        worst = members[int(np.nanargmax(np.nan_to_num(fleet.t[row, members], nan=-np.inf)))]
    shift, error = float(fleet.shift[row, column]), float(fleet.error[row, column])
    peers = int((fleet.kinds == fleet.kinds[row]).sum())
    rate = all(cells[i].better == "more" for i in members)
    occasions, again = _earlier(history, fleet.kinds, row, members, shift)
    suspicion, evidence = suspect(profile)
    return SuspectNode(
        node=node.name,
        member=node.member,
        how="outlier",
        what=_what(fleet, cells, column),
        cell=cells[worst].label,
        gain=gain_of(shift, rate),
        ci95=_gains(interval(shift, error, peers), rate),
        rate=rate,
        launches=int(fleet.counts[row, worst]),
        slow=int(fleet.slow[row, worst]),
        occasions=occasions,
        again=again,
        since=None,
        p_adjusted=float(fleet.p_nodes[row]),
        suspicion=suspicion,
        evidence=evidence,
    )


def _headline(fleet: Fleet, cells: Sequence[CellByNode], row: int, profile: Profile) -> int:
    """The column that a node is reported by: all kernels where several resources are slow, else the
    slow resource's, or the most certain of its cells.
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


def _members(fleet: Fleet, cells: Sequence[CellByNode], column: int) -> list[int]:
    """The cells that a column is made of."""
    if column < fleet.cells:
        return [column]
    name = fleet.columns[column]
    return list(range(fleet.cells)) if name == ALL else _by_resource(cells)[name]


def _what(fleet: Fleet, cells: Sequence[CellByNode], column: int) -> str:
    if column >= fleet.cells:
        return fleet.columns[column]
    resource = resource_of(cells[column].cell)
    alone = len(_by_resource(cells)[resource]) == 1
    return resource if alone else f"{resource} ({cells[column].label})"


def gain_of(shift: float, rate: bool) -> float:
    """A difference of logarithms of costs as how much better than typical, of the metric itself."""
    return math.expm1(-shift) if rate else -math.expm1(shift)


def _gains(ends: Interval, rate: bool) -> Interval:
    low, high = (gain_of(end, rate) for end in ends)
    return high, low


def _earlier(
    history: Floats, kinds: Ints, row: int, members: Sequence[int], shift: float
) -> tuple[int, int]:
    """Earlier occasions with this node, and those with at least half of the present shift."""
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
    """The profile of a node that is no outlier at present: the drifting resource counts as slow."""
    plain = _profile(fleet, cells, drift.node, deviating, known, core)
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
        ci95=_gains(drift.interval, rate),
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


def _kinds(fleet: Fleet, nodes: Sequence[MeasuredNode]) -> list[NodeKind]:
    """The kinds of nodes, by their machines' properties or by their values."""
    kinds = []
    for kind in np.unique(fleet.kinds).tolist():
        rows = np.flatnonzero(fleet.kinds == kind).tolist()
        names = sorted((nodes[row].name for row in rows), key=natural)
        description = Counter(nodes[row].kind for row in rows).most_common(1)[0][0]
        kinds.append(NodeKind(compress_hosts(names), description))
    return kinds


def _faster(fleet: Fleet, node: MeasuredNode, cells: Sequence[CellByNode], row: int) -> FasterNode:
    column = int(np.nanargmin(fleet.t[row]))
    rate = all(cells[i].better == "more" for i in _members(fleet, cells, column))
    gain = gain_of(float(fleet.shift[row, column]), rate)
    return FasterNode(node.name, _what(fleet, cells, column), gain)

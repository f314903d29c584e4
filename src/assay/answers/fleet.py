"""Which nodes are slower than the others, or getting slower, in what, and what to suspect."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import numpy as np

from assay.answers.around import oddities
from assay.answers.nodes import CellByNode, MeasuredNode
from assay.answers.suspects import Oddity, Profile, SlowCore, resource_of, suspect
from assay.hostnames import compress_hosts, natural
from assay.stats.fleet import ALL, LEVEL, Fleet, compare, interval, logarithms
from assay.stats.fleet_drift import Drift, find_drifts
from assay.stats.intervals import Floats, Interval
from assay.stats.kinds import Ints
from assay.stats.occasions import Occasion, with_now
from assay.stats.peers import FEWEST, median_down
from assay.units import counted

# An earlier occasion counts as the same finding from this share of today's shift on.
_AGAIN = 0.5
_DAY = 86400.0


class Suspect(msgspec.Struct, frozen=True):
    """One node that is slower than its kind (``how`` outlier), or gets slower (step, trend).

    ``what``: the resource or cell in which that is surest, ``cell`` in words; ``gain``: how much
    better than the usual node, negative is worse, with ``ci95``. ``launches``: how many tell it,
    ``slow`` of them slower than the usual node; ``occasions``: earlier ones with this node,
    ``again`` of them showing at least half as much. ``since``: of a drift, the day (UTC).
    ``p_adjusted``: the false-discovery rate at which it would still be named. ``suspicion``,
    ``evidence``: what to look at, and why.
    """

    node: str
    member: int
    how: Literal["outlier", "step", "trend"]
    what: str
    cell: str
    gain: float
    ci95: Interval
    rate: bool
    launches: int
    slow: int
    occasions: int
    again: int
    since: str | None
    p_adjusted: float
    suspicion: str
    evidence: str

    @property
    def size(self) -> str:
        """``memory bandwidth 14% low``, ``arithmetic 9.0% slower``."""
        much = f"{abs(self.gain):.1%}" if abs(self.gain) < 0.095 else f"{abs(self.gain):.0%}"
        return f"{self.what} {much} low" if self.rate else f"{self.what} {much} slower"

    @property
    def seen(self) -> str:
        """In how many launches and earlier occasions."""
        if self.how != "outlier":
            return f"{self.how} over {self.occasions} runs, since {self.since}"
        words = f"{self.slow} of {counted(self.launches, 'launch')}"
        return (
            f"{words}, {self.again} of {self.occasions} earlier runs" if self.occasions else words
        )

    @property
    def sentence(self) -> str:
        """``n17: memory bandwidth 14% low, consistent over 6 launches: suspect a DIMM``."""
        if (
            self.how == "outlier"
            and self.slow == self.launches > 1
            and self.again == self.occasions
        ):
            runs = f" and {self.occasions} earlier runs" if self.occasions else ""
            seen = f"consistent over {self.launches} launches{runs}"
        else:
            seen = f"in {self.seen}" if self.how == "outlier" else self.seen
        return f"{self.node}: {self.size}, {seen}: {self.suspicion.partition(':')[0]}"


@dataclass(frozen=True)
class Examined:
    """A fleet looked through. ``nodes`` and ``cells``: the rows and columns of the ``fleet``.

    ``kinds``: sentences on kinds of nodes; ``faster``: nodes faster than their kind. ``occasions``:
    how many earlier ones were looked at.
    """

    fleet: Fleet
    nodes: Sequence[MeasuredNode]
    cells: Sequence[CellByNode]
    suspects: list[Suspect]
    kinds: list[str]
    faster: list[str]
    occasions: int


def examine(
    nodes: Sequence[MeasuredNode],
    cells: Sequence[CellByNode],
    utc: float = 0.0,
    before: Sequence[Occasion] = (),
) -> Examined | None:
    """Look through the nodes; ``cells`` as ``by_node`` gives them. None where too few can be held
    against each other. ``utc``: when they were measured; ``before``: earlier occasions.
    """
    used = [cell for cell in cells if len(cell.values) >= FEWEST]
    if len(nodes) < FEWEST or not used:
        return None
    fleet = compare(_costs(nodes, used), [resource_of(c.cell) for c in used], _told(nodes))
    hosts = Counter(node.host for node in nodes)
    whole = [node.host if node.host and hosts[node.host] == 1 else "" for node in nodes]
    now = Occasion("now", utc, _today(nodes, whole, used))
    history, times = with_now(before, now, whole, [cell.id for cell in used])
    odd, cores = oddities([n.around for n in nodes], [n.core for n in nodes], fleet.kinds)
    told = frozenset(name for node in nodes for name in node.around)
    made: list[Suspect] = []
    named: set[int] = set()
    for row in fleet.outliers().tolist():
        profile = _profile(fleet, used, row, odd[row], told, cores[row])
        found = _outlier(fleet, nodes[row], used, row, profile, history)
        if found.ci95[1] < 0.0:  # what may be nothing is not told of anybody
            made.append(found)
            named.add(row)
    for drift in find_drifts(history, times, fleet.kinds):
        if drift.node not in named and drift.interval[0] > 0.0:
            profile = _drifting(fleet, used, drift, odd[drift.node], told, cores[drift.node])
            made.append(_drifter(nodes[drift.node], used, drift, profile, times))
    return Examined(
        fleet=fleet,
        nodes=nodes,
        cells=used,
        suspects=made,
        kinds=_kinds(fleet, nodes, used),
        faster=[_fast(fleet, nodes[row], used, row) for row in fleet.faster().tolist()],
        occasions=len(before),
    )


def _costs(nodes: Sequence[MeasuredNode], cells: Sequence[CellByNode]) -> Floats:
    most = max((len(node.costs.get(cell.id, ())) for node in nodes for cell in cells), default=0)
    made = np.full((len(nodes), len(cells), max(most, 1)), np.nan)
    for row, node in enumerate(nodes):
        for column, cell in enumerate(cells):
            costs = node.costs.get(cell.id, ())
            made[row, column, : len(costs)] = costs
    return made


def _told(nodes: Sequence[MeasuredNode]) -> Ints | None:
    """Kinds by what machines tell of themselves, the most common first."""
    common = [kind for kind, _ in Counter(node.kind for node in nodes).most_common()]
    return np.array([common.index(node.kind) for node in nodes]) if len(common) > 1 else None


def _today(
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
    odd: Mapping[str, Oddity],
    told: frozenset[str],
    core: SlowCore | None,
) -> Profile:
    """A node as the rules see it: by resource, its shift and whether that is no chance."""
    shifts: dict[str, float] = {}
    slow: set[str] = set()
    strays: list[str] = []
    for resource, members in _by_resource(cells).items():
        columns = [*members, *(i for i, c in enumerate(fleet.columns) if c == resource)]
        known = fleet.shift[row, columns]
        measured = int(np.isfinite(known[: len(members)]).sum())
        if measured == 0:
            continue
        shifts[resource] = float(known[-1] if np.isfinite(known[-1]) else np.nanmedian(known))
        telling = fleet.p_columns[row, columns] <= LEVEL
        few = int(telling[: len(members)].sum())
        if telling[len(members) :].any() or 2 * few >= measured:
            slow.add(resource)
        elif few:
            strays.append(f"{few} of {counted(measured, 'cell')} of {resource}")
    return Profile(shifts, frozenset(slow), odd, told, core, tuple(strays))


def _by_resource(cells: Sequence[CellByNode]) -> dict[str, list[int]]:
    made: dict[str, list[int]] = defaultdict(list)
    for place, cell in enumerate(cells):
        made[resource_of(cell.cell)].append(place)
    return made


def _outlier(
    fleet: Fleet,
    node: MeasuredNode,
    cells: Sequence[CellByNode],
    row: int,
    profile: Profile,
    history: Floats,
) -> Suspect:
    column = _headline(fleet, cells, row, profile)
    members = _members(fleet, cells, column)
    with np.errstate(invalid="ignore"):
        worst = members[int(np.nanargmax(np.nan_to_num(fleet.t[row, members], nan=-np.inf)))]
    shift, error = float(fleet.shift[row, column]), float(fleet.error[row, column])
    peers = int((fleet.kinds == fleet.kinds[row]).sum())
    rate = all(cells[i].better == "more" for i in members)
    occasions, again = _earlier(history, fleet.kinds, row, members, shift)
    suspicion, evidence = suspect(profile)
    return Suspect(
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
    """The column that a node is told by: all kernels where several resources are slow, else the
    slow resource's, or the surest of its cells.
    """
    names = list(fleet.columns)
    if len(profile.slow) != 1:
        sure = ALL in names and fleet.p_columns[row, names.index(ALL)] <= LEVEL
        return names.index(ALL) if sure else int(np.nanargmin(fleet.p[row]))
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
    """A difference of logarithms of costs as how much better than usual, of the metric itself."""
    return math.expm1(-shift) if rate else -math.expm1(shift)


def _gains(ends: Interval, rate: bool) -> Interval:
    low, high = (gain_of(end, rate) for end in ends)
    return high, low


def _earlier(
    history: Floats, kinds: Ints, row: int, members: Sequence[int], shift: float
) -> tuple[int, int]:
    """Earlier occasions with this node, and those that show at least half of today's shift."""
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
    odd: Mapping[str, Oddity],
    told: frozenset[str],
    core: SlowCore | None,
) -> Profile:
    """What is known of a node that is no outlier today: the drifting resource counts as slow."""
    plain = _profile(fleet, cells, drift.node, odd, told, core)
    resource = resource_of(cells[drift.cell].cell)
    shifts = {**plain.shifts, resource: drift.size}
    return replace(plain, shifts=shifts, slow=plain.slow | {resource})


def _drifter(
    node: MeasuredNode,
    cells: Sequence[CellByNode],
    drift: Drift,
    profile: Profile,
    times: Floats,
) -> Suspect:
    cell = cells[drift.cell]
    rate = cell.better == "more"
    suspicion, evidence = suspect(profile)
    since = datetime.datetime.fromtimestamp(float(times[drift.since]), datetime.UTC)
    return Suspect(
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


def _kinds(fleet: Fleet, nodes: Sequence[MeasuredNode], cells: Sequence[CellByNode]) -> list[str]:
    """What kinds there are, whether machines tell them or values."""
    found = np.unique(fleet.kinds)
    if found.size < 2:
        return []
    made = []
    for kind in found.tolist():
        rows = np.flatnonzero(fleet.kinds == kind).tolist()
        names = sorted((nodes[row].name for row in rows), key=natural)
        told = Counter(nodes[row].kind for row in rows).most_common(1)[0][0]
        made.append(f"{compress_hosts(names)}{f' ({told})' if told else ''}")
    by_value = [cells[column].label for column in dict.fromkeys(fleet.split)]
    how = f" They stand in heaps in {'; '.join(by_value)}." if by_value else ""
    return [
        f"There are {found.size} kinds of nodes, each compared within itself: "
        f"{'; '.join(made)}.{how}"
    ]


def _fast(fleet: Fleet, node: MeasuredNode, cells: Sequence[CellByNode], row: int) -> str:
    column = int(np.nanargmin(fleet.t[row]))
    members = _members(fleet, cells, column)
    rate = all(cells[i].better == "more" for i in members)
    gain = gain_of(float(fleet.shift[row, column]), rate)
    return f"{node.name} ({_what(fleet, cells, column)} {gain:+.1%})"

"""Hops and loads of a network, in closed form for networks of any size.

Traffic is uniform: each host sends equal parts to all others (all-to-all; half of it crosses any
cut into halves). The routes come from ``wiring.py``, against which tests count every path. A load
is the number of hosts whose whole traffic a link carries in one direction.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assay.topologies.kinds import (
    Dragonfly,
    FatTree,
    RowsColumns,
    Single,
    Switches,
    ThreeLevelTree,
    Topology,
    Torus,
    hosts_of,
)


@dataclass(frozen=True)
class Loads:
    """Loads of the busiest links under uniform traffic of one unit per host. 0: there are no such
    links."""

    #: Load of links at hosts (in a torus, between hosts).
    adapter: float
    #: Load of links between switches.
    trunk: float


def mean_links(topology: Topology) -> float:
    """Mean number of links on the path between two hosts; 0 with one host."""
    hosts = hosts_of(topology)
    if hosts < 2:
        return 0.0
    others = hosts / (hosts - 1)
    match topology:
        case Single():
            return 2.0
        case Switches(rows=rows, columns=columns):
            return 2.0 + others * ((rows**2 - 1) / (3 * rows) + (columns**2 - 1) / (3 * columns))
        case RowsColumns(rows=rows, columns=columns):
            beside = rows + columns - 2
            return (2.0 * beside + 4.0 * (rows - 1) * (columns - 1)) / (hosts - 1)
        case Torus(dimensions=dimensions):
            return others * sum((size**2 // 4) / size for size in dimensions)
        case FatTree(hosts_per_leaf=each):
            return (2.0 * (each - 1) + 4.0 * (hosts - each)) / (hosts - 1)
        case ThreeLevelTree(leaves_per_pod=leaves, hosts_per_leaf=each):
            pod = leaves * each
            return (2.0 * (each - 1) + 4.0 * (pod - each) + 6.0 * (hosts - pod)) / (hosts - 1)
        case Dragonfly(switches_per_group=per_group, hosts_per_switch=each):
            same, group = each - 1, (per_group - 1) * each
            outside = hosts - per_group * each
            far = 3.0 + 2.0 * (1.0 - 1.0 / per_group)
            return (2.0 * same + 3.0 * group + far * outside) / (hosts - 1)


def uniform_loads(topology: Topology) -> Loads:
    """The loads of the busiest links under uniform traffic of one unit per host."""
    hosts = hosts_of(topology)
    if hosts < 2:
        return Loads(0.0, 0.0)
    match topology:
        case Single():
            return Loads(1.0, 0.0)
        case Switches(rows=rows, columns=columns, hosts_per_switch=each):
            left, above = columns // 2, rows // 2
            across = left * (columns - left) * rows * each**2 / (hosts - 1)
            down = above * (rows - above) * columns * each**2 / (hosts - 1)
            return Loads(1.0, max(across, down))
        case RowsColumns(rows=rows, columns=columns):
            by_column = (rows - 1) / (hosts - 1)
            trunk = columns * (rows - 1) * (columns - 1) / (hosts - 1)
            return Loads(max(by_column, 1.0 - by_column), trunk)
        case Torus(dimensions=dimensions):
            ring = max((size // 2) * (size // 2 + 1) / (2 * size) for size in dimensions)
            return Loads(ring * hosts / (hosts - 1), 0.0)
        case FatTree():
            return Loads(1.0, _fat_tree_trunk(topology, hosts))
        case ThreeLevelTree():
            return Loads(1.0, _three_level_trunk(topology, hosts))
        case Dragonfly():
            return Loads(1.0, _dragonfly_trunk(topology, hosts))


def host_share(topology: Topology, rate: float, trunk: float) -> float:
    """B/s that each host can send at once under uniform traffic.

    ``rate``: rate of an adapter in each direction; ``trunk``: rate of a link between switches. Half
    of the traffic crosses the bisection, so that the bisection per host is half of the result.
    """
    loads = uniform_loads(topology)
    shares = [rate / loads.adapter] if loads.adapter else [rate]
    if loads.trunk:
        shares.append(trunk / loads.trunk)
    return min(shares)


def _fat_tree_trunk(tree: FatTree, hosts: int) -> float:
    """The receiver's number modulo the spines determines the spine, up and down."""
    each, spines = tree.hosts_per_leaf, tree.spines
    if tree.leaves == 1:
        return 0.0
    total = Counter(host % spines for host in range(hosts))
    most = 0
    for leaf in range(tree.leaves):
        own = Counter(host % spines for host in range(leaf * each, (leaf + 1) * each))
        up = each * max(total[spine] - own[spine] for spine in range(spines))
        most = max(most, up, (hosts - each) * max(own.values()))
    return most / (hosts - 1)


def _three_level_trunk(tree: ThreeLevelTree, hosts: int) -> float:
    """The receiver's number determines the middle switch and the core, up and down."""
    each, leaves, middles = tree.hosts_per_leaf, tree.leaves_per_pod, tree.middles_per_pod
    pod, cores = leaves * each, tree.cores_per_middle

    def by_middle(of: range) -> Counter[int]:
        return Counter(host % middles for host in of)

    def by_core(of: range) -> Counter[tuple[int, int]]:
        return Counter((host % middles, host // middles % cores) for host in of)

    total, total_cores = by_middle(range(hosts)), by_core(range(hosts))
    most = 0
    for leaf in range(tree.pods * leaves if tree.pods * leaves > 1 else 0):
        own = by_middle(range(leaf * each, (leaf + 1) * each))
        up = each * max(total[middle] - own[middle] for middle in range(middles))
        most = max(most, up, (hosts - each) * max(own.values()))
    for number in range(tree.pods if tree.pods > 1 else 0):
        inside = by_core(range(number * pod, (number + 1) * pod))
        up = pod * max(total_cores[core] - inside[core] for core in total_cores)
        most = max(most, up, (hosts - pod) * max(inside.values()))
    return most / (hosts - 1)


def _dragonfly_trunk(fly: Dragonfly, hosts: int) -> float:
    per_group, each = fly.switches_per_group, fly.hosts_per_switch
    of_group = per_group * each
    between = of_group**2 / (hosts - 1) if fly.groups > 1 else 0.0
    if per_group == 1:
        return between
    gates = Counter(other % per_group for other in range(fly.groups - 1))
    within = max(
        each**2 + each * of_group * (gates[here] + gates[there])
        for here in range(per_group)
        for there in range(per_group)
        if here != there
    )
    return max(between, within / (hosts - 1))

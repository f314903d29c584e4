"""Networks sized for a number of hosts: counts equal those of the wiring where it is whole."""

from __future__ import annotations

import itertools
import math

import pytest

from assay.topologies.kinds import (
    FatTree,
    Single,
    ThreeLevelTree,
    Topology,
    Torus,
    hosts_of,
    switches_of,
)
from assay.topologies.sizing import (
    Sized,
    dragonfly,
    fat_tree,
    rows_and_columns,
    single,
    torus,
    torus_shape,
)
from assay.topologies.wiring import wiring_of

WHOLE = [
    single(7, 8),
    torus(120, (6, 4, 5)),
    torus(60, (5, 4, 3)),
    fat_tree(32, 8),  # 8 leaves, 4 spines
    fat_tree(72, 12),
    fat_tree(54, 6),  # three levels
    fat_tree(128, 8),
    dragonfly(72, 7),
]


@pytest.mark.parametrize("sized", WHOLE, ids=repr)
def test_a_whole_network_has_the_switches_and_cables_of_its_wiring(sized: Sized | None) -> None:
    assert sized is not None
    wiring = wiring_of(sized.topology)
    assert sized.switches == len(wiring.switches) == switches_of(sized.topology)
    assert sized.cables == len(wiring.cables)


def _ports(topology: Topology) -> list[int]:
    """The ports that each switch of a tree needs, by kind of switch."""
    match topology:
        case FatTree(leaves=leaves, spines=spines, hosts_per_leaf=each):
            return [each + spines, leaves]
        case ThreeLevelTree(pods=pods, leaves_per_pod=leaves, middles_per_pod=middles):
            return [topology.hosts_per_leaf + middles, leaves + topology.cores_per_middle, pods]
        case Single(hosts=hosts):
            return [hosts]
    raise AssertionError(f"{topology} is not a tree")


@pytest.mark.parametrize("ports", [4, 6, 8, 12])
def test_every_number_of_hosts_has_room_and_ports(ports: int) -> None:
    for hosts in range(2, ports**3 // 4 + 1):
        sized = fat_tree(hosts, ports)
        assert sized is not None
        assert hosts_of(sized.topology) >= hosts
        assert max(_ports(sized.topology)) <= ports
        # Every cable but the hosts' joins two ports of switches.
        assert 2 * (sized.cables - hosts) + hosts <= ports * sized.switches
    assert fat_tree(ports**3 // 4 + 1, ports) is None


def test_a_k_ary_tree_has_five_quarters_of_k_squared_switches() -> None:
    sized = fat_tree(128, 8)
    assert sized is not None and sized.topology == ThreeLevelTree(8, 4, 4, 4, 4)
    assert sized.switches == 5 * 8**2 // 4
    assert sized.bisection == 64


def test_what_has_no_room() -> None:
    assert single(9, 8) is None
    assert torus(121, (6, 4, 5)) is None
    assert rows_and_columns(530, 24) is None
    assert dragonfly(7, 7) is None and dragonfly(73, 7) is None and dragonfly(9, 2) is None
    partly = torus(100, (6, 4, 5))
    assert partly is not None and partly.topology == Torus((6, 4, 5)) and partly.cables == 300


@pytest.mark.parametrize(
    ("hosts", "dimensions", "shape"),
    [
        (120, 3, (6, 5, 4)),  # 5 × 5 × 5 would have five holes
        (120, 2, (12, 10)),
        (64, 3, (4, 4, 4)),
        (1, 3, (1, 1, 1)),
        (7, 3, (2, 2, 2)),  # 7 × 1 × 1 is a ring
        (101, 3, (5, 5, 5)),
    ],
)
def test_a_torus_is_full_where_its_sides_stay_similar(hosts, dimensions, shape):
    assert torus_shape(hosts, dimensions) == shape


@pytest.mark.parametrize("dimensions", [2, 3])
def test_shapes_of_tori_by_brute_force(dimensions: int) -> None:
    for hosts in range(1, 200):
        shape = torus_shape(hosts, dimensions)
        full = [
            sides
            for sides in itertools.product(range(1, hosts + 1), repeat=dimensions - 1)
            if hosts % math.prod(sides) == 0
            and max(*sides, hosts // math.prod(sides)) <= 2 * min(*sides, hosts // math.prod(sides))
        ]
        assert math.prod(shape) >= hosts
        assert (math.prod(shape) == hosts) == bool(full), hosts
        if full:
            assert shape[0] <= 2 * shape[-1]

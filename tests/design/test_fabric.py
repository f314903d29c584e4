"""Switches, cables, hops and bisections that are known from papers or can be counted by hand."""

from __future__ import annotations

import itertools
import math

import pytest

from assay.design.fabric import fabric_of
from assay.design.figures import PartFigure
from assay.design.parts.model import InterconnectPart, Switch
from assay.topologies.sizing import torus_shape


def figure(value: float) -> PartFigure:
    return PartFigure(value, 0.1, "quoted", "", "", "")


def network(topology, **more):
    return InterconnectPart(
        name="n", topology=topology, latency=figure(1e-6), bandwidth=figure(1e9),
        adapter=figure(1), power=figure(1), switches=("s",), **more
    )  # fmt: skip


def switch(ports: int, name: str = "s", price: float = 100.0) -> Switch:
    return Switch(name, ports, figure(price), figure(1), 1)


def built(one: InterconnectPart, ports: int, nodes: int):
    return fabric_of(one, {"s": switch(ports)}, nodes, per_rack=10)


def test_the_torus_of_seth():
    one = network("torus-3d", dimensions=(6, 4, 5))
    fabric = built(one, 24, 120)
    assert fabric.cables[120] == 360  # three rings through every node
    pairs = list(itertools.product(range(6), range(4), range(5)))
    around = [
        sum(
            min(abs(a - b), k - abs(a - b)) for a, b, k in zip(p, (0, 0, 0), (6, 4, 5), strict=True)
        )
        for p in pairs
    ]
    assert fabric.hops[120] == pytest.approx(sum(around) / 119)  # of the other nodes
    assert fabric.bisection[120] == 40  # 20 lines of 6, two links of each
    assert fabric.extent(one, 120) == "torus 6 × 4 × 5"


@pytest.mark.parametrize("nodes", [1, 2, 7, 12, 60, 120, 500])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_torus_has_room_and_no_line_to_spare(nodes, dimensions):
    shape = torus_shape(nodes, dimensions)
    assert math.prod(shape) >= nodes
    assert math.prod(shape) // max(shape) * (max(shape) - 1) < nodes


def test_the_grid_of_helix():
    fabric = built(network("grid", adapters=2), 24, 529)
    assert fabric.switches["s"][529] == 46  # 23 rows and 23 columns
    assert fabric.cables[529] == 2 * 529 + 46
    assert fabric.fits[529]
    assert fabric.hops[529] == pytest.approx((1 + 11 * 3) / 12)  # 44 of 528 share a switch
    assert not built(network("grid", adapters=2), 24, 530).fits[530]


def test_fat_trees_by_hand():
    full = built(network("fat-tree"), 8, 128)
    assert full.switches["s"][8] == 1
    assert full.switches["s"][32] == 8 + 4  # 8 leaves of 4 nodes, 4 spines of 8 leaves
    assert full.bisection[32] == 16
    assert full.switches["s"][128] == 32 + 32 + 16  # three levels of a k-ary tree: 5 k²/4 = 80
    assert full.fits[128]
    tapered = built(network("fat-tree", taper=3.0), 8, 48)
    assert tapered.switches["s"][48] == 8 + 2  # leaves of 6 nodes, 2 links up
    assert tapered.bisection[48] == 8


def test_hops_of_a_two_level_tree_are_counted():
    fabric = built(network("fat-tree"), 8, 32)
    leaf = [node // 4 for node in range(32)]
    pairs = [1 if leaf[a] == leaf[b] else 3 for a in range(32) for b in range(32) if a != b]
    assert fabric.hops[32] == pytest.approx(sum(pairs) / len(pairs))


def test_a_balanced_dragonfly():
    # p = 2, a = 4, h = 2: 7 ports; 9 groups of 8 nodes (Kim et al. 2008).
    fabric = built(network("dragonfly"), 7, 72)
    assert fabric.switches["s"][72] == 36
    assert fabric.cables[72] == 72 + 9 * 6 + 36  # nodes, within groups, between groups
    assert fabric.fits[72]
    assert not built(network("dragonfly"), 7, 73).fits[73]


def test_the_cheapest_switches_are_taken():
    one = network("switch")
    one = InterconnectPart(**{**vars(one), "switches": ("big", "s")})
    parts = {"s": switch(8), "big": switch(48, "big", 300.0)}
    fabric = fabric_of(one, parts, 40, per_rack=10)
    assert (fabric.switches["s"][8], fabric.switches["big"][8]) == (1, 0)
    assert (fabric.switches["s"][9], fabric.switches["big"][9]) == (0, 1)

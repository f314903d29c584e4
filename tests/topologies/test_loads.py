"""Closed forms of hops and loads against every path of the wiring."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

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
    switches_of,
)
from assay.topologies.loads import host_share, mean_links, uniform_loads
from assay.topologies.wiring import wiring_of

KINDS: list[Topology] = [
    Single(2),
    Single(7),
    Switches(1, 1, 3),
    Switches(3, 4, 2),
    Switches(5, 2, 1),
    RowsColumns(3, 2),
    RowsColumns(5, 7),
    RowsColumns(1, 4),
    Torus((2,)),
    Torus((5, 4)),
    Torus((6, 4, 5)),
    FatTree(4, 2, 3),
    FatTree(3, 3, 3),
    FatTree(5, 3, 4),
    FatTree(1, 2, 3),
    ThreeLevelTree(4, 2, 2, 2, 2),
    ThreeLevelTree(3, 2, 3, 3, 1),
    ThreeLevelTree(2, 3, 2, 2, 3),
    ThreeLevelTree(1, 3, 2, 2, 1),
    ThreeLevelTree(3, 1, 2, 1, 2),
    Dragonfly(5, 2, 2),
    Dragonfly(4, 3, 2),
    Dragonfly(3, 1, 2),
    Dragonfly(1, 3, 2),
    Dragonfly(7, 3, 1),
]


@pytest.mark.parametrize("topology", KINDS, ids=repr)
def test_closed_forms_equal_counts_over_all_paths(topology: Topology) -> None:
    wiring = wiring_of(topology)
    assert (len(wiring.hosts), len(wiring.switches)) == (hosts_of(topology), switches_of(topology))
    cabled = {(c.one, c.other): c.trunk for c in wiring.cables}
    cabled |= {(c.other, c.one): c.trunk for c in wiring.cables}
    assert len(cabled) == 2 * len(wiring.cables)
    load: Counter[tuple[str, str]] = Counter()
    links = []
    for sender in wiring.hosts:
        for receiver in wiring.hosts:
            if sender != receiver:
                path = list(wiring.path(sender, receiver))
                links.append(len(path) - 1)
                load.update(itertools.pairwise(path))
    assert load.keys() <= cabled.keys()
    others = len(wiring.hosts) - 1
    assert mean_links(topology) == pytest.approx(sum(links) / len(links))
    loads = uniform_loads(topology)
    for trunk, closed in ((False, loads.adapter), (True, loads.trunk)):
        counted = max((n for ends, n in load.items() if cabled[ends] is trunk), default=0)
        assert closed == pytest.approx(counted / others)


def test_the_grid_of_helix_loses_bisection_as_it_grows() -> None:
    """Barczak et al. (2003), 3.4: it "will not scale well" to 23 x 23 nodes."""
    shares = [host_share(RowsColumns(n, n), 1.0, 1.0) for n in (4, 8, 16, 23)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == pytest.approx(528 / (23 * 22 * 22))


def test_oversubscription_divides_the_share_of_a_fat_tree() -> None:
    full = host_share(FatTree(16, 16, 16), 1.0, 1.0)
    half = host_share(FatTree(16, 8, 16), 1.0, 1.0)
    assert full == 1.0
    assert half == pytest.approx(255 / (240 * 2))  # 15/16 of the traffic leaves the leaf

"""Platform files: routes are those of the wiring, and each neighbour's path has the latency."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import pytest

from assay.errors import AssayError
from assay.simulation.platform import hosts_for, options, platform_xml
from assay.topologies.wiring import wiring_of
from simulated_clusters import BASE, cluster

TREE = 'kind = "fat-tree"\nleaves = 3\nspines = 2\nhosts_per_leaf = 2\n'
TORUS = 'kind = "torus"\ndimensions = [3, 2]\n'
SINGLE = 'kind = "single"\nhosts = 4\n'


def parsed(text: str, **figures: float) -> ET.Element:
    found = cluster(text)
    used = wiring_of(found.topology).hosts
    arguments = {"latency": 20e-6, "bandwidth": 1e8, "speeds": {}, "profiles": {}} | figures
    return ET.fromstring(platform_xml(found, used, **arguments))


@pytest.mark.parametrize("kind", [SINGLE, TREE, TORUS])
def test_routes_are_the_paths_of_the_wiring(kind: str) -> None:
    text = BASE.replace(SINGLE, kind).replace("[memory]", 'hop = "1 us"\n[memory]')
    wiring = wiring_of(cluster(text).topology)
    zone = parsed(text)[0]
    latency = {
        link.get("id"): float(link.get("latency", "").rstrip("s")) for link in zone.iter("link")
    }
    routes = {(r.get("src"), r.get("dst")): [c.get("id") for c in r] for r in zone.iter("route")}
    assert set(routes) == set(itertools.product(wiring.hosts, repeat=2))
    near = 1 if kind == TORUS else 2
    for (one, other), links in routes.items():
        if one == other:
            assert links == [f"memory-{one}"]
            continue
        steps = len(list(wiring.path(one, other))) - 1
        assert len(links) == steps + 1
        total = sum(latency[name] for name in links)
        assert total == pytest.approx(20e-6 + 1e-6 * (steps - near))


def test_both_directions_of_a_cable_are_apart() -> None:
    zone = parsed(BASE)[0]
    routes = {
        (r.get("src"), r.get("dst")): [(c.get("id"), c.get("direction")) for c in r][1:]
        for r in zone.iter("route")
    }
    assert routes["node1", "node2"] == [("c0", "UP"), ("c1", "DOWN")]
    assert routes["node2", "node1"] == [("c1", "UP"), ("c0", "DOWN")]


def test_a_share_of_the_bandwidth_limits_the_ends_of_a_path_only() -> None:
    torus = BASE.replace(SINGLE, TORUS)
    plain, limited = parsed(torus)[0], parsed(torus, reached=0.25)[0]

    def rates(zone: ET.Element) -> dict[str | None, float]:
        return {one.get("id"): float(one.get("bandwidth", "")[:-3]) for one in zone.iter("link")}

    def links(zone: ET.Element, one: str, other: str) -> list[tuple[str | None, str | None]]:
        (route,) = (r for r in zone.iter("route") if (r.get("src"), r.get("dst")) == (one, other))
        return [(c.get("id"), c.get("direction")) for c in route]

    ends = {f"adapters-node{k}": 0.25e8 for k in range(1, 7)}
    assert rates(limited) == rates(plain) | ends
    assert links(limited, "node1", "node5") == [
        *links(plain, "node1", "node5"), ("adapters-node1", "UP"), ("adapters-node5", "DOWN"),
    ]  # fmt: skip
    assert links(limited, "node1", "node1") == links(plain, "node1", "node1")


def test_ranks_fill_hosts_in_order() -> None:
    assert hosts_for(cluster(), 5, 2) == ["node1", "node1", "node2", "node2", "node3"]
    with pytest.raises(AssayError, match="need 5 nodes; the cluster has 4"):
        hosts_for(cluster(), 9, 2)
    with pytest.raises(AssayError, match="don't fit 2 cores"):
        hosts_for(cluster(), 3, 3)


def test_costs_of_larger_messages_are_factors() -> None:
    size = '[[size]]\nabove = 999\nlatency = "60 us"\nbandwidth = "50 MB/s"\n'
    found = options(cluster(BASE + size))
    assert "--cfg=smpi/lat-factor:0:1;1000:3" in found
    assert "--cfg=smpi/bw-factor:0:1;1000:0.5" in found

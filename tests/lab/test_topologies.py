"""Specs and the resulting topologies: every route tested against the graph of the links."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.lab.spec import SlurmSite, Spec, Wire, find_spec, load_spec, shipped
from assay.lab.topologies import ClusterShape, Route, shape_of
from assay.model.plan import PlanContext
from assay.plans.suites import load_plan
from assay.topologies.kinds import Dragonfly, FatTree, RowsColumns, Single, Switches, Torus

ROUTED = [
    Switches(1, 1, 3),
    Switches(2, 2, 2),
    Switches(3, 2, 1),
    Switches(1, 4, 2),
    RowsColumns(3, 2),
    RowsColumns(6, 3),
    RowsColumns(1, 3),
    Torus((2,)),
    Torus((5,)),
    Torus((6,)),
    Torus((4, 4)),
    Torus((2, 3)),
    Torus((3, 3, 3)),
    Torus((2, 3, 4)),
    Torus((3, 1, 2)),
    FatTree(4, 2, 4),
    FatTree(3, 3, 2),
    FatTree(2, 1, 1),
]


def distances(shape: ClusterShape, start: str) -> dict[str, int]:
    """Links to all nodes from one node, through forwarding nodes only: breadth first."""
    beside: dict[str, set[str]] = {node: set() for node in shape.nodes}
    for link in shape.links:
        beside[link.one.node].add(link.other.node)
        beside[link.other.node].add(link.one.node)
    found = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if here != start and here not in shape.forwarding:
            continue
        for node in beside[here] - found.keys():
            found[node] = found[here] + 1
            queue.append(node)
    return found


def check(shape: ClusterShape) -> None:
    """Every pair of hosts has a shortest route over the links, over adapters that lead there."""
    leads = {}
    for link in shape.links:
        leads[link.one.node, link.one.adapter] = link.other.node
        leads[link.other.node, link.other.adapter] = link.one.node
    assert len(leads) == 2 * len(shape.links)  # no adapter has two links
    for node, table in shape.routes.items():
        assert all(leads[node, route.adapter] == route.via for route in table)
        assert len({route.to for route in table}) == len(table)
    for sender in shape.hosts:
        links = distances(shape, sender)
        for receiver in shape.hosts:
            path = shape.path(sender, receiver)
            assert path[0] == sender and path[-1] == receiver
            assert len(path) == len(set(path)) == links[receiver] + 1, path
            assert set(path[1:-1]) <= shape.forwarding


@pytest.mark.parametrize("topology", ROUTED, ids=repr)
def test_every_pair_has_a_shortest_route_without_loops(topology: Torus) -> None:
    shape = shape_of(Spec(topology))
    assert len(shape.hosts) == Spec(topology).hosts
    assert len(shape.switches) == Spec(topology).switches
    addresses = [each for node in shape.nodes for each in shape.addresses[node]]
    assert len(set(addresses)) == len(addresses) == len(shape.nodes)
    check(shape)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3))
@settings(max_examples=30)
def test_so_it_is_in_any_torus(dimensions: list[int]) -> None:
    check(shape_of(Spec(Torus(tuple(dimensions)))))


def test_a_torus_routes_dimension_by_dimension_the_shorter_way() -> None:
    sizes = (4, 5, 3)
    shape = shape_of(Spec(Torus(sizes)))

    def name(place: list[int]) -> str:
        return f"node{1 + place[0] + sizes[0] * (place[1] + sizes[1] * place[2])}"

    for start in itertools.product(*map(range, sizes)):
        for end in itertools.product(*map(range, sizes)):
            here, walked = list(start), [name(list(start))]
            for axis, size in enumerate(sizes):
                steps_up = next(k for k in range(size) if (start[axis] + k) % size == end[axis])
                up = steps_up <= size - steps_up
                for _ in range(steps_up if up else size - steps_up):
                    here[axis] = (here[axis] + (1 if up else -1)) % size
                    walked.append(name(here))
            assert shape.path(walked[0], name(list(end))) == walked


def test_hosts_of_a_torus_have_the_same_adapters_in_the_same_directions() -> None:
    shape = shape_of(Spec(Torus((3, 2, 4))))
    for host in shape.hosts:
        ends = {end.adapter: other.node for end, other, _ in shape.adapters(host)}
        assert sorted(ends) == ["eth0", "eth1", "eth2", "eth3", "eth4"]
    first = {end.adapter: other.node for end, other, _ in shape.adapters("node1")}
    assert [first[f"eth{n}"] for n in range(5)] == ["node2", "node3", "node4", "node7", "node19"]


def test_a_grid_of_switches_routes_along_the_row_first() -> None:
    shape = shape_of(Spec(Switches(3, 3, 1)))
    assert shape.path("node1", "node9") == [
        *("node1", "switch1", "switch2", "switch3", "switch6", "switch9", "node9")
    ]
    assert shape.path("node9", "node1") == [
        *("node9", "switch9", "switch8", "switch7", "switch4", "switch1", "node1")
    ]
    assert sum("switch" in a.node and "switch" in b.node for a, b in ends(shape)) == 12


def ends(shape: ClusterShape) -> list[tuple[object, object]]:
    return [(link.one, link.other) for link in shape.links]


def test_trunks_have_their_own_rate() -> None:
    slow, fast = Wire(1e6), Wire(1e8)
    for topology in (Switches(2, 2, 2), RowsColumns(2, 2), FatTree(2, 2, 2)):
        for link in shape_of(Spec(topology, (fast,), slow)).links:
            hosts = "node" in link.one.node or "node" in link.other.node
            assert link.wire == (fast if hosts else slow)


def test_in_rows_and_columns_there_are_one_or_three_switches_between_hosts() -> None:
    """As in figure 1 of Barczak, Messom & Johnson (2003)."""
    shape = shape_of(Spec(RowsColumns(6, 3)))
    for (i, one), (j, other) in itertools.permutations(enumerate(shape.hosts), 2):
        between = shape.path(one, other)[1:-1]
        same_row, same_column = i // 3 == j // 3, i % 3 == j % 3
        if same_row or same_column:
            (switch,) = between
            assert switch == (f"row{i // 3 + 1}" if same_row else f"column{i % 3 + 1}")
        else:
            assert between == [f"row{i // 3 + 1}", "core", f"row{j // 3 + 1}"]


def test_a_dragonfly_crosses_one_link_between_groups() -> None:
    shape = shape_of(Spec(Dragonfly(4, 2, 1)))
    assert len(shape.links) == 8 + 4 + 6  # hosts, within groups, between groups
    group = {f"switch{n}": (n - 1) // 2 for n in range(1, 9)}
    for sender, receiver in itertools.permutations(shape.hosts, 2):
        switches = [group[node] for node in shape.path(sender, receiver)[1:-1]]
        assert sum(a != b for a, b in itertools.pairwise(switches)) <= 1
        assert len(switches) <= 4


def test_a_fat_tree_spreads_hosts_over_spines() -> None:
    shape = shape_of(Spec(FatTree(4, 2, 4)))
    for sender in shape.hosts[:4]:  # those of one leaf
        spines = Counter(shape.path(sender, receiver)[2] for receiver in shape.hosts[4:])
        assert spines == {"spine1": 6, "spine2": 6}
    # All packets to a host pass the same spine.
    for receiver in shape.hosts[4:]:
        assert len({shape.path(sender, receiver)[2] for sender in shape.hosts[:4]}) == 1


def test_a_single_switch_is_a_bridge_for_each_rail() -> None:
    shape = shape_of(Spec(Single(3), (Wire(1e6), Wire(2e6))))
    assert shape.nodes == ("node1", "node2", "node3", "switch")
    assert shape.bridges == ("bridge0", "bridge1")
    assert [shape.addresses[host] for host in shape.hosts] == [
        (f"10.87.0.{n}", f"10.87.1.{n}") for n in (1, 2, 3)
    ]
    assert shape.path("node1", "node3") == ["node1", "switch", "node3"]
    for link in shape.links:
        rail = link.one.adapter[-1]
        assert link.other.bridge == f"bridge{rail}"
        assert link.one.address.startswith(f"10.87.{rail}.")
        assert link.wire == Wire(1e6 * (1 + int(rail)))


def test_endless_routes_are_detected() -> None:
    shape = shape_of(Spec(Torus((4,))))
    back = Route(shape.addresses["node3"][0], "node1", "eth1")
    for wrong in ((), (back,)):
        routes = {**shape.routes, "node2": wrong}
        lost = replace(shape, routes=routes)
        with pytest.raises(ValueError, match="are lost"):
            lost.path("node1", "node3")


# ---- specs -----------------------------------------------------------------------------------


def test_shipped_specs_can_be_built() -> None:
    names = set(shipped())
    assert names == {
        *("single", "two-rails", "switches", "helix", "torus-2d", "torus-3d", "fat-tree")
    }
    for name, path in shipped().items():
        spec = load_spec(path)
        assert find_spec(name) == path
        assert spec.title
        assert not spec.delayed  # so that they can be created on any kernel
        assert spec.hosts <= 27
        shape_of(spec)
    assert load_spec(shipped()["torus-2d"]).topology == Torus((4, 4))
    assert load_spec(shipped()["two-rails"]).adapters == (Wire(125e6), Wire(12.5e6))


def test_the_documented_plan_fits_its_lab() -> None:
    path = Path(__file__).parents[2] / "docs" / "plans" / "lab-fabric.toml"
    hosts = load_spec(shipped()["switches"]).hosts
    plan = load_plan(path, PlanContext(cores=1, nodes=hosts))
    assert {cell.placement.nodes for cell in plan.cells} == {hosts}


def read(folder: Path, text: str) -> Spec:
    path = folder / "spec.toml"
    path.write_text(text)
    return load_spec(path)


def test_a_spec_with_all_keys(tmp_path: Path) -> None:
    assert read(
        tmp_path,
        """schema = 1
title = "t"
cores = 2
slurm = true
[topology]
kind = "fat-tree"
leaves = 2
spines = 3
hosts_per_leaf = 4
[[adapter]]
rate = "1 Gbit/s"
delay = "20 us"
[trunk]
rate = 1e6
""",
    ) == Spec(FatTree(2, 3, 4), (Wire(125e6, 20e-6),), Wire(1e6), 2, True, "t")
    # Without [trunk] the adapters' settings apply; without a rate there is no limit.
    bare = read(tmp_path, 'schema = 1\n[topology]\nkind = "torus"\ndimensions = [2, 2]\n')
    assert bare == Spec(Torus((2, 2)))


def test_a_spec_with_a_slurm_as_sites_have_it(tmp_path: Path) -> None:
    single = 'schema = 1\n[topology]\nkind = "single"\nhosts = 2\n'
    text = single + (
        "[slurm]\naccounts = true\nusers = true\n"
        '[slurm.partitions]\ndebug = "Nodes=node1 MaxTime=30"\n'
        '[slurm.settings]\nPreemptType = "preempt/qos"\n'
    )
    spec = read(tmp_path, text)
    assert spec.slurm and spec.site == SlurmSite(
        True, True, {"debug": "Nodes=node1 MaxTime=30"}, {"PreemptType": "preempt/qos"}
    )
    assert read(tmp_path, single + "[slurm]\n").slurm  # a table, even an empty one
    for name, options in (("lab", "Nodes=node1"), ("De bug", "x"), ("d", "a\\nb")):
        wrong = single + f'[slurm.partitions]\n"{name}" = "{options}"\n'
        with pytest.raises(AssayError, match="not a further partition"):
            read(tmp_path, wrong)
    with pytest.raises(AssayError, match="acounts"):
        read(tmp_path, single + "[slurm]\nacounts = true\n")


TORUS = 'schema = 1\n[topology]\nkind = "torus"\ndimensions = [4, 4]\n'


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (TORUS.replace("schema = 1", "schema = 2"), 1, "version 2; this assay reads 1"),
        (TORUS.replace("torus", "hypercube"), 3, "There is no topology 'hypercube'"),
        ("schema = 1\n[topology]\nhosts = 3\n", 2, "has no 'kind'"),
        (TORUS + "hosts = 3\n", 5, "Unknown key 'hosts'"),
        (TORUS.replace("[4, 4]", "[4, 0]"), 4, "'topology.dimensions' is below 1"),
        (TORUS.replace("[4, 4]", "[2, 2, 2, 2]"), 4, "has 1 to 3 dimensions"),
        (TORUS.replace("[4, 4]", "[16, 16]"), 2, "256 hosts and 0 switches; a lab has up to 250"),
        (TORUS + '[trunk]\nrate = "1 MB/s"\n', 5, "There are no trunks"),
        (TORUS + "[[adapter]]\n[[adapter]]\n", 6, "determines how many adapters"),
        (TORUS + '[[adapter]]\nrate = "3 parsec"\n', 6, "unknown unit 'parsec'"),
        (TORUS + "[[adapter]]\nrate = 0\n", 6, "A rate is from 1000"),
        (TORUS + '[[adapter]]\ndelay = "1 h"\n', 6, "A delay is from 0 to 10 s"),
        (TORUS + '[[adapter]]\ndelay = "-1 us"\n', 6, "A delay is from 0 to 10 s"),
        ("cores = 0\n" + TORUS, 1, "'cores' must be at least 1"),
        ("color = 1\n" + TORUS, 1, "Unknown key 'color'"),
    ],
)
def test_impossible_specs_are_refused_with_their_line(
    tmp_path: Path, text: str, line: int, what: str
) -> None:
    with pytest.raises(AssayError, match=what) as error:
        read(tmp_path, text)
    assert error.value.where == f"{tmp_path / 'spec.toml'}:{line}"


def test_an_unknown_spec_names_the_nearest() -> None:
    with pytest.raises(AssayError) as error:
        find_spec("torus-2")
    assert "torus-2d" in error.value.fix
    assert find_spec("./torus") == Path("torus")

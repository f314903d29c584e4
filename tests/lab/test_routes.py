"""Real packets over each topology: their routes, their number of hops, their rates."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from assay.errors import AssayError
from assay.lab import network
from assay.lab.cluster import Cluster
from assay.lab.network import burst_of
from assay.lab.spec import Spec, Wire
from assay.lab.topologies import BRIDGES
from assay.topologies.kinds import FatTree, RowsColumns, Single, Switches, Torus
from lab_probe import PATIENCE, PORT, inside, receive, sent_packets, sockets
from virtual_cluster import VirtualCluster

reason = network.why_not()
pytestmark = pytest.mark.skipif(reason is not None, reason=reason or "")
_TTL = 64  # TTL with which Linux sends

TOPOLOGIES = {
    "torus": Spec(Torus((4, 4))),
    "torus of three dimensions": Spec(Torus((3, 2, 2))),
    "grid of switches": Spec(Switches(2, 2, 2)),
    "rows and columns": Spec(RowsColumns(3, 2)),
    "fat tree": Spec(FatTree(3, 2, 2)),
    "single switch": Spec(Single(3)),
}


@pytest.fixture(scope="module", params=TOPOLOGIES, ids=str)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with VirtualCluster(spec=TOPOLOGIES[request.param]) as listener:
        yield listener


def forwards(cluster: Cluster, sender: str, receiver: str) -> int:
    """How many nodes have to forward a packet; a bridge doesn't."""
    return len([node for node in cluster.shape.path(sender, receiver)[1:-1] if node != BRIDGES])


def test_each_packet_is_forwarded_as_often_as_its_route_requires(cluster: Cluster) -> None:
    address = {host.name: host.addresses[0] for host in cluster.hosts}
    with sockets(cluster) as ends:
        for sender, receiver in itertools.permutations(ends, 2):
            ends[sender].sendto(sender.encode(), (address[receiver], PORT))
            text, source, ttl = receive(ends[receiver])
            assert (text, source) == (sender.encode(), address[sender])
            assert _TTL - ttl == forwards(cluster, sender, receiver), (sender, receiver)


def test_a_packet_with_one_hop_too_few_does_not_arrive(cluster: Cluster) -> None:
    shape = cluster.shape
    pairs = itertools.permutations(shape.hosts, 2)
    sender, receiver = max(pairs, key=lambda pair: len(shape.path(*pair)))
    least = forwards(cluster, sender, receiver) + 1
    address = shape.addresses[receiver][0]
    with sockets(cluster) as ends:
        for ttl in (least - 1, least):
            if ttl > 0:
                ends[sender].setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
                ends[sender].sendto(str(ttl).encode(), (address, PORT))
        text, _, left = receive(ends[receiver])
    assert (text, left) == (str(least).encode(), 1)


def test_adapters_count_the_packets_of_their_routes_only(cluster: Cluster) -> None:
    shape = cluster.shape
    times = 50
    pairs = list(itertools.permutations(shape.hosts, 2))[:: max(1, len(shape.hosts) - 2)]
    wanted = {
        (end.node, end.adapter): 0 for node in shape.nodes for end, _, _ in shape.adapters(node)
    }
    with sockets(cluster) as ends:
        before = sent_packets(cluster)
        for sender, receiver in pairs:
            to = shape.addresses[receiver][0]
            path = shape.path(sender, receiver)
            for here, after in itertools.pairwise(path):
                (used,) = [
                    end
                    for end, other, _ in shape.adapters(here)
                    if other.node == after and (here != BRIDGES or other.address == to)
                ]
                wanted[here, used.adapter] += times
            for _ in range(times):
                ends[sender].sendto(b"x", (to, PORT))
                receive(ends[receiver])
        after_all = sent_packets(cluster)
    counted = {end: after_all[end] - before[end] for end in wanted}
    if shape.bridges:  # which also has IPv6, with neighbour discovery between hosts
        assert all(counted[end] >= count for end, count in wanted.items())
    else:
        assert counted == wanted


def test_neighbours_are_configured_and_not_learned(cluster: Cluster) -> None:
    """Learned neighbours count in one table for all namespaces, which may be full."""
    for host in cluster.hosts:
        known = json.loads(network.run("ip", "-n", host.namespace, "-j", "neighbour"))
        each = (
            len(cluster.hosts) - 1
            if cluster.shape.bridges
            else len(cluster.shape.adapters(host.name))
        )
        reported = [neighbour for neighbour in known if ":" not in neighbour["dst"]]
        assert len(reported) == each
        assert all(neighbour["state"] == ["PERMANENT"] for neighbour in reported)


def test_a_created_cluster_carries_packets_immediately(cluster: Cluster) -> None:
    """An adapter that is not up yet drops packets."""
    with VirtualCluster(spec=cluster.spec) as fresh:
        for namespace in fresh.namespaces:
            links = json.loads(network.run("ip", "-n", namespace, "-j", "link"))
            assert {link["operstate"] for link in links if link["ifname"] != "lo"} == {"UP"}


# ---- rates -----------------------------------------------------------------------------------


def seconds_for(cluster: Cluster, pairs: list[tuple[str, str]], size: int) -> float:
    """Seconds from the first byte sent to the last read, ``size`` bytes by TCP for each pair."""
    host = {each.name: each for each in cluster.hosts}

    def listening() -> socket.socket:
        listener = socket.create_server(("0.0.0.0", PORT))
        listener.settimeout(PATIENCE)
        return listener

    with sockets(cluster, listening) as servers:
        connections = []
        for sender, receiver in pairs:
            to = (host[receiver].addresses[0], PORT)
            out = inside(
                host[sender].namespace, lambda to=to: socket.create_connection(to, PATIENCE)
            )
            connections.append((out, servers[receiver].accept()[0]))

        def read(end: socket.socket) -> None:
            end.settimeout(60)
            left = size
            while left and (got := end.recv(min(left, 1 << 16))):
                left -= len(got)
            unread.append(left)

        unread: list[int] = []
        readers = [threading.Thread(target=read, args=(end,)) for _, end in connections]
        senders = [
            threading.Thread(target=out.sendall, args=(bytes(size),)) for out, _ in connections
        ]
        start = time.monotonic()
        for thread in readers + senders:
            thread.start()
        for thread in readers + senders:
            thread.join()
        took = time.monotonic() - start
        for ends in connections:
            for end in ends:
                end.close()
    assert unread == [0] * len(pairs)
    return took


RATE = 1e6


@pytest.mark.parametrize(
    ("spec", "pairs", "sharing"),
    [
        # One link, which a neighbour uses alone, and which two have to share.
        (Spec(Torus((4,)), (Wire(RATE),)), [("node1", "node2")], 1),
        (Spec(Torus((4,)), (Wire(RATE),)), [("node1", "node3"), ("node2", "node3")], 2),
        # Two hosts of a switch with two of another, over fast adapters and one slow trunk.
        (
            Spec(Switches(1, 2, 2), (Wire(100 * RATE),), Wire(RATE)),
            [("node1", "node3"), ("node2", "node4")],
            2,
        ),
        # Two hosts of a leaf with two others by the same spine, for both their numbers are odd.
        (
            Spec(FatTree(2, 2, 4), (Wire(100 * RATE),), Wire(RATE)),
            [("node1", "node5"), ("node2", "node7")],
            2,
        ),
    ],
)
def test_pairs_on_a_link_share_its_rate(
    spec: Spec, pairs: list[tuple[str, str]], sharing: int
) -> None:
    size = 150_000
    with VirtualCluster(spec=spec) as cluster:
        took = seconds_for(cluster, pairs, size)
    # Except what a full bucket lets through immediately. Not faster, however busy the machine is.
    assert took >= (sharing * size - burst_of(RATE)) / RATE


def test_separate_routes_have_separate_rates() -> None:
    """The trunks to two spines: each carries the packets to its own hosts."""
    size = 150_000
    spec = Spec(FatTree(2, 2, 2), (Wire(100 * RATE),), Wire(10 * RATE))
    with VirtualCluster(spec=spec) as cluster:
        before = sent_packets(cluster)
        seconds_for(cluster, [("node1", "node3"), ("node2", "node4")], size)
        after = sent_packets(cluster)
        trunks = {
            other.node: after["leaf1", end.adapter] - before["leaf1", end.adapter]
            for end, other, _ in cluster.shape.adapters("leaf1")
            if other.node.startswith("spine")
        }
    # A message no larger than a bucket may pass as one packet.
    least = size // burst_of(100 * RATE)
    assert set(trunks) == {"spine1", "spine2"}
    assert all(count >= least for count in trunks.values())


# ---- delays ----------------------------------------------------------------------------------


def has_netem() -> bool:
    if reason:
        return False
    with VirtualCluster(1) as cluster:
        try:
            network.check_delay(cluster.hosts[0].namespace)
        except AssayError:
            return False
    return True


@pytest.mark.parametrize(
    ("wire", "lines"),
    [
        (Wire(), []),
        (Wire(1e6), ["tbf rate 1000000bps burst 3200 limit 1051776"]),
        (Wire(1e9), ["tbf rate 1000000000bps burst 25000 limit 50025000"]),
        (Wire(None, 2e-5), ["root netem delay 20.0us limit 100000"]),
        (
            Wire(1e6, 0.5),
            [
                "root handle 1: tbf rate 1000000bps burst 3200 limit 1051776",
                "parent 1:1 netem delay 500000.0us limit 100000",
            ],
        ),
    ],
)
def test_queues_are_these(monkeypatch: pytest.MonkeyPatch, wire: Wire, lines: list[str]) -> None:
    """The rate limit is applied after the delay: a delayed packet doesn't also wait for tokens."""
    reported: list[str] = []
    monkeypatch.setattr(network, "batch", lambda command, lines, keep: reported.extend(lines))
    network.limit("space", [("eth0", wire)])
    assert len(reported) == len(lines)
    assert all(
        said.startswith("qdisc add dev eth0 ") and said.endswith(line)
        for said, line in zip(reported, lines, strict=True)
    )


DELAY = 0.02
DELAYED = Spec(Torus((4,)), (Wire(1e8, DELAY),))


def test_an_unsupported_delay_is_refused() -> None:
    if has_netem():
        pytest.skip("this kernel has netem")
    cluster = VirtualCluster(spec=DELAYED)
    with pytest.raises(AssayError, match="can't delay packets: it has no netem") as error, cluster:
        pass
    assert error.value.fix
    assert network.namespaces_called(cluster.name) == []


def test_delays_add_up_along_the_route() -> None:
    if not has_netem():
        pytest.skip("this kernel has no netem")
    with VirtualCluster(spec=DELAYED) as cluster, sockets(cluster) as ends:
        for receiver, links in (("node2", 1), ("node3", 2), ("node4", 1)):
            to = cluster.shape.addresses[receiver][0]
            start = time.monotonic()
            ends["node1"].sendto(b"x", (to, PORT))
            receive(ends[receiver])
            assert time.monotonic() - start >= links * DELAY

"""A cluster as SimGrid's platform file, with the routes of the topology's wiring.

Each cable is a link in both directions, shared by the messages that pass it. All routes begin with
an unshared link that has the fixed cost of a message: the latency between neighbours. Each further
link adds ``hop``. Costs of larger messages are factors, as SimGrid's SMPI model has them (SimGrid
3.32, "Configuring SimGrid": smpi/lat-factor, bw-factor).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import quoteattr

from assay.errors import AssayError
from assay.simulation.cluster import SimulatedCluster
from assay.topologies.kinds import Torus
from assay.topologies.wiring import Wiring, wiring_of
from assay.trace.exports.simgrid import SPEED

# Maximum number of hosts, because each pair of hosts has a route in the file.
MOST_HOSTS = 600

_ENDLESS = "1e18Bps"
_HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="cluster" routing="Full">
"""


def hosts_for(cluster: SimulatedCluster, ranks: int, per_node: int) -> list[str]:
    """The host of each rank: ranks fill hosts in order. Raises AssayError if they don't fit."""
    needed = -(-ranks // per_node)
    if per_node > cluster.cores:
        raise AssayError(
            f"{per_node} ranks per node don't fit {cluster.cores} cores.", fix="Lower --ppn."
        )
    if needed > cluster.hosts:
        raise AssayError(
            f"{ranks} ranks, {per_node} per node, need {needed} nodes; the cluster has "
            f"{cluster.hosts}.",
            fix="Describe a larger one, or raise --ppn.",
        )
    if needed > MOST_HOSTS:
        raise AssayError(
            f"Up to {MOST_HOSTS:,} nodes can be simulated, not {needed:,}.",
            fix="Simulate fewer ranks, or raise --ppn.",
        )
    names = wiring_of(cluster.topology).hosts
    return [names[rank // per_node] for rank in range(ranks)]


def platform_xml(
    cluster: SimulatedCluster,
    used: Sequence[str],
    *,
    latency: float,
    bandwidth: float,
    speeds: Mapping[str, float],
    profiles: Mapping[str, str],
    reached: float = 1.0,
) -> str:
    """The platform of the hosts that are used.

    ``latency`` (s), ``bandwidth`` (B/s): between neighbours. ``speeds``: relative speed of each
    host. ``profiles``: file of each host's speed over time, if it varies. ``reached``: share of the
    bandwidth of its adapters that a node reaches; what passes a node or a switch is not limited by
    it.
    """
    wiring = wiring_of(cluster.topology)
    lines = []
    for host in used:
        profile = f" speed_file={quoteattr(profiles[host])}" if host in profiles else ""
        speed = SPEED * cluster.speed * speeds.get(host, 1.0)
        lines.append(f'<host id="{host}" speed="{speed:.9g}f" core="{cluster.cores}"{profile}/>')
        lines.append(
            f'<link id="memory-{host}" bandwidth="{cluster.within_bandwidth:.9g}Bps" '
            f'latency="{cluster.within_latency:.9g}s" sharing_policy="FATPIPE"/>'
        )
        if reached < 1.0:
            lines.append(
                f'<link id="adapters-{host}" '
                f'bandwidth="{reached * cluster.adapters * bandwidth:.9g}Bps" '
                'latency="0s" sharing_policy="SPLITDUPLEX"/>'
            )
    near = 1 if isinstance(cluster.topology, Torus) else 2
    start = max(latency - near * cluster.hop, 0.0)
    # Links of an ordinary path have the latency of a hop, so this link adds the rest of the latency
    # between neighbours.
    lines.append(
        f'<link id="start" bandwidth="{_ENDLESS}" latency="{start:.9g}s" sharing_policy="FATPIPE"/>'
    )
    places = {}
    for number, cable in enumerate(wiring.cables):
        rate = (
            cluster.trunk * bandwidth / cluster.bandwidth.value
            if cable.trunk
            else cluster.adapters * bandwidth
        )
        places[cable.one, cable.other] = f'<link_ctn id="c{number}" direction="UP"/>'
        places[cable.other, cable.one] = f'<link_ctn id="c{number}" direction="DOWN"/>'
        lines.append(
            f'<link id="c{number}" bandwidth="{rate:.9g}Bps" latency="{cluster.hop:.9g}s" '
            'sharing_policy="SPLITDUPLEX"/>'
        )
    lines += _routes(wiring, used, places, adapters=reached < 1.0)
    return _HEAD + "\n".join(lines) + "\n</zone>\n</platform>\n"


def _routes(
    wiring: Wiring,
    used: Sequence[str],
    places: Mapping[tuple[str, str], str],
    *,
    adapters: bool,
) -> list[str]:
    """``adapters``: whether each node's adapters are a link of their own."""
    routes = []
    for sender in used:
        for receiver in used:
            links = f'<link_ctn id="memory-{sender}"/>'
            if sender != receiver:
                steps = pairwise(wiring.path(sender, receiver))
                links = '<link_ctn id="start"/>' + "".join(places[step] for step in steps)
                if adapters:
                    links += f'<link_ctn id="adapters-{sender}" direction="UP"/>'
                    links += f'<link_ctn id="adapters-{receiver}" direction="DOWN"/>'
            routes.append(
                f'<route src="{sender}" dst="{receiver}" symmetrical="NO">{links}</route>'
            )
    return routes


def options(cluster: SimulatedCluster, *, program: bool = False) -> list[str]:
    """SimGrid's options for a replay on the cluster, or for a ``program`` that is executed."""
    latencies, bandwidths = ["0:1"], ["0:1"]
    for size in cluster.sizes:
        latencies.append(f"{size.above + 1}:{size.latency / cluster.latency.value:.9g}")
        bandwidths.append(f"{size.above + 1}:{size.bandwidth / cluster.bandwidth.value:.9g}")
    return [
        f"--cfg=smpi/lat-factor:{';'.join(latencies)}",
        f"--cfg=smpi/bw-factor:{';'.join(bandwidths)}",
        # The measured bandwidth includes acknowledgements; TCP's window doesn't limit it further.
        "--cfg=network/crosstraffic:no",
        "--cfg=network/TCP-gamma:0",
        "--cfg=network/weight-S:0",
        # By default, SimGrid 3.32 recomputes the shares only of links that it considers changed.
        # Messages of two ranges of sizes then got up to twice a link's rate if there were messages
        # in the opposite direction. Recomputing all links took no longer with 64 to 128 ranks.
        "--cfg=network/optim:Full",
        # With SimGrid's mailboxes for small messages, two crossing messages take longer than one
        # (3.32).
        "--cfg=smpi/async-small-thresh:0",
        f"--cfg=smpi/send-is-detached-thresh:{cluster.eager}",
        f"--cfg=smpi/host-speed:{SPEED:.0f}f",
        # A replay prints its time without an option.
        f"--cfg=smpi/display-timing:{'yes' if program else 'no'}",
        "--log=root.thres:warning",
        f"--log={'smpi_utils' if program else 'smpi_replay'}.thres:info",
    ]

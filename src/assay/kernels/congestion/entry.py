"""The network under load: operations beside the traffic of other nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.placement import Placement, Value

Parameters = Mapping[str, Value]

VICTIMS = ("pingpong", "allreduce", "alltoall", "halo")
AGGRESSORS = ("incast", "alltoall", "permutation", "broadcast")
# The quantiles that the series ``quiet_quantiles`` and ``loaded_quantiles`` hold, in this order;
# those that fewer than one operation of a launch exceeds are missing at the end.
LEVELS = (0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999)
FEWEST_NODES = 4

_LARGEST = 1 << 30
_DOUBLE = 8
_USUAL = {"pingpong": 8, "allreduce": 8, "alltoall": 1024, "halo": 64 << 10}
# As in native/network/congestion/: operations of a block if none are given, at least; those of the
# set-up and of the check, each block with an untimed one; messages in flight of an aggressor.
_FEWEST_OPERATIONS, _OTHER_OPERATIONS = 10, 12
_IN_FLIGHT = 2 * 16

# Bytes that a node sends in one operation, as multiples of `bytes`, by ranks per node and ranks of
# other victims' nodes: a lower bound for any algorithm.
_SENT: dict[str, Callable[[int, int], float]] = {
    "pingpong": lambda here, others: here,
    "allreduce": lambda here, others: 1,
    "alltoall": lambda here, others: here * others,
    "halo": lambda here, others: 2 * here,
}
# Buffers of a victim, as multiples of `bytes`, by ranks.
_BUFFERS: dict[str, Callable[[int], float]] = {
    "pingpong": lambda p: 2,
    "allreduce": lambda p: 2,
    "alltoall": lambda p: 2 * p,
    "halo": lambda p: 4,
}


def message_bytes(parameters: Parameters) -> int:
    """Bytes of a victim's message: as given, or the victim's usual size for -1."""
    given = int(parameters["bytes"])
    return _USUAL[str(parameters["victim"])] if given == -1 else given


def active_nodes(parameters: Parameters, nodes: int) -> int:
    """Number of nodes with active aggressors, of that number of nodes."""
    return math.floor(float(parameters["share"]) * (nodes - nodes // 2) + 0.5)


def _work(parameters: Parameters, ranks: int, threads: int) -> Work:
    blocks = 2 if parameters["victim"] == "halo" else 1
    return {"bytes": float(blocks * message_bytes(parameters))}


def _memory(parameters: Parameters, ranks: int, threads: int) -> float:
    victim = _BUFFERS[str(parameters["victim"])](ranks // 2) * message_bytes(parameters)
    return float(max(victim, (1 + _IN_FLIGHT) * int(parameters["load_bytes"])))


def _link_bytes(parameters: Parameters, nodes: int, ppn: int) -> float:
    others = max(nodes // 2 - 1, 0) * ppn
    operations = 2 * (int(parameters["operations"]) or _FEWEST_OPERATIONS) + _OTHER_OPERATIONS
    sent = _SENT[str(parameters["victim"])](ppn, others) * message_bytes(parameters)
    return float(operations * sent)


def _check(parameters: Parameters, placement: Placement) -> str | None:
    nodes, share = placement.nodes, float(parameters["share"])
    if nodes < FEWEST_NODES:
        return (
            f"{nodes} of at least {FEWEST_NODES} nodes: 2 for victims and 2 for aggressors; use "
            "more nodes."
        )
    active = active_nodes(parameters, nodes)
    if share > 0.0 and active < 2:
        return (
            f"share = {share:g} of {nodes - nodes // 2} nodes is {active}, but aggressors need 2: "
            "choose a larger share, or more nodes."
        )
    if parameters["victim"] == "allreduce" and message_bytes(parameters) % _DOUBLE:
        return (
            f"allreduce adds up doubles: bytes = {message_bytes(parameters)} must be a multiple "
            f"of {_DOUBLE}."
        )
    return None


def _of_launch(name: str, words: str, *, optional: bool = False) -> tuple[Metric, ...]:
    """The metrics of one statistic of a launch's operations: its ratio, and both of its times."""
    return (
        Metric(
            f"impact_{name}",
            "",
            "less",
            f"{words} of all loaded operations of a launch / the same of all quiet ones",
            series=f"impact_{name}",
            optional=optional,
        ),
        *(
            Metric(
                f"{phase}_{name}",
                "s",
                "less",
                f"{words} of all {phase} operations of a launch",
                series=f"{phase}_{name}",
                optional=optional,
            )
            for phase in ("quiet", "loaded")
        ),
    )


KERNELS = (
    Kernel(
        name="network.congestion",
        title="Network under load: operations beside the traffic of other nodes",
        parameters=(
            Parameter("victim", "allreduce", "operation of the victims", choices=VICTIMS),
            Parameter("aggressor", "incast", "traffic of the aggressors", choices=AGGRESSORS),
            Parameter(
                "share",
                1.0,
                "active part of the aggressors' nodes, at least two nodes; 0: no traffic at all, a "
                "control whose impact is 1",
                low=0.0,
                high=1.0,
            ),
            Parameter(
                "bytes",
                -1,
                "size of a victim's message (pingpong, halo), vector (allreduce) or block for each "
                "rank (alltoall); -1: 8 for pingpong and allreduce, 1024 for alltoall, 65536 for "
                "halo",
                unit="B",
                low=-1,
                high=_LARGEST,
            ),
            Parameter(
                "load_bytes",
                64 << 10,
                "size of an aggressor's message",
                unit="B",
                low=1,
                high=_LARGEST,
                tacit=True,
            ),
            Parameter(
                "duty",
                1.0,
                "part of each period in which aggressors send",
                low=0.05,
                high=1.0,
                tacit=True,
            ),
            Parameter(
                "period", 0.01, "period of the bursts", unit="s", low=1e-4, high=1.0, tacit=True
            ),
            Parameter(
                "operations",
                0,
                "a victim's operations in a block; 0: as many as take 0.1 s, from 10 to 1000",
                low=0,
                high=1_000_000,
            ),
            Parameter(
                "draw",
                1,
                "seed by which nodes become victims, aggressors or inactive",
                low=0,
                tacit=True,
            ),
        ),
        metrics=(
            Metric(
                "impact",
                "",
                "less",
                "median time beside the traffic / median time in the quiet network, of two "
                "consecutive blocks",
                series="impact",
            ),
            *_of_launch("mean", "mean"),
            *_of_launch("p99", "99th percentile", optional=True),
            *_of_launch("p999", "99.9th percentile", optional=True),
            Metric(
                "quiet",
                "s",
                "less",
                "an operation in the quiet network, median of a block",
                "quiet",
            ),
            Metric(
                "loaded",
                "s",
                "less",
                "an operation beside the traffic, median of a block",
                "loaded",
            ),
            Metric(
                "time",
                "s",
                "less",
                "two blocks, with beginning and end of the traffic, divided by their operations",
            ),
        ),
        work=_work,
        source="Chunduri et al. (SC 2019): GPCNeT; De Sensi et al. (SC 2020)",
        even=False,
        headline="impact",
        notes="Half of the nodes, rounded down, are victims; both halves are drawn at random by "
        "'draw'. A sample is a quiet block and a loaded block of operations, the order alternates. "
        "Each block begins with an untimed operation. pingpong: neighbouring victims' nodes, half "
        "a round trip, all pairs together. allreduce and alltoall: all victims' ranks. halo: each "
        "rank exchanges a message with both its neighbours in a ring of the victims' nodes. Except "
        "for pingpong, a barrier that isn't timed precedes each operation, and the slowest rank "
        "counts. Aggressors: each node sends to the next of a random ring (permutation), to all "
        "others (alltoall), to the first (incast), or only the first sends to all others "
        "(broadcast). Their messages are synchronous and nonblocking, at least eight in flight. "
        "On a node with several ranks each rank does this with the ranks of other nodes that have "
        "the same number there. The traffic begins before a loaded block and ends after it. "
        "A launch with fewer than 1000 operations has no 99th percentile, and with fewer than "
        "10000 no 99.9th. The facts load (bytes per second that aggressors received) and sending "
        "(part of the time in which they had messages in flight) state the traffic; victims and "
        "aggressors list the nodes.",
        work_units={"bytes": "B"},
        formulas={"bytes": "bytes; 2 bytes for halo"},
        memory=_memory,
        check=_check,
        link_bytes=_link_bytes,
    ),
)

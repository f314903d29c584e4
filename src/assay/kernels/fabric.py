"""Kernels that measure the fabric: all pairs, rings, bisections."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.model.placement import Placement, Value

# With this many series of one value a record stays below 1 MB; as in native/network/ranks.hpp.
MOST_PAIRS = 8192
_LARGEST = 1 << 30


def read_ranks(text: str) -> list[int] | None:
    """The ranks of a list such as ``"2-0-1"``, also with spaces or commas; None for other text."""
    words = [word for word in re.split(r"[-, ]", text) if word]
    return [int(word) for word in words] if all(word.isdecimal() for word in words) else None


def _two_buffers(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return 2.0 * int(parameters["bytes"])


def _one_message(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"bytes": float(parameters["bytes"])}


def _round_of_messages(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"bytes": float(parameters["bytes"]) * ranks}


def _exchanges(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    both_ways = 2.0 * float(parameters["bytes"])
    pairs = int(parameters["pairs"]) or ranks // 2
    return {"bytes": both_ways * pairs, "pair_bytes": both_ways}


# One-way trips of a pair in the set-up, in a pass, and in the check, which runs disjoint pairs
# concurrently.
_SETUP_TRIPS, _PASS_TRIPS, _CHECK_TRIPS = 4.0, 4.0, 2.0
# Duration of a ring's hops, sample and check, in rounds; as in native/network/ring.cpp.
_TOKEN_ROUNDS, _TOGETHER_ROUNDS = 10.0, 4.0
# Exchanges of a bisection: one opens the connections, one is the sample, one is the check.
_EXCHANGES = 3.0


def _pairs_bytes(parameters: Mapping[str, Value], nodes: int, ppn: int) -> float:
    members = nodes if parameters["between"] in ("auto", "nodes") else nodes * ppn
    together = parameters["concurrent"] == "yes"
    rounds = float(members - 1 + members % 2)
    pairs = min(members * (members - 1) / 2, float(parameters["most"]))
    turns = rounds if together else pairs
    trips = (_SETUP_TRIPS + _PASS_TRIPS) * turns + _CHECK_TRIPS * rounds
    return trips * float(parameters["bytes"])


def _ring_bytes(parameters: Mapping[str, Value], nodes: int, ppn: int) -> float:
    token = parameters["mode"] == "token"
    rounds = _TOKEN_ROUNDS * nodes if token else _TOGETHER_ROUNDS
    return rounds * float(parameters["bytes"])


def _bisection_bytes(parameters: Mapping[str, Value], nodes: int, ppn: int) -> float:
    if parameters["cut"] == "best" and ppn % 2 == 0:
        return 0.0  # neighbours are on one node
    pairs = min(int(parameters["pairs"]) or ppn, ppn)
    return _EXCHANGES * pairs * float(parameters["bytes"])


def _check_pairs(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    if parameters["between"] == "nodes" and placement.nodes < 2:
        return "between = nodes needs at least 2 nodes; on one node use between = ranks."
    return None


def _check_list(name: str, text: str, wanted: int, ranks: int) -> str | None:
    listed = read_ranks(text)
    if listed is None:
        return f"{name} = '{text}' is not a list of ranks such as '2-0-1'."
    if any(rank >= ranks for rank in listed):
        return f"{name} names rank {max(listed)}, but ranks go from 0 to {ranks - 1}."
    if len(set(listed)) != len(listed):
        return f"{name} names a rank twice."
    if len(listed) != wanted:
        return f"{name} names {len(listed)} of {ranks} ranks, but must name {wanted}."
    return None


def _check_ring(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    sequence = str(parameters["sequence"])
    if (parameters["route"] == "given") != (sequence != "auto"):
        return "'sequence' must be given with route = given, and only then."
    if sequence == "auto":
        return None
    return _check_list("sequence", sequence, placement.ranks, placement.ranks)


def _check_bisection(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    ranks, half = placement.ranks, str(parameters["half"])
    if ranks % 2:
        return f"A bisection needs an even number of ranks, not {ranks}."
    if int(parameters["pairs"]) > ranks // 2:
        return f"pairs = {parameters['pairs']}, but half of {ranks} ranks are {ranks // 2}."
    if (parameters["cut"] == "given") != (half != "auto"):
        return "'half' must be given with cut = given, and only then."
    return None if half == "auto" else _check_list("half", half, ranks // 2, ranks)


KERNELS = (
    Kernel(
        name="network.pairs",
        title="Every pair of nodes, or of ranks: a matrix of latencies",
        parameters=(
            Parameter("bytes", 8, "message size", unit="B", low=0, high=_LARGEST),
            Parameter(
                "between",
                "auto",
                "pairs of nodes (the first rank of each) or of ranks; auto: nodes if there are "
                "several",
                choices=("auto", "nodes", "ranks"),
            ),
            Parameter(
                "concurrent",
                "no",
                "no: one pair at a time, undisturbed; yes: disjoint pairs concurrently",
                choices=("no", "yes"),
            ),
            Parameter(
                "trips",
                0,
                "round trips of a pair in each pass; 0: enough to last 10 µs",
                low=0,
                high=1000,
            ),
            Parameter(
                "most",
                MOST_PAIRS,
                "maximum number of pairs to measure; if there are more, each launch measures a "
                "random subset with equally many pairs for each node",
                low=1,
                high=MOST_PAIRS,
            ),
        ),
        metrics=(
            Metric("time", "s", "less", "one pass over all pairs, including untimed trips"),
            Metric(
                "latency", "s", "less", "half a round trip of the median pair", series="median_pair"
            ),
            Metric(
                "slowest",
                "s",
                "less",
                "half a round trip of the slowest pair",
                series="slowest_pair",
            ),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "message size / latency",
                series="median_pair",
                quantity="bytes",
            ),
            Metric(
                "worst_bandwidth",
                "B/s",
                "more",
                "message size / slowest",
                series="slowest_pair",
                quantity="bytes",
            ),
        ),
        work=_one_message,
        source="Barczak, Messom & Johnson (2003), 3.3: topology of switches inferred from messages "
        "between nodes; rounds by Kirkman's circle method",
        min_ranks=2,
        headline="latency",
        notes="A sample is a pass over all pairs. Each visit to a pair begins with an untimed "
        "trip. The series 'pair' holds each pair's median over the passes. If all pairs "
        "would exceed the time limit of the measurement, a pass covers the pairs visited in "
        "the first half of that time, a random subset in each launch. The fact pairs is the "
        "number of pairs measured, and pairs_in_all the number of all pairs.",
        work_units={"bytes": "B"},
        formulas={"bytes": "bytes, one way"},
        memory=_two_buffers,
        check=_check_pairs,
        link_bytes=_pairs_bytes,
    ),
    Kernel(
        name="network.ring",
        title="Ring: each rank sends to the next, one after the other (token) or all together",
        parameters=(
            Parameter("bytes", 127_000, "message size", unit="B", low=0, high=_LARGEST),
            Parameter(
                "mode",
                "token",
                "token: one message goes around; together: all send at the same time",
                choices=("token", "together"),
            ),
            Parameter(
                "route",
                "natural",
                "order of the ranks in the ring: placed (0, 1, 2, …), random, or given",
                choices=("natural", "random", "given"),
            ),
            Parameter("draw", 1, "seed of the random order", low=0),
            Parameter("sequence", "auto", "ranks in the given order, such as 0-2-1-3"),
        ),
        metrics=(
            Metric("time", "s", "less", "one round of the token, or one step of all, slowest rank"),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "bytes of all hops / time of the round",
                quantity="bytes",
            ),
        ),
        work=_round_of_messages,
        source="Barczak, Messom & Johnson (2003), 3.3",
        min_ranks=2,
        notes="The series 'hop' holds each hop, measured without synchronised clocks. For a token, "
        "a hop is half a round trip between neighbours, and hops are measured one after the "
        "other. For mode together, a hop is the time from the receiver's start after a "
        "barrier until the message arrives.",
        work_units={"bytes": "B"},
        formulas={"bytes": "bytes ranks"},
        memory=_two_buffers,
        check=_check_ring,
        link_bytes=_ring_bytes,
    ),
    Kernel(
        name="network.bisection",
        title="Bisection: one half of the ranks exchanges with the other",
        parameters=(
            Parameter(
                "bytes", 1 << 20, "message size in each direction", unit="B", low=0, high=_LARGEST
            ),
            Parameter(
                "cut",
                "worst",
                "worst: the first half of the nodes exchanges with the second half; best: "
                "neighbours exchange; random; given",
                choices=("worst", "best", "random", "given"),
            ),
            Parameter("draw", 1, "seed of the random cut", low=0),
            Parameter(
                "half",
                "auto",
                "ranks on one side of the given cut, such as 0-1",
            ),
            Parameter(
                "pairs",
                0,
                "pairs that exchange while the others wait; 0: all",
                low=0,
            ),
        ),
        metrics=(
            Metric(
                "time", "s", "less", "one exchange, both directions at the same time, slowest pair"
            ),
            Metric(
                "bandwidth",
                "B/s",
                "more",
                "bytes of all pairs in both directions / time",
                quantity="bytes",
            ),
            Metric(
                "pair_min",
                "B/s",
                "more",
                "both directions, slowest pair",
                quantity="pair_bytes",
            ),
            Metric(
                "pair_max",
                "B/s",
                "more",
                "both directions, fastest pair",
                series="fastest",
                quantity="pair_bytes",
            ),
        ),
        work=_exchanges,
        source="Barczak, Messom & Johnson (2003), 3.4",
        min_ranks=2,
        headline="bandwidth",
        notes="The k-th rank of one half exchanges with the k-th of the other by MPI_Sendrecv. The "
        "series 'exchange' holds each pair's median.",
        work_units={"bytes": "B", "pair_bytes": "B"},
        formulas={"bytes": "2 bytes pairs", "pair_bytes": "2 bytes"},
        memory=_two_buffers,
        check=_check_bisection,
        link_bytes=_bisection_bytes,
    ),
)

"""The fabric of a fake cluster: nodes at switches, and what network.pairs measures between them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from assay.model.placement import Value
from assay.records.schema import SampleSeries

PAIRS = "network.pairs"
_GOLDEN = 0.6180339887498949


class FabricModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Switches, and the times of pairs of nodes."""

    #: Nodes per switch; ``pod``: nodes per group of switches. 0 puts all nodes at one switch.
    switch: int = 0
    pod: int = 0
    #: ``between``, ``between_pods``: a pair's time between switches and between pods, relative to a
    #: pair's time at one switch.
    between: float = 1.3
    between_pods: float = 1.0
    #: Further factor on the time between switches while pairs are concurrent. ``latency`` in s and
    #: ``bandwidth`` in B/s of a pair at one switch.
    oversubscription: float = 1.0
    latency: float = 2e-6
    bandwidth: float = 10e9
    #: Standard deviation of the logarithm of a pair's time in a launch; ``launch_sigma``: the same
    #: for all pairs between launches.
    sigma: float = 0.02
    launch_sigma: float = 0.0
    #: By the number of a host, how much longer all of its pairs take.
    slow: dict[str, float] = {}
    #: Whether nodes are at switches in random order instead of the order of their numbers.
    scattered: bool = True


def seats(fabric: FabricModel, nodes: int, seed: int) -> list[int]:
    """The seat of each node: seats 0 to ``switch`` - 1 are at the first switch."""
    found = list(range(nodes))
    if fabric.scattered:
        random.Random(f"{seed}/fabric").shuffle(found)
    return found


def fabric_series(
    fabric: FabricModel,
    parameters: Mapping[str, Value],
    ranks: Mapping[int, int],
    *,
    nodes: int,
    seed: int,
    launch: int,
    noise: str,
) -> tuple[list[SampleSeries], dict[str, Value]]:
    """The series of pairs, and facts, as the real kernel reports them.

    ``ranks``: the first rank of each node, by the node's number. ``nodes``: number of nodes of the
    cluster. ``launch``: the launch's seed, which chooses the first round. ``noise``: names the
    measurement.
    """
    import numpy as np

    members = sorted(ranks)
    turns = rounds(len(members), int(parameters["most"]), launch)
    one, other = (
        np.array(ends) for ends in zip(*(pair for turn in turns for pair in turn), strict=True)
    )
    seat = np.array(seats(fabric, nodes, seed))[members]
    apart = seat[one] // (fabric.switch or nodes) != seat[other] // (fabric.switch or nodes)
    far = seat[one] // (fabric.pod or nodes) != seat[other] // (fabric.pod or nodes)
    together = parameters["concurrent"] == "yes"
    factor = fabric.between * (fabric.oversubscription if together else 1.0)
    slow = np.array([fabric.slow.get(str(member), 1.0) for member in members])
    draw = np.random.default_rng([seed, *noise.encode()])
    shift = fabric.launch_sigma * draw.standard_normal()
    scatter = shift + fabric.sigma * draw.standard_normal(one.size)
    at_one = fabric.latency + float(parameters["bytes"]) / fabric.bandwidth
    times = at_one * np.where(apart, factor, 1.0) * np.where(far, fabric.between_pods, 1.0)
    times = times * slow[one] * slow[other] * np.exp(scatter)
    series = [
        SampleSeries(
            metric="median_pair",
            unit="s",
            rank=None,
            peer=None,
            starts=[],
            values=[float(np.median(times))],
        ),
        SampleSeries(
            metric="slowest_pair",
            unit="s",
            rank=None,
            peer=None,
            starts=[],
            values=[float(times.max())],
        ),
        *(
            SampleSeries(
                metric="pair",
                unit="s",
                rank=ranks[members[a]],
                peer=ranks[members[b]],
                starts=[],
                values=[seconds],
            )
            for a, b, seconds in zip(one.tolist(), other.tolist(), times.tolist(), strict=True)
        ),
    ]
    count = len(members)
    facts: dict[str, Value] = {
        "members": count,
        "pairs": one.size,
        "pairs_in_all": count * (count - 1) // 2,
        "rounds": len(turns),
        "rounds_in_all": count - 1 + count % 2,
    }
    return series, facts


def rounds(members: int, most: int, launch: int) -> list[list[tuple[int, int]]]:
    """Rounds of the circle method in random order, as native/network/tournament.hpp has them."""
    circle = members - 1 + members % 2
    order, places = list(range(circle)), list(range(members))
    random.Random(1).shuffle(places)
    random.Random(2).shuffle(order)
    first = int(math.modf(_GOLDEN * launch)[0] * circle)
    fitting = max(most // (members // 2), 1)
    return [
        list(_round(places, turn, circle)) for turn in (order[first:] + order[:first])[:fitting]
    ]


def _round(places: Sequence[int], turn: int, circle: int) -> Iterator[tuple[int, int]]:
    ends = [(turn, circle)]
    ends += [((turn + k) % circle, (turn - k) % circle) for k in range(1, (circle + 1) // 2)]
    for a, b in ends:
        if a < len(places) and b < len(places):
            one, other = sorted((places[a], places[b]))
            yield one, other

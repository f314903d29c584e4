"""Messages between hosts take turns at the adapters of their hosts.

An adapter sends, and receives, one message at a time, in the order in which they are ready on the
network in question; among messages that are ready at the same time, the lower rank's message goes
first, and a rank's messages go in the order of sending. The order is found by repetition: the graph
is evaluated, the messages of each adapter are chained in the order of the times found, and so on
until no order changes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.models.program.graph import (
    Edges,
    ProgramGraph,
    reordered,
    topological_order,
)
from assay.models.program.links import BETWEEN, ProgramNetwork
from assay.models.program.replay import costs, replay

# Orders nearly always settle within three repetitions. Some random programs on a slower network
# need eight, and an earlier order can be wrong by 10% of the time.
_MOST_REPEATS = 30
# Times that differ by less, in s, count as equal: sums differ by rounding.
_SAME = 1e-12


def with_adapters(graph: ProgramGraph, network: ProgramNetwork) -> ProgramGraph:
    """The graph with the messages of each adapter chained, in their order on this network."""
    far = graph.far
    if len(far.size) < 2:
        return graph
    before: tuple[Ints, Ints] | None = None
    for _ in range(_MOST_REPEATS):
        times = replay(graph, network).times
        orders = _orders(graph, network, times)
        if before is not None and all(map(np.array_equal, before, orders)):
            break
        before = orders
        chained = _chained(graph, *orders, times)
        if chained is None:
            # Some messages that are ready at the same time depend on each other: without latency
            # and overhead, or by rounding.
            chained = _chained(graph, *_orders(graph, network, times, by_rank=False), times)
        if chained is None:
            raise AssayError(
                "No order of the trace's messages at the adapters of its hosts was found.",
                fix="Trace a shorter run; if that fails too, report it with the trace.",
            )
        graph = chained
    return graph


def with_burst(graph: ProgramGraph, burst: float) -> ProgramGraph:
    """The graph for links that pass ``burst`` bytes without delay after a pause.

    A message of s bytes then takes (s - burst) G in place of s G (Cruz, IEEE Trans. Inf. Theory
    37(1), 1991: a link with rate 1/G and burstiness). Messages of one adapter still take turns at
    its rate, as if each found the bucket empty.
    """
    far = graph.across.link == BETWEEN
    size = np.where(far, np.maximum(graph.across.bytes - round(burst), 0), graph.across.bytes)
    return replace(graph, across=replace(graph.across, bytes=size))


def _orders(
    graph: ProgramGraph, network: ProgramNetwork, times: Floats, *, by_rank: bool = True
) -> tuple[Ints, Ints]:
    """Messages ordered by the times at which they are ready to leave and at which they arrive.

    ``by_rank``: whether messages with equal times are ordered by rank and order of sending.
    Otherwise messages that others may depend on come first.
    """
    far = graph.far
    ready = times[graph.across.source[far.injection]]
    ready = ready + costs(graph.across, network)[far.injection]
    comes = times[far.injection]
    if by_rank:
        return _sorted(np.rint(ready / _SAME), far.order), _sorted(
            np.rint(comes / _SAME), far.order
        )
    return _sorted(ready, far.injection), _sorted(comes, far.injection)


def _sorted(times: Floats, then: Ints) -> Ints:
    return np.lexsort((then, times)).astype(np.int64)


def _chained(graph: ProgramGraph, out: Ints, into: Ints, times: Floats) -> ProgramGraph | None:
    """The graph with other chains; None if the chains form a circle. ``times``: previous times of
    its nodes."""
    along, far = graph.along, graph.far
    source, size, link = along.source.copy(), along.bytes.copy(), along.link.copy()
    for nodes in (far.injection, far.arrival):  # these depend only on chains along an adapter
        source[nodes], size[nodes] = -1, 0
    for nodes, adapter, order in (
        (far.injection, far.source, out),
        (far.arrival, far.target, into),
    ):
        order = order[np.argsort(adapter[order], kind="stable")]
        follows = adapter[order][1:] == adapter[order][:-1]
        behind, before = order[1:][follows], order[:-1][follows]
        source[nodes[behind]] = nodes[before]
        size[nodes[behind]] = far.size[before]
        link[nodes[behind]] = BETWEEN
    edges = Edges(
        source=source,
        seconds=along.seconds,
        latencies=along.latencies,
        bytes=size,
        overheads=along.overheads,
        link=link,
    )
    sequence = _in_time(times, source, graph.across.source)
    if sequence is None:
        sequence = topological_order(source, graph.across.source)
    if sequence is None:
        return None
    place = np.empty(len(graph), dtype=np.int64)
    place[sequence] = np.arange(len(graph))
    return replace(
        graph,
        along=reordered(edges, sequence, place),
        across=reordered(graph.across, sequence, place),
        event=graph.event[sequence],
        begins=graph.begins[sequence],
        ends=place[graph.ends],
        far=replace(far, injection=place[far.injection], arrival=place[far.arrival]),
        sent_at=place[graph.sent_at],
        received_at=place[graph.received_at],
    )


def _in_time(times: Floats, one: Ints, other: Ints) -> Ints | None:
    """Nodes by time, if each node then comes after the nodes that it depends on; otherwise None.

    They do unless an adapter's order has changed, and sorting takes a fraction of the search for an
    order.
    """
    nodes = np.arange(len(times))
    sequence = np.lexsort((nodes, times)).astype(np.int64)
    place = np.empty(len(times), dtype=np.int64)
    place[sequence] = nodes
    for source in (one, other):
        real = source >= 0
        if (place[source[real]] >= place[real]).any():
            return None
    return sequence

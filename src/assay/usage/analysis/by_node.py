"""Use, down time and sharing of single nodes, where the log names them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from assay.arrays import Bools, Floats, Ints
from assay.hostnames import natural
from assay.usage.analysis.model import NodeBar, NodeDown, NodeRow, UsageByNode
from assay.usage.analysis.prepared import JobChunk, PreparedJobs
from assay.usage.jobs import Outage, State
from assay.usage.node_use import GridUse, NodePairs, pieces, sharing
from assay.usage.nodes import named_nodes

# Rows and intervals of the map, and the most nodes and bars for which single jobs are drawn.
MOST_ROWS, INTERVALS = 64, 120
MOST_NODES, MOST_BARS = 40, 400
# Number of nodes whose down time is listed.
_MOST_DOWN = 20


@dataclass(frozen=True)
class NamedNodes:
    """Nodes in the order of their names."""

    names: list[str]
    #: Ascending numbers of the nodes that jobs name.
    codes: Ints
    #: Position of each of these nodes in the order.
    places: Ints
    shown: bool
    index: dict[str, int] = field(default_factory=dict)

    def label(self, place: int) -> str:
        """The name, or a number if names are not shown."""
        return self.names[place] if self.shown else f"node {place + 1}"


def nodes_of(data: PreparedJobs) -> NamedNodes | None:
    """All nodes that jobs or node events name; None if no job names any."""
    lists = data.jobs.nodes
    if lists is None:
        return None
    codes = named_nodes(lists)
    of_jobs = [lists.name(int(code)) for code in codes]
    others = {outage.node for outage in data.machine.outages} - set(of_jobs)
    names = sorted({*of_jobs, *others}, key=natural)
    index = {name: place for place, name in enumerate(names)}
    places = np.array([index[name] for name in of_jobs], dtype=np.int64)
    return NamedNodes(names, codes, places, data.query.identify, index)


def pairs_of(data: PreparedJobs, nodes: NamedNodes) -> Iterator[tuple[JobChunk, Ints, NodePairs]]:
    """Pairs of counted jobs and their nodes, in pieces, with the jobs' rows in their chunk."""
    lists = data.jobs.nodes
    assert lists is not None
    for chunk in data.chunks():
        named = np.flatnonzero(chunk.counted & (chunk.jobs.code("hosts") > 0))
        at, count = (chunk.jobs.code(name)[named] for name in ("hosts_at", "hosts"))
        counts = lists.counts(at, count)
        for piece in pieces(counts):
            job, code = lists.expanded(at[piece], count[piece])
            lists.table.release()
            row = named[piece][job]
            yield (
                chunk,
                row,
                NodePairs(
                    job=row + chunk.rows.start,
                    node=nodes.places[np.searchsorted(nodes.codes, code)],
                    start=chunk.start[row],
                    end=chunk.end[row],
                    processors=(chunk.processors * chunk.active)[row] / counts[piece][job],
                ),
            )


def shared_jobs(data: PreparedJobs, nodes: NamedNodes) -> Bools:
    """For each job, whether another job had one of its nodes at the same time."""
    number = sum(int(pairs.job.size) for _, _, pairs in pairs_of(data, nodes))
    return sharing(
        lambda: (pairs for _, _, pairs in pairs_of(data, nodes)),
        len(data.jobs),
        len(nodes.names),
        number,
    )


def by_node(data: PreparedJobs, nodes: NamedNodes) -> UsageByNode | None:
    """The use of nodes over the period; None if it has no length."""
    begin, end = data.begin_log, data.finish_log
    if not begin < end:
        return None
    edges = np.linspace(begin, end, INTERVALS + 1)
    per_row = -(-len(nodes.names) // MOST_ROWS)
    rows = -(-len(nodes.names) // per_row)
    grid, down = GridUse(rows, edges), GridUse(rows, edges)
    for chunk, row, pairs in pairs_of(data, nodes):
        mine = chunk.chosen[row]
        grid.add(
            pairs.node[mine] // per_row, pairs.start[mine], pairs.end[mine], pairs.processors[mine]
        )
    outages = _outages(data, nodes)
    if outages:
        place, start, until = (np.array(values) for values in zip(*outages, strict=True))
        down.add(place.astype(np.int64) // per_row, start, until, np.ones(start.size))
    counts = np.full(rows, per_row)
    counts[-1] = len(nodes.names) - per_row * (rows - 1)
    width = np.diff(edges) * counts[:, None]
    busy = np.minimum(grid.sums() / (width * max(data.per_node, 1)), 1.0)
    off = np.minimum(down.sums() / width, 1.0)
    bars, since = _bars(data, nodes)
    return UsageByNode(
        nodes=len(nodes.names),
        edges=[float(edge) for edge in edges],
        rows=[
            NodeRow(
                name=_row_name(nodes, row * per_row, int(counts[row])),
                nodes=int(counts[row]),
                busy=[round(float(share), 4) for share in busy[row]],
                down=[round(float(share), 4) for share in off[row]],
            )
            for row in range(rows)
        ],
        bars=bars,
        bars_since=since,
        down=_down(outages, nodes, begin, end),
    )


def _row_name(nodes: NamedNodes, first: int, count: int) -> str:
    if count == 1:
        return nodes.label(first)
    last = nodes.label(first + count - 1)
    return f"{nodes.label(first)} to {last if nodes.shown else last.removeprefix('node ')}"


def _outages(data: PreparedJobs, nodes: NamedNodes) -> list[tuple[int, float, float]]:
    """Times within the period at which a node was down, without overlaps."""
    by_place: dict[int, list[Outage]] = {}
    for each in data.machine.outages:
        by_place.setdefault(nodes.index[each.node], []).append(each)
    found = []
    for place, events in by_place.items():
        until = data.begin_log
        for each in sorted(events, key=lambda event: event.start):
            end = min(each.end if math.isfinite(each.end) else math.inf, data.finish_log)
            start = max(each.start, until)
            if start < end:
                found.append((place, start, end))
                until = end
    return found


def _down(
    outages: list[tuple[int, float, float]], nodes: NamedNodes, begin: float, end: float
) -> list[NodeDown]:
    times: dict[int, list[float]] = {}
    for place, start, until in outages:
        times.setdefault(place, []).append(until - start)
    found = [
        NodeDown(nodes.label(place), len(lengths), sum(lengths), sum(lengths) / (end - begin))
        for place, lengths in sorted(times.items())
    ]
    return sorted(found, key=lambda node: -node.time)[:_MOST_DOWN]


def _bars(data: PreparedJobs, nodes: NamedNodes) -> tuple[list[NodeBar], float | None]:
    """The last jobs on a machine of few nodes, as bars of consecutive nodes, and the time since
    when none is absent. On a machine of many nodes there are no bars.
    """
    if len(nodes.names) > MOST_NODES:
        return [], None
    found: list[tuple[float, float, int, int, int]] = []
    complete = True
    for chunk, row, pairs in pairs_of(data, nodes):
        mine = chunk.chosen[row] & (pairs.end > data.begin_log) & (pairs.start < data.finish_log)
        found += _runs(pairs, mine & (pairs.end > pairs.start))
        if len(found) > 4 * MOST_BARS:
            found, complete = sorted(found, reverse=True)[:MOST_BARS], False
    complete = complete and len(found) <= MOST_BARS
    found = sorted(found, reverse=True)[:MOST_BARS]
    if not found:
        return [], None
    ids = sorted({job for *_, job in found})
    rank = {job: place for place, job in enumerate(ids, 1)}
    bars = []
    for start, end, first, last, job in sorted(found):
        number = int(data.jobs.columns["number"][job])
        bars.append(
            NodeBar(
                job=f"job {number}" if nodes.shown and number >= 0 else f"job {rank[job]}",
                first=first,
                last=last,
                start=start,
                end=end,
                processors=int(data.jobs.columns["processors"][job]),
                state=State(int(data.jobs.columns["state"][job])).name.lower().replace("_", " "),
            )
        )
    return bars, data.begin_log if complete else max(bars[0].start, data.begin_log)


def _runs(pairs: NodePairs, kept: Bools) -> list[tuple[float, float, int, int, int]]:
    """Start, end, first node, last node and row of each job, by runs of consecutive nodes."""
    chosen = np.flatnonzero(kept)
    chosen = chosen[np.lexsort((pairs.node[chosen], pairs.job[chosen]))]
    job, node = pairs.job[chosen], pairs.node[chosen]
    if not chosen.size:
        return []
    first = np.append(True, (np.diff(job) != 0) | (np.diff(node) > 1))
    begins = np.flatnonzero(first)
    ends = np.append(begins[1:], chosen.size) - 1
    columns: tuple[Floats | Ints, ...] = (
        pairs.start[chosen[begins]], pairs.end[chosen[begins]], node[begins], node[ends],
        job[begins],
    )  # fmt: skip
    return list(zip(*(column.tolist() for column in columns), strict=True))

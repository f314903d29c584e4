"""Loads of links when processes in a grid exchange data within its columns and along its rows.

Ranks fill hosts in order. Loads are counted over all paths of the wiring, except on a single
switch, where they have a closed form.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from assay.topologies.kinds import Single, Topology, hosts_of
from assay.topologies.loads import Loads
from assay.topologies.wiring import wiring_of


@dataclass(frozen=True)
class GridLoads:
    """Loads in units of what one process sends.

    ``columns``: each process sends one unit, in equal parts to all others of its column. ``rows``:
    each sends one unit to the next in its row. ``inside``: part of a column's unit that stays
    within a node.
    """

    columns: Loads
    rows: Loads
    inside: float


@functools.cache
def grid_loads(topology: Topology, p: int, q: int, per_host: int, by_column: bool) -> GridLoads:
    """Loads of a grid of ``p`` rows and ``q`` columns with ``per_host`` ranks on each host.

    ``by_column``: consecutive ranks are in the same column. Raises ValueError if there are too few
    hosts.
    """
    if p * q > hosts_of(topology) * per_host:
        raise ValueError(f"{p} x {q} processes don't fit {hosts_of(topology)} hosts")
    if isinstance(topology, Single):
        return _single(p, q, per_host, by_column)

    def rank(i: int, j: int) -> int:
        return i + p * j if by_column else j + q * i

    def columns() -> Iterator[tuple[int, int, float]]:
        for j in range(q):
            for i in range(p):
                for other in range(p):
                    if other != i:
                        yield rank(i, j), rank(other, j), 1.0 / (p - 1)

    def rows() -> Iterator[tuple[int, int, float]]:
        if q > 1:
            for i in range(p):
                for j in range(q):
                    yield rank(i, j), rank(i, (j + 1) % q), 1.0

    def to_hosts(
        flows: Iterator[tuple[int, int, float]],
    ) -> tuple[dict[tuple[int, int], float], float]:
        between: defaultdict[tuple[int, int], float] = defaultdict(float)
        inside = 0.0
        for sender, receiver, part in flows:
            ends = sender // per_host, receiver // per_host
            if ends[0] == ends[1]:
                inside += part
            else:
                between[ends] += part
        return between, inside

    by_columns, inside = to_hosts(columns())
    return GridLoads(
        _loads(topology, by_columns), _loads(topology, to_hosts(rows())[0]), inside / (p * q)
    )


def _single(p: int, q: int, per_host: int, by_column: bool) -> GridLoads:
    beside = min(per_host, p) if by_column else max(min(per_host // q, p), 1)
    inside = (beside - 1) / (p - 1) if p > 1 else 0.0
    ranks = min(per_host, p * q)
    # By rows, one rank of each row sends to another node, unless whole rows are within nodes.
    by_row = 0 if per_host % q == 0 else max(ranks // q, 1)
    along = ranks if by_column and p > 1 else by_row
    if p * q <= per_host:
        return GridLoads(Loads(0.0, 0.0), Loads(0.0, 0.0), 1.0 if p > 1 else 0.0)
    columns = ranks * (1.0 - inside) if p > 1 else 0.0
    return GridLoads(Loads(columns, 0.0), Loads(float(along) if q > 1 else 0.0, 0.0), inside)


def _loads(topology: Topology, between: dict[tuple[int, int], float]) -> Loads:
    """The busiest links when hosts, by number, exchange these amounts."""
    wiring = wiring_of(topology)
    trunks = {(c.one, c.other) for c in wiring.cables if c.trunk}
    load: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (sender, receiver), amount in between.items():
        for ends in pairwise(wiring.path(wiring.hosts[sender], wiring.hosts[receiver])):
            load[ends] += amount
    trunk = adapter = 0.0
    for (one, other), amount in load.items():
        if (one, other) in trunks or (other, one) in trunks:
            trunk = max(trunk, amount)
        else:
            adapter = max(adapter, amount)
    return Loads(adapter, trunk)

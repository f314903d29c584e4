"""The run time without a delay that other ranks wait for.

If the delay is computing, the execution graph is evaluated with the rank computing in that place
for the mean time of the other ranks (not at all, if no other rank has the place). The saving is
waiting that disappears: no rank saves more than it waits, and the total is at most the waiting that
the delay causes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from assay.arrays import Floats
from assay.models.program.adapters import with_adapters
from assay.models.program.prediction import ModelledRun
from assay.models.program.replay import replay
from assay.models.program.waits import WaitStates
from assay.trace.matching import FlatTrace


def without_delay(run: ModelledRun, rank: int, places: Collection[tuple[int, int]]) -> float:
    """Seconds of the run time that a rank's even computing would save, by the graph.

    ``rank``: position in ``trace.ranks``; ``places``: call sites between which it computes, as in
    `origins.DelayCost`.
    """
    flat, graph = run.matched.flat, run.graph
    nodes = np.flatnonzero(graph.begins)
    event = graph.event[nodes]
    begins = event == flat.first[flat.rank[event]]
    after = np.where(begins, -1, flat.site[np.maximum(event - 1, 0)].astype(np.int64))
    before = flat.site[event].astype(np.int64)
    seconds = graph.along.seconds.copy()
    for one, other in places:
        here = (after == one) & (before == other)
        mine, others = (
            nodes[here & (flat.rank[event] == rank)],
            nodes[here & (flat.rank[event] != rank)],
        )
        usual = float(seconds[others].mean()) if len(others) else 0.0
        if len(mine) and (mean := float(seconds[mine].mean())) > usual:
            seconds[mine] *= usual / mean
    network = run.calibrated.network
    changed = replace(graph, along=replace(graph.along, seconds=seconds))
    found = replay(with_adapters(changed, network), network)
    return max(run.saved(found), 0.0)


def longest_waiting(flat: FlatTrace, waits: WaitStates) -> Floats:
    """For each rank (position), the longest total waiting among the other ranks, s."""
    sums = np.bincount(
        flat.rank[waits.event], weights=waits.seconds, minlength=len(flat.trace.ranks)
    )
    found = np.full(len(sums), sums.max(initial=0.0))
    if len(sums) > 1:
        found[sums.argmax()] = np.partition(sums, -2)[-2]
    return np.asarray(found)

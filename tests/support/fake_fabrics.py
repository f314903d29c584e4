"""Pairs of nodes that the fake executor measures on fabrics with planted groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from assay.kernels import find_kernel
from assay.launch.fake.fabric import FabricModel, seats
from assay.launch.fake.scenario import Behaviour, Scenario
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.models.network.pair_times import PairTimes, pair_times
from assay.records.model import Measurement
from fake_launches import entry, order, run

Ints = npt.NDArray[np.int64]


def measured(
    folder: Path, fabric: FabricModel, nodes: int, launches: int, seed: int = 0, **given: int | str
) -> list[Measurement]:
    """What that many launches of network.pairs on the fabric wrote."""
    resolved = Behaviour(resolved={"between": "nodes"})
    machine = Scenario(nodes=nodes, fabric=fabric, seed=seed, kernel=(resolved,))
    parameters = {p.name: p.default for p in find_kernel("network.pairs").parameters} | given
    placement = Placement(nodes=nodes)
    cell = Cell("network.pairs", parameters, placement, "fake")
    found = []
    for k in range(launches):
        one = entry(f"m-{k}", kernel="network.pairs", parameters=parameters, max_samples=5)
        work = order(folder, one, placement=placement, launch=f"{seed}-{k}")
        work = replace(work, job=msgspec.structs.replace(work.job, seed=k))
        _, stream = run(machine, work)
        assert stream.finished
        (record,) = stream.measurements
        found.append(Measurement(cell, k, f"l{k}", 1e9, record, None, tuple(stream.ranks)))
    return found


def times_of(measurements: Sequence[Measurement], nodes: int) -> PairTimes:
    """The times that the series of pairs hold."""
    return pair_times(
        nodes,
        [
            [(s.rank, s.peer, s.values[0]) for s in m.record.series if s.metric == "pair"]
            for m in measurements
        ],
    )


def planted(fabric: FabricModel, nodes: int, size: int, seed: int = 0) -> Ints:
    """The number of each node's switch (``size``: its nodes) or pod."""
    return np.array(seats(fabric, nodes, seed)) // size


def adjusted_rand(truth: Ints, found: Ints) -> float:
    """Agreement of two partitions, 1 if equal, 0 by chance (Hubert & Arabie 1985).

    A node labelled -1 is a group by itself.
    """
    alone = found < 0
    labels = found.copy()
    labels[alone] = found.max() + 1 + np.arange(alone.sum())
    table = np.zeros((truth.max() + 1, labels.max() + 1))
    np.add.at(table, (truth, labels), 1)

    def pairs(counts: npt.NDArray[np.float64]) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, one, other = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    chance = one * other / (truth.size * (truth.size - 1) / 2)
    return (both - chance) / ((one + other) / 2 - chance)

"""How much the nodes of a fleet differ in runs by `assay run --per-node`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.check.baseline.fits import FLOOR
from assay.check.components import COMPONENTS
from assay.records.group import GroupData, read_group
from assay.stats.core.tails import robust_deviation
from assay.stats.repeats.repeats import repeats_of

# Minimum number of nodes that are compared with each other.
_COMPARED = 5


@dataclass(frozen=True)
class RunSpread:
    """How much the nodes of a run differ in a component."""

    #: Standard deviations of logarithms of costs, between nodes and between launches of a node.
    node_scatter: float
    launch_scatter: float
    nodes: int


def read_spreads(paths: Sequence[Path], slow: Collection[str]) -> dict[str, RunSpread]:
    """How much nodes differ by component, from per-node runs (``assay run --per-node``).

    ``slow``: hosts to leave out. Of several runs or cells of a kernel the one with most nodes
    counts. Raises AssayError if a path is not a group of runs.
    """
    spreads: dict[str, RunSpread] = {}
    for path in paths:
        costs, kernels = _costs(read_group(path))
        for component in COMPONENTS:
            for cell, kernel in kernels.items():
                if kernel != component.kernel:
                    continue
                found = run_spread(costs[cell], slow)
                before = spreads.get(component.name)
                if found is not None and (before is None or found.nodes > before.nodes):
                    spreads[component.name] = found
    return spreads


def _costs(group: GroupData) -> tuple[dict[str, dict[str, list[float]]], dict[str, str]]:
    """The costs of each cell's launches by host, and the kernel of each cell."""
    costs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    kernels = {}
    for member in group.members:
        if member.run is None or member.host is None:
            continue
        for repeats in repeats_of(member.run):
            usable = [each for each in repeats.cost.tolist() if 0.0 < each < np.inf]
            costs[repeats.cell.id][member.host] += usable
            kernels[repeats.cell.id] = repeats.cell.kernel
    return {cell: dict(hosts) for cell, hosts in costs.items()}, kernels


def run_spread(by_host: Mapping[str, Sequence[float]], slow: Collection[str]) -> RunSpread | None:
    """The spread of one cell's costs without slow nodes; None for fewer than five nodes."""
    logs = [np.log(found) for host, found in by_host.items() if host not in slow and len(found)]
    if len(logs) < _COMPARED:
        return None
    medians = np.array([np.median(each) for each in logs])
    within = [each - np.median(each) for each in logs if each.size > 1]
    freedom = sum(each.size - 1 for each in within)
    pooled = sum(float((each**2).sum()) for each in within)
    launch = np.sqrt(pooled / freedom) if freedom else 0.0
    count = float(np.median([each.size for each in logs]))
    between = robust_deviation(medians) ** 2 - launch**2 / count
    return RunSpread(
        node_scatter=max(float(np.sqrt(max(between, 0.0))), FLOOR),
        launch_scatter=float(launch),
        nodes=len(logs),
    )

"""A node's covariates, such as clock rate and steal time, compared between nodes."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from assay.arrays import Floats, Ints
from assay.kernels import known_kernel
from assay.records.model import Manifest, RunData
from assay.stats.fleet.peers import against_peers
from assay.subjects.nodes.diagnosis_rules import CovariateDeviation, SlowCore

# Rates in Hz; nodes are compared by their logarithm. A scatter between nodes below the floor is
# set to the floor.
_CLOCKS = ("clock_rate", "frequency")
_CLOCK_FLOOR = 0.005
# Counters over the sampling time, compared as rates per second. Each has a floor of the scatter
# between nodes, per second.
_COUNTED = {
    "steal_seconds": 0.01,
    "other_cpu_seconds": 0.02,
    "throttle_events": 0.05,
    "major_faults": 1.0,
    "tcp_retransmits": 1.0,
}
# A covariate deviates from those of the other nodes at this p or less.
_CLEAR = 1e-3
# Minimum number of measurements of a core that can be reported as slow.
_MIN_CORE_MEASUREMENTS = 3


def covariates_of(run: RunData) -> dict[str, float]:
    """A run's covariates: clock rates as medians in Hz, counters per second of sampling."""
    clocks: dict[str, list[float]] = defaultdict(list)
    sums: dict[str, float] = defaultdict(float)
    spans: dict[str, float] = defaultdict(float)
    for measurement in run.measurements:
        given = measurement.record.covariates
        span = given.get("sampling_seconds") or 0.0
        for name in _CLOCKS:
            if (value := given.get(name)) is not None:
                clocks[name].append(value)
        for name in _COUNTED:
            if (value := given.get(name)) is not None and span > 0.0:
                sums[name] += value
                spans[name] += span
    medians = {name: statistics.median(values) for name, values in clocks.items()}
    return medians | {name: sums[name] / spans[name] for name in sums}


def slow_core(run: RunData) -> SlowCore | None:
    """The CPU whose ranks are slowest relative to the node's other ranks; None without such data.

    Only kernels in which all ranks do the same work are used. A rank's value in a launch is its
    median divided by the median of the other ranks' medians.
    """
    ratios: dict[int, list[float]] = defaultdict(list)
    for measurement in run.measurements:
        kernel = known_kernel(measurement.record.kernel)
        if kernel is None or not kernel.even:
            continue
        seats = {rank.rank: rank.cpus[0] for rank in measurement.ranks if rank.cpus}
        medians = {
            rank: median
            for rank, median in enumerate(measurement.record.rank_medians)
            if median and rank in seats
        }
        if len(medians) < 2:
            continue
        for rank, median in medians.items():
            others = [value for other, value in medians.items() if other != rank]
            ratios[seats[rank]].append(median / statistics.median(others))
    behind = [
        SlowCore(cpu, statistics.median(found))
        for cpu, found in ratios.items()
        if len(found) >= _MIN_CORE_MEASUREMENTS
    ]
    return max(behind, key=lambda core: (core.times, -core.cpu), default=None)


def kind_of(manifest: Manifest) -> str:
    """Processor and number of cores, which define a kind of node; empty if unknown."""
    processor = manifest.system.get("processor")
    if not isinstance(processor, Mapping) or not processor.get("name"):
        return ""
    cores = processor.get("cores")
    return f"{processor['name']}, {cores} cores" if cores else str(processor["name"])


def covariate_deviations(
    covariates: Sequence[Mapping[str, float]], cores: Sequence[SlowCore | None], kinds: Ints
) -> tuple[list[dict[str, CovariateDeviation]], list[SlowCore | None]]:
    """Each node's covariates that deviate from other nodes of its kind, and its slow core."""
    names = (*_CLOCKS, *_COUNTED)
    values = np.array([[node.get(name, np.nan) for name in names] for node in covariates])
    lag = np.array([core.times if core else np.nan for core in cores])[:, None]
    found: list[dict[str, CovariateDeviation]] = [{} for _ in covariates]
    kept: list[SlowCore | None] = [None] * len(covariates)
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        for column, name in enumerate(names):
            given = values[rows, column]
            typical, unlike = _unlike(given, name)
            for row, value, deviates in zip(rows, given, unlike, strict=True):
                if deviates:
                    found[row][name] = CovariateDeviation(float(value), typical)
        with np.errstate(invalid="ignore"):
            alone = against_peers(lag[rows], floor=_CLOCK_FLOOR).p[:, 0] <= _CLEAR
        for row in rows[alone]:
            kept[row] = cores[row]
    return found, kept


def _unlike(values: Floats, name: str) -> tuple[float, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """The median value, and the values that deviate from the others in either direction."""
    there = values[np.isfinite(values)]
    if there.size == 0:
        return 0.0, np.zeros(values.size, dtype=bool)
    clock = name in _CLOCKS
    with np.errstate(invalid="ignore", divide="ignore"):
        compared = np.log(values) if clock else values
        floor = _CLOCK_FLOOR if clock else _COUNTED[name]
        p = against_peers(compared[:, None], floor=floor).p[:, 0]
        return float(np.median(there)), np.minimum(p, 1.0 - p) <= _CLEAR

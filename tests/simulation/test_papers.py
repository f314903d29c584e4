"""Linpack of the papers' clusters, which the calibration leaves out: times, N½, and the design."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.design.workload import MachineFigures
from assay.design.workload import times as design_times
from assay.models.linpack.combined import DescribedNode, listed_curve
from assay.reference.papers.loading import figures_of
from assay.simulation.example import EXAMPLE
from assay.simulation.simgrid import find_simgrid
from assay.subjects.simulation.findings import SimulationSettings, find_simulation, linpack_input
from assay.subjects.simulation.model import SimulationFindings
from simulated_clusters import cluster, needs_simgrid, simgrid_path

# A rank's DGEMM: half of 5.208 Gflop/s of a node (Edmundsson et al. 2004, 5.3).
SETH_DGEMM, SETH_RANKS = 2.604e9, 240
# Half of the 95% interval that a design states, in standard deviations.
STATED = 1.96
SETH_ORDER, SETH_HALF = 116_100, 24_570
# As the example, without variability, and with figures that are known exactly: one simulation each.
EXACT = 'kind = "measured", interval = ["{0}", "{0}"] }}'
STEADY = EXAMPLE.replace('"1%"', '"0%"')
for _figure in ("3.7 us", "230 MB/s"):
    STEADY = STEADY.replace(f'"{_figure}"', f'{{ value = "{_figure}", {EXACT.format(_figure)}')
# The machine as built, with the rate of table 1 and the latency of 3.2; an Athlon's share of DGEMM
# in the peak as Seth's.
HELIX = """schema = 1
[topology]
kind = "rows-columns"
rows = 22
columns = 3
[network]
latency = { value = "35 us", kind = "measured", interval = ["35 us", "35 us"] }
bandwidth = { value = "850 Mbit/s", kind = "measured", interval = ["850 Mbit/s", "850 Mbit/s"] }
[memory]
latency = "1 us"
bandwidth = "600 MB/s"
[node]
cores = 2
"""
HELIX_DGEMM = 0.781 * 2 * 1.733e9


def flops(n: int) -> float:
    return 2.0 * n**3 / 3.0 + 1.5 * n**2


def solved(text: str, order: int, ranks: int, dgemm: float) -> SimulationFindings:
    simgrid = find_simgrid(simgrid_path())
    where = cluster(text)
    source = linpack_input(order, ranks, dgemm, where)
    settings = SimulationSettings(2, draws=1, limit=600.0)
    return find_simulation(source, where, Path("cluster.toml"), simgrid, settings)


def rate(found: SimulationFindings, order: int) -> float:
    assert found.simulated is not None
    return flops(order) / found.simulated


@needs_simgrid
@pytest.mark.long
def test_seths_published_times_and_half_order() -> None:
    """Seth: 480.7 Gflop/s at 116,100, half of that at 24,570."""
    figures = figures_of("edmundsson-2004")
    published = figures["seth.linpack.rate"].si
    assert published == 480.7e9
    largest = solved(STEADY, SETH_ORDER, SETH_RANKS, SETH_DGEMM)
    half = solved(STEADY, SETH_HALF, SETH_RANKS, SETH_DGEMM)
    for found, order, reached in (
        (largest, SETH_ORDER, published), (half, SETH_HALF, published / 2),
    ):  # fmt: skip
        assert found.interval is not None
        assert found.interval[0] < flops(order) / reached < found.interval[1]
        # No interval goes beyond DGEMM on all ranks.
        assert found.interval[0] >= 2.0 * order**3 / 3.0 / SETH_RANKS / SETH_DGEMM
    # N½ is between the orders 25% below and above the published one.
    goal = rate(largest, SETH_ORDER) / 2.0
    below, above = round(0.75 * SETH_HALF), round(1.25 * SETH_HALF)
    assert rate(solved(STEADY, below, SETH_RANKS, SETH_DGEMM), below) < goal
    assert rate(solved(STEADY, above, SETH_RANKS, SETH_DGEMM), above) > goal


@needs_simgrid
@pytest.mark.long
def test_helix_published_time() -> None:
    """Helix: 234.8 Gflop/s at 82,080 on 132 processors."""
    published = figures_of("barczak-2003")["helix.linpack.rate"].si
    found = solved(HELIX, 82_080, 132, HELIX_DGEMM)
    assert found.interval is not None
    assert found.interval[0] < flops(82_080) / published < found.interval[1]


@needs_simgrid
@pytest.mark.long
def test_design_and_simulation_agree_within_their_intervals() -> None:
    """Seth at the order that the design chooses for its memory."""
    one = np.ones(1)
    nodes, memory, peak = 120, 1.0737e9, 6.668e9
    described = DescribedNode(
        sockets=2, cores=2, peak=peak, memory=memory, year=2002, network="SCI torus",
        rate=230e6, latency=3.7e-6,
    )  # fmt: skip
    figures = MachineFigures(
        nodes=nodes * one, dgemm=2 * SETH_DGEMM * one, bandwidth=964e6 * one, memory=memory * one,
        rate=math.nan * one, link=230e6 * one, latency=3.7e-6 * one, bisection=230e6 * 40 * one,
        processes=2 * one, cores=2 * one, listed=listed_curve(described, nodes), peak=peak,
    )  # fmt: skip

    def designed(error: float) -> float:
        return float(design_times("linpack", replace(figures, error=error * one)).rate[0])

    least, most = designed(-STATED), designed(STATED)
    # 80% of the memory.
    order = int(math.sqrt(0.8 * nodes * memory / 8.0))
    simulated = solved(STEADY, order, SETH_RANKS, SETH_DGEMM)
    assert simulated.interval is not None
    low, high = (flops(order) / end for end in reversed(simulated.interval))
    assert least < high and low < most
    assert least < rate(simulated, order) < most
    # Published: 480.7 Gflop/s, in both intervals.
    assert max(least, low) < 480.7e9 < min(most, high)

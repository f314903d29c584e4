"""What a run says of its network and of DGEMM, as the description of a cluster."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.models.calls.linpack_work import DgemmCurve
from assay.report.simulation.measured import cluster_text
from assay.simulation.calibration import calibration
from assay.simulation.cluster import cluster_of
from assay.stats.core.model import CellSummary
from assay.toml import parse_toml
from equal_answers import summary
from report_builder import make_run

CURVE = DgemmCurve(50e9, 12.0)
LAUNCHES = np.linspace(0.999, 1.001, 12)


def network() -> list[CellSummary]:
    """A ping-pong of 2 us and 1 GB/s."""
    cells = []
    for size in (0, 8, 64, 512, 4096, 1 << 15, 1 << 18, 1 << 20, 1 << 22):
        given = {"bytes": size, "from": 0, "to": 1, "mode": "blocking"}
        cell = Cell("network.pingpong", given, Placement(2, 1), "embedded")
        latency = LAUNCHES * (2e-6 + size / 1e9)
        rates = {"bandwidth": size / latency} if size else {}
        cells.append(summary(cell, {"latency": latency}, rates))
    return cells


def dgemm(orders: tuple[int, ...], ppn: int = 2, slower: float = 1.0) -> list[CellSummary]:
    return [
        summary(
            Cell("compute.dgemm", {"n": n}, Placement(1, ppn), "embedded"),
            {"time": slower * LAUNCHES * 2.0 * n**3 / CURVE.at(n)},
            {},
        )
        for n in orders
    ]


def described(cells: list[CellSummary]) -> str:
    return cluster_text(make_run(cells), cells)


def test_dgemm_of_several_orders_is_the_curve_of_linpack() -> None:
    text = described([*network(), *dgemm((100, 500, 2000))])
    found = cluster_of(parse_toml(text, Path("measured.toml")))
    assert found.linpack.half == pytest.approx(12.0, rel=0.01)
    assert "[linpack]  # by DGEMM of 3 orders; rate of large matrices for --rate: 50.0 Gflop/s" in (
        text
    )


def test_the_placement_with_the_most_ranks_on_a_node_counts() -> None:
    alone = dgemm((100, 500, 2000), ppn=1, slower=0.5)
    text = described([*network(), *alone, *dgemm((100, 500, 2000))])
    assert "--rate: 50.0 Gflop/s" in text


def test_one_order_is_no_curve() -> None:
    text = described([*network(), *dgemm((500,))])
    assert "[linpack]" not in text
    found = cluster_of(parse_toml(text, Path("measured.toml")))
    assert found.linpack == calibration().linpack

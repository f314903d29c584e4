"""Nodes are named at a level calibrated by the fleet's own launches."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.fleet.calibration import clean_level, more_launches
from assay.stats.fleet.fleet import LEVEL, compare

RESOURCES = ("memory", "compute")


def fleet(seed: int, nodes: int, launches: int, late: float) -> np.ndarray:
    """Costs [node, cell, launch]: CoV 1%; a share of launches is late by 5% on average."""
    drawn = np.random.default_rng(seed)
    shape = (nodes, 2, launches)
    scatter = 0.01 * drawn.standard_normal(shape)
    return np.exp(scatter + (drawn.random(shape) < late) * drawn.exponential(0.05, shape))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(each, marks=pytest.mark.long) for each in (2, 3))]
)
def test_late_launches_name_no_node(seed: int) -> None:
    """100 nodes of 3 launches, 5% of them late: under a normal model some node would be slow."""
    costs = fleet(seed, 100, 3, 0.05)
    found = compare(costs, RESOURCES)
    assert found.outliers().size > 0
    level = clean_level(costs, RESOURCES, found)
    assert level < LEVEL
    assert found.outliers(level).size == 0
    assert level == clean_level(costs, RESOURCES, found)  # the same inputs, the same analysis


def test_a_slow_node_among_normal_launches_is_named() -> None:
    costs = fleet(3, 40, 3, 0.0)
    costs[7] *= 1.06
    found = compare(costs, RESOURCES)
    assert found.outliers(clean_level(costs, RESOURCES, found)).tolist() == [7]


def test_one_or_two_launches_name_no_node_and_three_are_requested() -> None:
    for launches in (1, 2):
        costs = fleet(4, 20, launches, 0.0)
        costs[7] *= 1.5
        found = compare(costs, RESOURCES)
        assert 7 in found.outliers()
        assert clean_level(costs, RESOURCES, found) == 0.0
        assert more_launches(costs, RESOURCES, found) == 3 - launches


def test_more_launches_are_requested_if_some_are_late() -> None:
    costs = fleet(0, 12, 3, 0.05)
    asked = more_launches(costs, RESOURCES, compare(costs, RESOURCES))
    assert 1 <= asked <= 12
    assert more_launches(costs[:, :, :2], RESOURCES, compare(costs[:, :, :2], RESOURCES)) == 1

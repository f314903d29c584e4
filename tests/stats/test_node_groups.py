"""Groups of nodes with planted effects: found as a whole, not found, removed from their nodes."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.fleet.calibration import MIN_LAUNCHES
from assay.stats.fleet.fleet import compare
from assay.stats.fleet.node_groups import (
    GROUP_LEVEL,
    columns_cells,
    compare_groups,
    compare_within_groups,
    group_interval,
)

RESOURCES = ("memory", "memory", "compute", "network")
MEMORY = slice(0, 2)


def fleet(seed: int, nodes: int, launches: int = 3, late: float = 0.0) -> np.ndarray:
    """Costs [node, cell, launch]: nodes differ by 0.5%, launches by 1%; a share of launches is 20%
    late.
    """
    drawn = np.random.default_rng(seed)
    logs = 0.005 * drawn.standard_normal((nodes, 4, 1))
    shape = (nodes, 4, launches)
    late_by = np.log(1.2) * (drawn.random(shape) < late)
    return np.exp(logs + 0.01 * drawn.standard_normal(shape) + late_by)


def racks(nodes: int, size: int) -> np.ndarray:
    return np.arange(nodes) // size


@pytest.mark.parametrize(("nodes", "size", "seed"), [(50, 10, 0), (50, 10, 1), (200, 20, 3)])
def test_a_slow_rack_is_named_and_none_of_its_nodes(nodes: int, size: int, seed: int) -> None:
    """1% slow in memory; a node elsewhere is 3% slow in everything."""
    costs = fleet(seed, nodes)
    rack = racks(nodes, size)
    costs[rack == 2, MEMORY] *= 1.01
    costs[size * 4 + 3] *= 1.03
    found, groups = compare_within_groups(costs, RESOURCES, [rack])
    assert groups is not None
    assert groups.slow == (2,)
    assert groups.launches[2] == groups.slow_launches[2] == 3
    memory = found.columns.index("memory")
    low, high = group_interval(groups, 2, memory)
    assert 0.0 < low < np.log(1.01) < high < 0.02
    assert groups.p[2, memory] <= GROUP_LEVEL
    assert found.outliers().tolist() == [size * 4 + 3]
    np.testing.assert_array_equal(np.flatnonzero(groups.effects.any(axis=1)), groups.members[2])


def test_a_slow_node_within_a_slow_rack_is_found() -> None:
    costs = fleet(3, 50)
    rack = racks(50, 10)
    costs[rack == 1] *= 1.04
    costs[14] *= 1.05
    found, groups = compare_within_groups(costs, RESOURCES, [rack])
    assert groups is not None
    assert groups.slow == (1,)
    assert found.outliers().tolist() == [14]
    assert found.shift[14, :4] == pytest.approx(np.log(1.05), abs=0.025)


def test_without_groups_a_slow_rack_spreads_over_nodes() -> None:
    """What the removal of a group's effect is for."""
    costs = fleet(4, 60)
    rack = racks(60, 12)
    costs[rack == 0] *= 1.03
    costs[30] *= 1.025
    assert {0, 1, 2} & set(compare(costs, RESOURCES).outliers().tolist())
    found, groups = compare_within_groups(costs, RESOURCES, [rack])
    assert groups is not None
    assert groups.slow == (0,)
    assert found.outliers().tolist() == [30]


def test_single_slow_nodes_do_not_make_their_rack_slow() -> None:
    costs = fleet(5, 40)
    costs[[3, 17]] *= 1.5
    found, groups = compare_within_groups(costs, RESOURCES, [racks(40, 8)])
    assert groups is not None
    assert groups.slow == ()
    assert sorted(found.outliers().tolist()) == [3, 17]


def test_half_of_a_chassis_is_not_the_chassis() -> None:
    costs = fleet(6, 60)
    costs[[6, 7, 8]] *= 1.08
    found, groups = compare_within_groups(costs, RESOURCES, [racks(60, 6)])
    assert groups is not None
    assert groups.slow == ()
    assert sorted(found.outliers().tolist()) == [6, 7, 8]


def test_the_level_that_is_slow_is_named_not_the_levels_around_it() -> None:
    """Two partitions, one within the other: a slow chassis, and a slow rack of four."""
    costs = fleet(7, 96)
    rack, chassis = racks(96, 24), racks(96, 6)
    costs[chassis == 1] *= 1.04
    costs[rack == 3] *= 1.03
    _, groups = compare_within_groups(costs, RESOURCES, [rack, chassis])
    assert groups is not None
    assert sorted(groups.slow) == [3, 4 + 1]
    assert groups.partition.tolist() == [0] * 4 + [1] * 16


def test_two_slow_racks_do_not_hide_each_other() -> None:
    costs = fleet(18, 60)
    rack = racks(60, 10)
    costs[rack == 1] *= 1.02
    costs[rack == 4] *= 1.10
    found, groups = compare_within_groups(costs, RESOURCES, [rack])
    assert groups is not None
    assert sorted(groups.slow) == [1, 4]
    assert found.outliers().size == 0
    assert not found.split


@pytest.mark.long
def test_racks_that_differ_by_nature_are_not_slow() -> None:
    """40 racks that differ by 0.5% each, with their nodes by 0.5%: no rack is unusual."""
    named = 0
    for seed in range(10):
        drawn = np.random.default_rng((9, seed))
        costs = fleet(100 + seed, 320)
        of_rack = 0.005 * drawn.standard_normal((40, 4, 1))
        _, groups = compare_within_groups(
            costs * np.exp(of_rack[racks(320, 8)]), RESOURCES, [racks(320, 8)]
        )
        assert groups is not None
        named += bool(groups.slow)
    assert named <= 3


def test_a_disturbance_of_one_launch_is_no_slow_rack() -> None:
    """All nodes of a rack are late in one of three launches."""
    named = 0
    for seed in range(5):
        costs = fleet(200 + seed, 60)
        costs[20:30, :, 1] *= 1.3
        _, groups = compare_within_groups(costs, RESOURCES, [racks(60, 10)])
        assert groups is not None
        named += bool(groups.slow)
    assert named <= 1


@pytest.mark.long
def test_late_launches_name_no_rack() -> None:
    """2% of launches 20% late: by chance one group in fifty fleets is named."""
    named = 0
    for seed in range(30):
        costs = fleet(300 + seed, 50, late=0.02)
        _, groups = compare_within_groups(costs, RESOURCES, [racks(50, 10)])
        named += groups is not None and bool(groups.slow)
    assert named <= 4  # more in 1 of 2,000 at a rate of 2%


def test_kinds_by_value_across_racks_hide_no_slow_rack() -> None:
    """Two kinds of memory, 30% apart, mixed within racks."""
    costs = fleet(10, 96)
    rack = racks(96, 12)
    costs[np.arange(96) % 5 < 2, MEMORY] *= 1.3
    costs[rack == 5, MEMORY] *= 1.02
    found, groups = compare_within_groups(costs, RESOURCES, [rack])
    assert groups is not None
    assert groups.slow == (5,)
    assert len(set(found.kinds.tolist())) == 2
    assert set(found.split) <= {0, 1}
    assert found.split
    assert found.outliers().size == 0


@pytest.mark.parametrize(("factor", "kinds"), [(1.3, 2), (1.02, 1)])
def test_of_two_halves_it_is_unknown_which_one_is_slow(factor: float, kinds: int) -> None:
    costs = fleet(11, 80)
    rack = racks(80, 20)
    costs[rack >= 2] *= factor
    found, groups = compare_within_groups(costs, RESOURCES, [rack])
    assert groups is not None
    assert groups.slow == ()
    assert len(set(found.kinds.tolist())) == kinds


def test_too_few_launches_or_groups_are_not_compared() -> None:
    costs = fleet(12, 40)
    costs[:10] *= 1.1
    for launches in range(1, MIN_LAUNCHES):
        assert compare_within_groups(costs[:, :, :launches], RESOURCES, [racks(40, 10)])[1] is None
    assert compare_within_groups(costs, RESOURCES, [racks(40, 20)])[1] is None  # two groups
    assert compare_within_groups(costs, RESOURCES, [racks(40, 3)])[1] is None  # of three nodes
    assert compare_within_groups(costs, RESOURCES, [])[1] is None


def test_gaps_and_nodes_without_a_group() -> None:
    costs = fleet(13, 50)
    rack = racks(50, 10)
    rack[45:] = -1
    costs[rack == 1] *= 1.03
    costs[12] = np.nan
    costs[13, 0] = np.nan
    costs[47] *= 1.06
    plain = compare(costs, RESOURCES, split_kinds=False)
    groups = compare_groups(
        costs, RESOURCES, plain, [[np.flatnonzero(rack == r) for r in range(5)]]
    )
    assert groups.slow == (1,)
    assert np.isfinite(groups.effects).all()
    found, _ = compare_within_groups(costs, RESOURCES, [rack])
    assert found.outliers().tolist() == [47]


@pytest.mark.long
def test_intervals_of_groups_hold_the_planted_effect() -> None:
    from scipy.stats import binom

    held = of = 0
    for seed in range(60):
        costs = fleet(400 + seed, 60)
        costs[20:30, 2] *= 1.03
        _, groups = compare_within_groups(costs, RESOURCES, [racks(60, 10)])
        assert groups is not None
        low, high = group_interval(groups, 2, 2)
        held, of = held + (low <= np.log(1.03) <= high), of + 1
    assert held >= binom.ppf(0.001, of, 0.95)


def test_the_cells_of_a_column() -> None:
    found = compare(fleet(14, 10), RESOURCES)
    cells = {name: columns_cells(found, RESOURCES, i) for i, name in enumerate(found.columns)}
    assert cells["cell 2"] == [2]
    assert cells["memory"] == [0, 1]
    assert cells["all kernels"] == [0, 1, 2, 3]

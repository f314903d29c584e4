"""Measurements of nodes at different times, as arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.model.cell import Cell
from assay.records.group import read_group
from assay.stats.fleet.earlier_runs import EarlierRun, earlier_runs_before, with_now
from assay.stats.fleet.fleet import logarithms
from fleet_builder import DGEMM, STRIDED, make_group


def test_costs_stand_by_host_cell_and_occasion_with_the_present_last() -> None:
    before = [
        EarlierRun("one", 10.0, {"x": {"n1": 1.0, "n2": 2.0}, "y": {"n2": 3.0}}),
        EarlierRun("two", 20.0, {"x": {"n3": 4.0, "gone": 9.0}, "other": {"n1": 9.0}}),
    ]
    now = EarlierRun("now", 30.0, {"y": {"n1": 5.0, "n3": 6.0}})
    costs, utc = with_now(iter(before), now, ["n1", "n2", "n3"], ["x", "y"])
    assert utc.tolist() == [10.0, 20.0, 30.0]
    expected = np.full((3, 2, 3), np.nan)
    for host in range(3):
        for cell in range(2):
            for when, occasion in enumerate([*before, now]):
                of_cell = occasion.costs.get(["x", "y"][cell], {})
                expected[host, cell, when] = of_cell.get(f"n{host + 1}", np.nan)
    np.testing.assert_array_equal(costs, expected)
    assert np.count_nonzero(np.isfinite(costs)) == 6


def test_groups_before_one_come_with_their_medians_in_order_of_time(tmp_path: Path) -> None:
    hosts = ["n1", "n2", "n3"]

    def cost(day: int) -> object:
        def of(host: str, cell: Cell, launch: int) -> float:
            return (1.0 + day) * (1 + hosts.index(host)) * (1.0, 1.5, 4.0)[launch]

        return of

    groups = [make_group(tmp_path, hosts, cost(day), day=day) for day in range(3)]
    found = earlier_runs_before(read_group(groups[2].path), {DGEMM.id})
    assert [each.name for each in found] == [group.path.name for group in groups[:2]]
    assert found[0].utc < found[1].utc
    for day, occasion in enumerate(found):
        # The median launch, by the operations of a product of matrices of 1,000 rows.
        expected = {host: (1.0 + day) * (1 + place) * 1.5 / 2e9 for place, host in enumerate(hosts)}
        assert occasion.costs.keys() == {DGEMM.id}
        for host, value in expected.items():
            np.testing.assert_allclose(occasion.costs[DGEMM.id][host], value, rtol=1e-9)
    assert earlier_runs_before(read_group(groups[0].path), {DGEMM.id, STRIDED.id}) == []


def test_logarithms_are_of_positive_finite_costs_alone() -> None:
    costs = np.array([[1.0, np.e, 0.0], [-2.0, np.inf, np.nan]])
    expected = [[0.0, 1.0, np.nan], [np.nan, np.nan, np.nan]]
    np.testing.assert_allclose(logarithms(costs), expected)

"""NPB on a machine that isn't there: consistent with the measurement that it starts from."""

from __future__ import annotations

import pytest

from described.figure import measured
from described.npb import NodeMeasurement, core_rate, npb_time, npb_work, predict_npb
from described.published import seth


@pytest.mark.parametrize("name", ["cg", "ep", "mg", "ft", "lu", "is", "bt", "sp"])
def test_the_measured_node_is_predicted_as_measured(name: str) -> None:
    ranks = 1
    work = npb_work(f"npb.{name}", "A", ranks)
    slow = 2 * work.traffic / seth().node.bandwidth(ranks) + 10.0
    start = NodeMeasurement(f"npb.{name}", "A", ranks, measured(slow, "test"))
    assert npb_time(seth(), start, "A", ranks, 1).seconds == pytest.approx(slow)


def test_what_is_extrapolated_is_said() -> None:
    start = NodeMeasurement("npb.ep", "A", 2, measured(20.0, "test"))
    found = predict_npb(seth(), start, "B", 64, 1)
    assert found.extrapolated == (
        "class B from class A",
        "64 ranks from 2",
        "1 ranks per node from 2",
    )
    same = predict_npb(seth(), start, "A", 2, 2)
    assert same.extrapolated == ()
    assert same.ci90[0] <= same.value <= same.ci90[1]


def test_ep_scales_with_ranks_and_class() -> None:
    """2^28 and 2^30 pairs: four times the work; its messages don't count."""
    start = NodeMeasurement("npb.ep", "A", 1, measured(100.0, "test"))
    assert npb_time(seth(), start, "B", 64, 1).seconds == pytest.approx(4 * 100 / 64, rel=0.01)


def test_more_traffic_than_time_still_leaves_a_finite_rate() -> None:
    start = NodeMeasurement("npb.cg", "A", 1, measured(0.5, "test"))
    assert core_rate(seth(), start) > 0

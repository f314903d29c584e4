"""Components of variance: against REML, literal sums, and planted levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.stats.repeats.repeats import Repeats
from assay.stats.repeats.variance_components import VarianceComponents, variance_components
from recorded_statistics import PYTHON, recorded

DAY = 86400.0
CELL = Cell("npb.ft", {}, Placement(), "planted")


def repeats(
    values: Sequence[float],
    hosts: Sequence[int],
    days: Sequence[int],
    samples: Sequence[np.ndarray] = (),
) -> Repeats:
    n = len(values)
    return Repeats(
        cell=CELL,
        metric="time",
        unit="s",
        better="less",
        values=np.array(values),
        utc=(np.array(days) + 0.5) * DAY,
        run=("r",) * n,
        launch=tuple(map(str, range(n))),
        hosts=tuple(f"n{h}" for h in hosts),
        samples=np.concatenate([np.empty(0), *samples]),
        sizes=np.array([s.size for s in samples], dtype=np.int64),
    )


def levels(found: VarianceComponents) -> dict[str, float]:
    return {part.level: part.deviation**2 for part in found.parts}


def test_balanced_groups_have_remls_variances() -> None:
    nested = PYTHON["nested"]
    median = float(np.median(nested["values"]))
    found = variance_components(repeats(nested["values"], nested["groups"], [0] * 48))
    between, within = recorded("MixedLM(nested")
    assert found.pulled == 0
    assert levels(found)["hosts"] * median**2 == pytest.approx(between, rel=1e-3)
    assert levels(found)["launches"] * median**2 == pytest.approx(within, rel=1e-3)
    assert any("share one day" in sentence for sentence in found.untold)
    assert sum(part.share for part in found.parts) == pytest.approx(1.0)


def test_crossed_and_unequal_groups_have_hendersons_variances() -> None:
    """With projections written out as matrices."""
    rng = np.random.default_rng(1)
    hosts, days = rng.integers(0, 4, 37), rng.integers(0, 5, 37)
    values = 100 + rng.standard_normal(4)[hosts] + rng.standard_normal(5)[days]
    values = values + 0.7 * rng.standard_normal(37)

    def onto(*columns: np.ndarray) -> np.ndarray:
        design = np.hstack(columns)
        return design @ np.linalg.pinv(design)

    h, d = np.eye(4)[hosts], np.eye(5)[days]
    both, only_h, only_d = onto(h, d), onto(h), onto(d)
    y, n = values / np.median(values), 37
    residual = y @ (np.eye(n) - both) @ y / (n - np.linalg.matrix_rank(np.hstack([h, d])))
    expected = {"launches": residual}
    for name, own, other in (("hosts", h, only_d), ("days", d, only_h)):
        added = y @ (both - other) @ y
        freedom = round(np.trace(both - other))
        weight = np.trace(own.T @ (np.eye(n) - other) @ own)
        expected[name] = max((added - freedom * residual) / weight, 0.0)
    assert levels(variance_components(repeats(values, hosts, days))) == pytest.approx(
        expected, rel=1e-6
    )


def test_planted_variances_come_back_from_the_sample_to_the_day() -> None:
    rng = np.random.default_rng(2)
    hosts, days = np.tile(np.arange(40), 40), np.repeat(np.arange(40), 40)
    launches = (
        100
        + 2.0 * rng.standard_normal(40)[hosts]
        + 1.5 * rng.standard_normal(40)[days]
        + 1.0 * rng.standard_normal(1600)
    )
    samples = [level + 3.0 * rng.standard_normal(25) for level in launches]
    found = variance_components(
        repeats([float(np.median(s)) for s in samples], hosts, days, samples)
    )
    planted = {"samples": 9.0, "launches": 1.0, "hosts": 4.0, "days": 2.25}
    for level, variance in levels(found).items():
        # The 95% interval of a variance from 39 degrees of freedom is within a factor of 1.6.
        assert variance * 1e4 == pytest.approx(planted[level], rel=0.5), level
    assert {part.level: part.groups for part in found.parts} == {
        "samples": 1600,
        "launches": 1600,
        "hosts": 40,
        "days": 40,
    }


def test_negative_estimates_are_zero_and_reported() -> None:
    values = [99.0, 101.0] * 6  # every host has both: hosts differ less than chance would have it
    found = variance_components(repeats(values, np.repeat(np.arange(6), 2), [0] * 12))
    (hosts,) = [part for part in found.parts if part.level == "hosts"]
    assert (hosts.share, hosts.deviation, hosts.negative) == (0.0, 0.0, True)
    assert hosts.p is not None
    assert hosts.p > 0.5


def test_confounded_levels_are_reported() -> None:
    rng = np.random.default_rng(3)
    values = 100 + rng.standard_normal(12)
    tied = variance_components(repeats(values, np.arange(12) // 4, np.arange(12) // 4))
    assert {"Each day had one set of hosts: the two effects can't be separated."} <= {*tied.untold}
    lone = variance_components(repeats(values, np.arange(12), np.zeros(12, dtype=int)))
    assert [part.level for part in lone.parts] == ["launches"]
    assert any("Too few measurements per group" in sentence for sentence in lone.untold)
    assert variance_components(repeats([1.0], [0], [0])).parts == []


def test_one_outlier_is_not_the_whole_variance() -> None:
    rng = np.random.default_rng(4)
    hosts = np.repeat(np.arange(10), 6)
    values = 100 + 2.0 * rng.standard_normal(10)[hosts] + rng.standard_normal(60)
    plain = variance_components(repeats(values, hosts, [0] * 60))
    values[5] = 1000.0
    spoilt = variance_components(repeats(values, hosts, [0] * 60))
    assert spoilt.pulled == 1
    shares = [
        {part.level: part.share for part in found.parts}["hosts"] for found in (plain, spoilt)
    ]
    assert shares[1] > 0.4 * shares[0]

"""Two clusters of values are found, and no second one in a single distribution."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.fleet.clusters import LEAST_KIND, find_clusters, least_likelier

FLOOR = 1e-3


def normal(seed: int, nodes: int = 50) -> np.ndarray:
    """Values that differ by 0.27%: 0.25% by nature, and 0.1% by launches."""
    return 0.0027 * np.random.default_rng(seed).standard_normal(nodes)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("nodes", [50, 400])
def test_a_second_cluster_on_either_side_is_found(sign: float, nodes: int) -> None:
    values = normal(1, nodes)
    values[: nodes // 6] += sign * 0.02
    found = find_clusters(values, FLOOR, 0.001)
    assert found is not None
    small = found.upper if sign > 0.0 else ~found.upper
    assert np.flatnonzero(small).tolist() == list(range(nodes // 6))


def test_most_kinds_of_eight_nodes_five_deviations_away_are_found() -> None:
    found = 0
    for seed in range(30):
        values = normal(seed)
        values[:8] += 0.015
        clusters = find_clusters(values, FLOOR, 0.001)
        found += clusters is not None and np.count_nonzero(clusters.upper[:8]) == 8
    assert found >= 17  # 24 in the mean


DRAWS = {
    "normal": lambda drawn, nodes: drawn.standard_normal(nodes),
    "lognormal": lambda drawn, nodes: drawn.lognormal(0.0, 1.0, nodes) / 2.161,
    "t3": lambda drawn, nodes: drawn.standard_t(3, nodes) / 1.732,
    "exponential": lambda drawn, nodes: drawn.exponential(size=nodes),
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("nodes", [50, 400])
def test_one_distribution_with_a_tail_has_no_clusters(draw: str, nodes: int) -> None:
    """With an error of launches of 0.3%; two of 12 fleets by chance but for one in a thousand."""
    drawn = np.random.default_rng(7)
    split = 0
    for _ in range(12):
        values = 0.005 * DRAWS[draw](drawn, nodes) + 0.003 * drawn.standard_normal(nodes)
        split += find_clusters(values, FLOOR, 0.003) is not None
    assert split <= 2


def test_nodes_of_different_slowness_are_no_cluster() -> None:
    values = normal(3)
    values[:5] += np.log([1.05, 1.08, 1.12, 1.18, 1.3])
    assert find_clusters(values, FLOOR, 0.001) is None


def test_fewer_nodes_than_a_kind_are_no_cluster() -> None:
    values = normal(4)
    values[: LEAST_KIND - 1] += 0.05
    assert find_clusters(values, FLOOR, 0.001) is None
    values[LEAST_KIND - 1] += 0.05
    assert find_clusters(values, FLOOR, 0.001) is not None


def test_a_wide_cluster_of_slow_nodes_is_no_kind() -> None:
    """Nodes that are 5 to 12% slow scatter more than those of a kind would."""
    values = normal(5)
    values[:8] += np.linspace(0.05, 0.12, 8)
    assert find_clusters(values, FLOOR, 0.001) is None


def test_equal_values_and_few_nodes_have_no_clusters() -> None:
    assert find_clusters(np.zeros(50), FLOOR) is None
    assert find_clusters(np.array([0.0] * 5 + [1.0] * 6), FLOOR) is None


def test_the_limit_of_the_likelihood_ratio_grows_with_the_nodes() -> None:
    assert (least_likelier(50), least_likelier(400)) == (3.5, 7.0)
    values = normal(1, 400)
    values[:60] += 0.0115
    found = find_clusters(values, FLOOR, 0.001)
    assert found is not None
    assert found.likelier >= 7.0

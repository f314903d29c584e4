"""Nodes that get slower while their fleet doesn't; hosts that slow their node sets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from assay.stats.attribution.host_effects import find_host_effects
from assay.stats.fleet.drift import find_drifts
from assay.stats.fleet.fleet import LEVEL

DAY = 86400.0


def history(seed: int, nodes: int = 20, occasions: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    base = np.exp(0.01 * rng.standard_normal((nodes, 3, 1)))
    day = np.exp(0.05 * rng.standard_normal(occasions))  # the whole fleet's
    return base * day * np.exp(0.004 * rng.standard_normal((nodes, 3, occasions)))


def test_a_step_is_found_with_its_day_and_size() -> None:
    costs = history(1)
    costs[7, 1, 4:] *= 1.08
    (drift,) = find_drifts(costs, DAY * np.arange(6))
    assert (drift.node, drift.cell, drift.how, drift.since) == (7, 1, "step", 4)
    low, high = drift.interval
    assert low < np.log(1.08) < high
    assert high - low < 0.05
    assert drift.p <= LEVEL
    assert drift.occasions == 6


def test_a_trend_is_found_as_such() -> None:
    costs = history(2, occasions=8)
    costs[3, 0] *= np.exp(0.1 * np.arange(8) / 7)
    (drift,) = find_drifts(costs, DAY * np.arange(8))
    assert (drift.node, drift.cell, drift.how) == (3, 0, "trend")
    assert drift.size == pytest.approx(0.1, abs=0.02)


def test_a_change_of_the_whole_fleet_is_no_nodes_drift() -> None:
    costs = history(3)
    costs[:, :, 3:] *= 1.3
    assert find_drifts(costs, DAY * np.arange(6)) == []


def test_a_bad_day_of_the_fleet_is_no_drift_of_who_lacks_the_days_after() -> None:
    costs = history(9, occasions=8)
    costs[:, :, 5] *= 1.5
    costs[2, :, 6:] = np.nan
    assert find_drifts(costs, DAY * np.arange(8)) == []


def test_a_node_that_gets_faster_is_not_named() -> None:
    costs = history(8)
    costs[7, :, 3:] /= 1.2
    assert find_drifts(costs, DAY * np.arange(6)) == []


def test_nodes_may_be_missing_at_times() -> None:
    costs = history(5)
    costs[7, 1, 3:] *= 1.1
    costs[7, :, 1] = np.nan
    costs[2, :, 3:] = np.nan
    costs[::3, :, 5] = np.nan
    assert [drift.node for drift in find_drifts(costs, DAY * np.arange(6))] == [7]


def test_three_occasions_show_no_drift() -> None:
    costs = history(6, occasions=3)
    costs[7, :, 2:] *= 2.0
    assert find_drifts(costs, DAY * np.arange(3)) == []


def test_in_fleets_without_drift_one_is_rarely_seen() -> None:
    wrong = sum(bool(find_drifts(history(50 + t), DAY * np.arange(6))) for t in range(120))
    assert wrong <= binom.ppf(0.9999, 120, LEVEL)


# ---- membership ----------------------------------------------------------------------------------

HOSTS = [f"n{i}" for i in range(8)]


def sets(seed: int, count: int = 12, size: int = 3) -> list[tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    every = list(itertools.combinations(HOSTS, size))
    return [every[i] for i in rng.choice(len(every), count, replace=False)]


def times(chosen: list[tuple[str, ...]], slow: dict[str, float], seed: int) -> tuple:
    """Three launches a set; a slow host in it makes it slower."""
    rng = np.random.default_rng(seed)
    hosts = [each for each in chosen for _ in range(3)]
    effect = [sum(slow.get(host, 0.0) for host in each) for each in hosts]
    of_set = np.repeat(0.004 * rng.standard_normal(len(chosen)), 3)
    return np.exp(np.array(effect) + of_set + 0.005 * rng.standard_normal(len(hosts))), hosts


def test_the_host_that_makes_its_sets_slow_is_named() -> None:
    costs, hosts = times(sets(1), {"n3": 0.1}, 1)
    (found,) = find_host_effects([costs], [hosts])
    assert found.hosts == ("n3",)
    low, high = found.interval
    assert low < 0.1 < high
    assert found.sets == sum("n3" in each for each in sets(1))
    assert found.of == 12


def test_two_slow_hosts_are_both_named_and_not_confused() -> None:
    costs, hosts = times(sets(2, count=20), {"n3": 0.1, "n6": 0.06}, 2)
    found = find_host_effects([costs], [hosts])
    assert [each.hosts for each in found] == [("n3",), ("n6",)]
    assert found[1].effect == pytest.approx(0.06, abs=0.015)
    # The second's effect is estimated together with the first's: least squares over the sets'
    # means.
    chosen = sets(2, count=20)
    design = np.array([[1.0, "n3" in each, "n6" in each] for each in chosen])
    means = np.log(costs).reshape(20, 3).mean(axis=1)
    (_, _, beside), *_ = np.linalg.lstsq(design, means)
    assert found[1].effect == pytest.approx(beside)


def test_hosts_that_are_always_together_are_named_together() -> None:
    chosen = [(*each, f"{host}x") for each in sets(3) for host in ["n2"] if host in each]
    chosen += [each for each in sets(3) if "n2" not in each]
    costs, hosts = times(chosen, {"n2": 0.1}, 3)
    (found,) = find_host_effects([costs], [hosts])
    assert found.hosts == ("n2", "n2x")


def test_a_slow_host_shows_in_the_cell_it_is_slow_in() -> None:
    plain, hosts = times(sets(4), {}, 4)
    slow, _ = times(sets(4), {"n1": 0.12}, 5)
    (found,) = find_host_effects([plain, slow], [hosts, hosts])
    assert (found.hosts, found.cell) == (("n1",), 1)


def test_hosts_without_effect_are_rarely_named() -> None:
    wrong = 0
    for trial in range(120):
        costs, hosts = times(sets(trial), {}, 1000 + trial)
        wrong += bool(find_host_effects([costs], [hosts]))
    assert wrong <= binom.ppf(0.9999, 120, LEVEL)


def test_few_sets_give_no_result() -> None:
    costs, hosts = times(sets(7, count=5), {"n3": 1.0}, 7)
    assert find_host_effects([costs], [hosts]) == []

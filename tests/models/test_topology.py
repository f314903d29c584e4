"""Topology from matrices whose switches, slow nodes and slow pairs were planted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assay.models.network.outliers import upper_outliers
from assay.models.network.pair_times import pair_times
from assay.models.network.topology import FALSE_ALARMS, SLOW, analyse

NOISE = 0.02  # deviation of the logarithm of each time


def noisy(times, rng, noise=NOISE):
    """A symmetric matrix around ``times``, each pair with independent noise."""
    upper = np.triu(np.asarray(times) * np.exp(noise * rng.standard_normal(np.shape(times))), 1)
    times = upper + upper.T
    np.fill_diagonal(times, np.nan)
    return times


def switches(nodes, size, ratio, base=20e-6):
    """Times with ``size`` nodes at a switch, ``ratio`` times as long between switches."""
    switch = np.arange(nodes) // size
    return np.where(switch[:, None] == switch[None, :], base, base * ratio)


def slow_node(times, node, ratio):
    times[node, :] *= ratio
    times[:, node] *= ratio


def slow_pair(times, one, other, ratio):
    times[one, other] *= ratio
    times[other, one] *= ratio


def groups_of(topology, level=-1):
    return set(topology.levels[level].groups)


@pytest.mark.parametrize(
    ("nodes", "size", "ratio"),
    [(6, 3, 1.3), (8, 4, 1.2), (12, 3, 1.2), (24, 8, 1.1), (64, 16, 1.1)],
)
def test_switches_are_found_whatever_the_order_of_nodes(nodes, size, ratio) -> None:
    rng = np.random.default_rng(nodes)
    hidden = rng.permutation(nodes)
    times = noisy(switches(nodes, size, ratio), rng, 0.01)[np.ix_(hidden, hidden)]
    found = analyse(times)
    truth = {tuple(np.flatnonzero(hidden // size == s).tolist()) for s in range(nodes // size)}
    assert len(found.levels) == 1 and groups_of(found) == truth
    level = found.levels[0]
    assert level.within == pytest.approx(20e-6, rel=0.02)
    assert level.between / level.within == pytest.approx(ratio, rel=0.02)
    assert found.slow_nodes == found.slow_pairs == ()
    # Contiguous: along the order the group changes once less than there are groups.
    shown = [int(hidden[node]) // size for node in found.order]
    assert sorted(found.order) == list(range(nodes))
    assert sum(a != b for a, b in itertools.pairwise(shown)) == nodes // size - 1


@pytest.mark.parametrize(
    ("nodes", "leaf", "pod"),
    [(32, 1.2, 1.4), (48, 2.0, 1.1)],  # the pods explain the most; the switches below them do
)
def test_a_two_level_tree_is_found_level_by_level(nodes, leaf, pod) -> None:
    rng = np.random.default_rng(5)
    times = switches(nodes, 4, leaf) * switches(nodes, 16, pod, base=1.0)
    found = analyse(noisy(times, rng))
    assert len(found.levels) == 2
    for level, size in enumerate((16, 4)):
        truth = {tuple(range(s, s + size)) for s in range(0, nodes, size)}
        assert groups_of(found, level) == truth
    assert found.slow_nodes == found.slow_pairs == ()


@pytest.mark.parametrize(("nodes", "size"), [(16, 16), (16, 8), (24, 6)])
def test_a_slow_node_is_named_and_stays_in_its_group(nodes, size) -> None:
    for node in (0, nodes // 2, nodes - 1):
        times = noisy(switches(nodes, size, 1.2), np.random.default_rng(node))
        slow_node(times, node, 1.5)
        found = analyse(times)
        assert [slow.node for slow in found.slow_nodes] == [node]
        assert found.slow_nodes[0].ratio == pytest.approx(1.5, rel=0.05)
        assert found.slow_pairs == ()
        whole = {tuple(range(s, s + size)) for s in range(0, nodes, size)}
        assert (groups_of(found) if found.levels else set()) == (whole if size < nodes else set())


@pytest.mark.parametrize(("nodes", "size"), [(10, 10), (24, 8), (64, 16)])
def test_a_slow_pair_is_named(nodes, size) -> None:
    for one, other in ((0, 1), (2, nodes - 1)):
        times = noisy(switches(nodes, size, 1.2), np.random.default_rng(nodes))
        slow_pair(times, one, other, 1.4)
        found = analyse(times)
        (slow,) = found.slow_pairs
        assert (slow.one, slow.other) == (one, other)
        assert slow.ratio == pytest.approx(1.4, rel=0.08)
        assert found.slow_nodes == ()


def test_a_slow_node_and_a_slow_pair_are_distinguished() -> None:
    times = noisy(switches(24, 24, 1.0), np.random.default_rng(11))
    slow_node(times, 3, 1.6)
    slow_pair(times, 10, 20, 1.5)
    found = analyse(times)
    assert [slow.node for slow in found.slow_nodes] == [3]
    assert [(slow.one, slow.other) for slow in found.slow_pairs] == [(10, 20)]


def test_slow_nodes_are_found_in_a_subset_of_all_pairs() -> None:
    rng = np.random.default_rng(2)
    times = noisy(np.full((60, 60), 5e-6), rng)
    slow_node(times, 41, 1.4)
    kept = np.zeros(times.shape, dtype=bool)
    for step in (1, 7, 12, 23, 29):  # ten partners for each
        for i in range(60):
            kept[i, (i + step) % 60] = kept[(i + step) % 60, i] = True
    times[~kept] = np.nan
    found = analyse(times)
    assert not found.searched and found.levels == ()
    assert [slow.node for slow in found.slow_nodes] == [41]


# The maximum for 500 matrices at a true rate of 1%: exceeded by chance in less than one test of a
# thousand (binomial: P(more than 13 of 500) = 0.0006).
MATRICES = 500
ALLOWED = 13


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [6, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "noise",
    [
        "normal",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("uniform", "exponential")),
    ],
)
def test_noise_has_no_topology(nodes, noise) -> None:
    rng = np.random.default_rng(nodes)
    groups = outliers = 0
    for seed in range(MATRICES):
        shape = (nodes, nodes)
        drawn = {
            "normal": lambda shape=shape: np.exp(0.1 * rng.standard_normal(shape)),
            "uniform": lambda shape=shape: 1 + rng.random(shape),
            "exponential": lambda shape=shape: 1 + 0.5 * rng.exponential(size=shape),
        }[noise]()
        found = analyse(noisy(drawn * 1e-6, rng, 0.0), seed=seed)
        groups += bool(found.levels)
        outliers += bool(found.slow_nodes or found.slow_pairs)
    assert FALSE_ALARMS == 0.01
    assert groups <= ALLOWED and outliers <= ALLOWED, (groups, outliers)


def test_slightly_different_nodes_are_no_groups() -> None:
    """Effects of single nodes put the fast ones near each other, which is no switch."""
    rng = np.random.default_rng(8)
    found = 0
    for seed in range(100):
        speed = np.exp(0.05 * rng.standard_normal(12))
        times = noisy(10e-6 * speed[:, None] * speed[None, :], rng)
        found += bool(analyse(times, seed=seed).levels)
    assert found <= 5  # P(more than 5 of 100) = 0.0005 at 1%


def test_outliers_of_an_exponential_tail_come_at_the_stated_rate() -> None:
    rng = np.random.default_rng(1)
    for size in (6, 20, 200):
        alarms = sum(bool(upper_outliers(rng.exponential(size=size), 0.05)) for _ in range(4000))
        # At most 5%, plus four deviations of the count; and enough for the test to have power.
        assert 20 < alarms < 200 + 4 * 14, size


def test_outliers_are_those_above_the_gap() -> None:
    values = np.array([1.0, 1.1, 1.05, 1.02, 1.07, 1.03, 9.0, 1.01, 1.08, 8.0])
    assert upper_outliers(values, 0.01) == [6, 9]
    assert (
        upper_outliers(values, 0.01, least=7.5) == [6]
        or upper_outliers(values, 0.01, least=7.5) == []
    )
    assert upper_outliers(values, 0.01, least=9.0) == []
    assert upper_outliers(-values, 0.01) == []
    assert upper_outliers(np.array([1.0, 1.0, 1.0, 1.0, 50.0]), 0.01) == []  # too few to decide
    assert upper_outliers(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]), 0.01) == [6]
    assert upper_outliers(np.ones(30), 0.01) == []


def test_a_slightly_slower_node_is_not_called_slow() -> None:
    times = noisy(np.full((16, 16), 1e-6), np.random.default_rng(4), 0.001)
    slow_node(times, 5, 1 + (SLOW - 1) / 2)
    assert analyse(times).slow_nodes == ()


def test_few_nodes_and_equal_times() -> None:
    same = noisy(np.full((8, 8), 1e-6), np.random.default_rng(0), 0.0)
    found = analyse(same)
    assert found.searched and (found.levels, found.slow_nodes, found.slow_pairs) == ((), (), ())
    for nodes in (2, 5):
        few = analyse(noisy(np.full((nodes, nodes), 1e-6), np.random.default_rng(0)))
        assert not few.searched and few.levels == () and few.order == tuple(range(nodes))


def test_a_matrix_holds_its_pairs() -> None:
    pairs = pair_times(3, [[(0, 2, 1e-6), (2, 1, 2e-6)]])
    times = pairs.matrix(pairs.seconds)
    wanted = [[np.nan, np.nan, 1e-6], [np.nan, np.nan, 2e-6], [1e-6, 2e-6, np.nan]]
    np.testing.assert_array_equal(times, wanted)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[np.nan, 1.0], [2.0, np.nan]]), "symmetric"),
        (np.array([[np.nan, 0.0], [0.0, np.nan]]), "positive"),
    ],
)
def test_invalid_matrices_of_times_are_refused(broken, words) -> None:
    with pytest.raises(ValueError, match=words):
        analyse(broken)

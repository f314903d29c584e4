"""Groups of nodes from a part of all pairs, on fabrics whose switches were planted."""

from __future__ import annotations

import itertools
import resource

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.launch.fake.fabric import FabricModel
from assay.models.network.pair_times import (
    PairTimes,
    labels_of,
    median_of_known,
    node_quantiles,
    pair_times,
)
from assay.models.network.sampled import analyse_sample
from assay.models.network.topology import Topology, analyse
from fake_fabrics import adjusted_rand, measured, planted, times_of


def drawn(nodes: int, size: int, launches: int, most: int, seed: int, **more: float) -> PairTimes:
    """Random pairs; 1.3 times as long between switches of ``size`` consecutive nodes (0: one)."""
    draw = np.random.default_rng(seed)
    every = np.array(list(itertools.combinations(range(nodes), 2)))
    rows = []
    for _ in range(launches):
        pairs = every[draw.choice(len(every), most, replace=False)]
        apart = (pairs[:, 0] // size != pairs[:, 1] // size) if size else np.zeros(most, dtype=bool)
        logs = np.log(np.where(apart, 1.3, 1.0))
        logs += more.get("noise", 0.05) * draw.standard_normal(most)
        logs += more.get("shift", 0.0) * draw.standard_normal()
        logs += np.log(5) * (draw.random(most) < more.get("outliers", 0.0))
        rows.append(np.column_stack([pairs, np.exp(logs) * 1e-6]))
    return pair_times(nodes, rows)


def labels(found: Topology, level: int = -1) -> np.ndarray:
    nodes = len(found.order)
    return labels_of(nodes, found.levels[level].groups) if found.levels else np.full(nodes, -1)


def test_groups_are_found_though_launches_differ_and_a_node_is_slow() -> None:
    pairs = drawn(120, 20, 6, 500, seed=3, shift=0.2, outliers=0.02)
    slow = np.where(pairs.with_node(41), 1.6, 1.0)
    found = analyse_sample(PairTimes(120, pairs.ones, pairs.others, pairs.launches * slow))
    assert adjusted_rand(np.arange(120) // 20, labels(found)) == 1.0
    (level,) = found.levels
    assert level.between / level.within == pytest.approx(1.3, rel=0.03)
    assert [node.node for node in found.slow_nodes] == [41]
    assert found.slow_nodes[0].ratio == pytest.approx(1.6, rel=0.05)
    assert found.sample is not None and found.sample.groups == "found"
    assert (found.sample.pairs, found.sample.in_all) == (len(pairs.ones), 7140)
    # Groups side by side: along the order the switch changes five times.
    assert sum(a // 20 != b // 20 for a, b in itertools.pairwise(found.order)) == 5


def test_of_nearly_all_pairs_a_sample_shows_the_groups_of_the_whole_matrix() -> None:
    whole = drawn(48, 8, 6, 1128, seed=5)
    dense = analyse(whole.matrix(whole.seconds))
    part = analyse_sample(drawn(48, 8, 6, 900, seed=5))
    assert {level.groups for level in dense.levels} == {level.groups for level in part.levels}


def test_two_levels_of_switches_are_found() -> None:
    draw = np.random.default_rng(8)
    nodes, rows = 96, []
    every = np.array(list(itertools.combinations(range(nodes), 2)))
    for _ in range(6):
        pairs = every[draw.choice(len(every), 2500, replace=False)]
        apart = [(pairs[:, 0] // size != pairs[:, 1] // size) for size in (12, 48)]
        factor = np.where(apart[0], 1.3, 1.0) * np.where(apart[1], 1.6, 1.0)
        rows.append(np.column_stack([pairs, factor * np.exp(0.03 * draw.standard_normal(2500))]))
    found = analyse_sample(pair_times(nodes, rows))
    assert len(found.levels) == 2
    for level, size in enumerate((48, 12)):
        assert adjusted_rand(np.arange(nodes) // size, labels(found, level)) >= 0.95


@pytest.mark.long
def test_a_flat_fabric_has_no_groups() -> None:
    for seed in range(20):
        outliers = 0.03 * (seed % 2)
        pairs = drawn(80, 0, 3, 300, seed=100 + seed, shift=0.1, outliers=outliers)
        found = analyse_sample(pairs)
        assert found.levels == () and found.sample is not None
        assert found.sample.groups == "none" and found.sample.more == 0


def test_groups_that_the_launches_kept_for_the_test_do_not_show_are_none() -> None:
    """As of a disturbance that lasts for two of three launches; shown by all they are found."""
    shown = drawn(80, 20, 3, 900, seed=2)
    assert len(analyse_sample(shown).levels) == 1
    flat = drawn(80, 0, 3, 900, seed=2)  # the same pairs
    mixed = np.vstack([shown.launches[:2], flat.launches[2:]])
    found = analyse_sample(PairTimes(80, shown.ones, shown.others, mixed))
    assert found.levels == ()


def test_pairs_that_are_fast_at_random_are_no_groups() -> None:
    draw = np.random.default_rng(4)
    every = np.array(list(itertools.combinations(range(80), 2)))
    fast = draw.random(len(every)) < 0.2
    rows = []
    for _ in range(6):
        chosen = draw.choice(len(every), 900, replace=False)
        times = np.where(fast[chosen], 1.0, 1.3) * np.exp(0.03 * draw.standard_normal(900))
        rows.append(np.column_stack([every[chosen], times]))
    found = analyse_sample(pair_times(80, rows))
    assert found.levels == () and found.sample is not None and found.sample.groups == "none"


@pytest.mark.long
def test_too_few_pairs_leave_it_open_and_as_many_more_decide_it() -> None:
    few = analyse_sample(drawn(300, 10, 2, 1500, seed=6, noise=0.03))
    assert few.levels == () and few.sample is not None and few.sample.groups == "open"
    more = few.sample.more
    assert few.slow_nodes == few.slow_pairs == ()  # of two launches
    launches = 2 + -(-more // 1500)
    enough = analyse_sample(drawn(300, 10, launches, 1500, seed=6, noise=0.03))
    assert adjusted_rand(np.arange(300) // 10, labels(enough)) >= 0.95


@pytest.mark.parametrize(("launches", "most"), [(1, 600), (6, 20), (2, 79)])
def test_of_one_launch_or_hardly_any_pairs_nothing_is_said(launches: int, most: int) -> None:
    found = analyse_sample(drawn(80, 20, launches, most, seed=1))
    assert found.levels == () and found.sample is not None
    assert found.sample.groups == "open" and found.sample.more > 0


times = st.lists(
    st.dictionaries(
        st.tuples(st.integers(0, 4), st.integers(5, 9)), st.floats(1e-9, 1e3), max_size=25
    ),
    min_size=1,
    max_size=4,
)


@given(times)
def test_sparse_pairs_are_the_matrices(launches: list[dict[tuple[int, int], float]]) -> None:
    """Against matrices written out, with either order of the two nodes."""
    pairs = pair_times(10, [[(b, a, t) for (a, b), t in each.items()] for each in launches])
    every = sorted({pair for each in launches for pair in each})
    assert [*zip(pairs.ones.tolist(), pairs.others.tolist(), strict=True)] == every
    for place, pair in enumerate(every):
        known = [each[pair] for each in launches if pair in each]
        assert pairs.seconds[place] == pytest.approx(np.median(known))
    whole = pairs.matrix(pairs.seconds)
    assert np.array_equal(whole, whole.T, equal_nan=True)
    assert np.isfinite(whole).sum() == 2 * len(every)
    by_node = node_quantiles(pairs, pairs.seconds, 1.0)
    for node in range(10):
        own = whole[node][~np.isnan(whole[node])]
        assert np.isnan(by_node[node]) if own.size == 0 else by_node[node] == own.max()


@settings(max_examples=40)
@given(
    st.integers(6, 40),
    st.integers(1, 4),
    st.lists(st.sampled_from([1e-6, 1.1e-6, 1.3e-6, 5e-6, 1.0]), min_size=1, max_size=4),
    st.integers(0, 10_000),
)
def test_any_times_give_an_answer(nodes, launches, kinds, seed) -> None:
    """Coarse clocks: few different times, or one alone; nodes without a pair."""
    draw = np.random.default_rng(seed)
    every = list(itertools.combinations(range(nodes), 2))[: draw.integers(1, nodes**2)]
    rows = [
        [(*every[k], float(draw.choice(kinds))) for k in draw.permutation(len(every))[:600]]
        for _ in range(launches)
    ]
    found = analyse_sample(pair_times(nodes, rows))
    assert sorted(found.order) == list(range(nodes)) and found.sample is not None
    assert (found.sample.groups == "found") == bool(found.levels)
    assert (found.sample.more > 0) == (found.sample.groups == "open")
    assert found.sample.pairs + found.sample.more <= found.sample.in_all or launches == 1


def test_medians_without_a_value_are_unknown() -> None:
    rows = np.array([[1.0, np.nan, np.nan], [3.0, 2.0, np.nan]])
    assert np.array_equal(median_of_known(rows), [2.0, 2.0, np.nan], equal_nan=True)


def test_adjusted_rand_of_known_partitions() -> None:
    one = np.array([0, 0, 1, 1])
    assert adjusted_rand(one, np.array([5, 5, 3, 3])) == 1.0
    assert adjusted_rand(one, np.array([0, 1, 0, 1])) == pytest.approx(-0.5)
    assert adjusted_rand(one, np.array([0, 0, -1, -1])) < 1.0


@pytest.mark.long
@pytest.mark.parametrize(("nodes", "size", "launches"), [(1000, 32, 10), (4096, 512, 8)])
def test_planted_switches_of_large_fabrics_are_found(tmp_path, nodes, size, launches) -> None:
    """From 8,192 pairs per launch, by the fake executor; a node is slow, and launches differ."""
    fabric = FabricModel(switch=size, sigma=0.05, launch_sigma=0.05, slow={"17": 1.5})
    pairs = times_of(measured(tmp_path, fabric, nodes, launches), nodes)
    assert len(pairs.ones) < pairs.in_all / 5
    found = analyse_sample(pairs)
    assert adjusted_rand(planted(fabric, nodes, size), labels(found)) >= 0.95
    assert [node.node for node in found.slow_nodes] == [17]
    # All of it in bounded memory: matrices of 4,096 nodes would take 134 MB per launch.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1 << 20  # KiB


@pytest.mark.long
@pytest.mark.parametrize("nodes", [1000, 4096])
def test_large_fabrics_without_groups_or_with_too_small_ones_name_none(tmp_path, nodes) -> None:
    flat = times_of(measured(tmp_path, FabricModel(sigma=0.05), nodes, 4), nodes)
    found = analyse_sample(flat)
    assert found.levels == () and found.sample is not None and found.sample.groups == "none"
    fine = FabricModel(switch=8, sigma=0.03)
    found = analyse_sample(times_of(measured(tmp_path, fine, nodes, 6, seed=1), nodes))
    assert found.levels == () and found.sample is not None and found.sample.groups == "open"
    assert found.sample.more > 5 * found.sample.pairs

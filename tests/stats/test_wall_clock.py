"""Wall-clock against CPU time: planted as on the T3E, and clean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.stats.attribution.association import effective_pairs
from assay.stats.attribution.wall_clock import compare_clocks, cpu_cost, wall_clock
from assay.stats.core.summary import cov_interval
from clocked_runs import clocked, migrated
from repeats_builder import make_repeats


def test_ranks_that_were_kept_from_running() -> None:
    wall, cpu = migrated(118, 1)
    found = wall_clock(clocked(wall, cpu))
    assert found.verdict == "kept from running"
    assert found.wall == pytest.approx(np.std(wall, ddof=1) / np.mean(wall))
    assert found.cpu == pytest.approx(np.std(cpu, ddof=1) / np.mean(cpu))
    assert found.wall > 0.05 and found.cpu < 0.01 and found.p < 1e-3
    assert found.cpu_ci95[0] < found.cpu < found.cpu_ci95[1] < found.wall_ci95[0]
    assert found.busy > 0.9 and found.n == 118


def test_clocks_that_agree_rarely_differ() -> None:
    """At 1% of clean cells: of 100 more than 5 would be chance once in 2,000 times."""
    parted = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        wall = np.exp(0.05 * random.standard_t(3, 40))
        found = wall_clock(clocked(wall, wall * np.exp(0.002 * random.normal(size=40) - 0.01)))
        parted += found.verdict != "alike"
    assert parted <= 5


def test_a_small_difference_is_none() -> None:
    """CPU time that surely varies less, by a third, doesn't say that ranks were kept from it."""
    random = np.random.default_rng(7)
    cpu = 1.0 + 0.06 * random.normal(size=300)
    found = wall_clock(clocked(cpu**1.5, 0.9 * cpu))
    assert found.p < 1e-6 and found.cpu < found.wall and found.verdict == "alike"


def test_waits_that_make_up_for_computing() -> None:
    random = np.random.default_rng(2)
    cpu = 0.8 + 0.05 * random.normal(size=60)
    found = wall_clock(clocked(1.0 + 0.002 * random.normal(size=60), cpu))
    assert found.verdict == "ran longer" and found.wall < found.cpu


def test_ranks_that_sleep_give_no_result() -> None:
    random = np.random.default_rng(3)
    wall = 1.0 + 0.1 * random.random(40)
    assert wall_clock(clocked(wall, np.full(40, 0.1))).verdict == "asleep"


def test_cpu_time_is_of_the_rank_that_had_least_and_of_all_its_threads() -> None:
    wall, cpu = migrated(30, 4)
    repeats = clocked(wall, cpu)
    assert cpu_cost(repeats) == pytest.approx(cpu)
    threads = Cell("npb.lu", {"class": "A"}, Placement(ppn=1, threads=4), "embedded")
    of_threads = replace(
        repeats,
        cell=threads,
        covariates={
            **repeats.covariates,
            "least_cpu_seconds": 4.0 * repeats.covariates["least_cpu_seconds"],
        },
    )
    assert cpu_cost(of_threads) == pytest.approx(cpu)
    # Records of before: the mean over the four ranks.
    old = make_repeats(wall, {"user_seconds": 7.0 * cpu / wall, "system_seconds": 1.0 * cpu / wall})
    assert cpu_cost(old) == pytest.approx(cpu)


def test_what_is_unknown_or_too_little_is_nothing() -> None:
    wall, cpu = migrated(40, 5)
    assert wall_clock(make_repeats(wall, {})) is None
    assert wall_clock(clocked(wall, cpu).take(np.arange(19))) is None
    assert wall_clock(clocked(np.ones(40), np.ones(40))) is None
    half = np.where(np.arange(40) < 25, cpu, np.nan)
    assert wall_clock(clocked(wall, half)).n == 25


def literal_scores(values: np.ndarray) -> np.ndarray:
    return stats.norm.ppf(stats.rankdata(values) / (values.size + 1))


def test_clocks_are_compared_by_pitman_and_morgan_s_test_of_ranks() -> None:
    """With scipy's correlation of the logarithms' difference and sum, by their normal scores."""
    random = np.random.default_rng(11)
    cpu = np.exp(0.05 * random.normal(size=50))
    wall = cpu**1.3 * np.exp(0.03 * random.normal(size=50))
    scores = [literal_scores(np.log(each)) for each in (wall / cpu, wall * cpu)]
    # By this seed neighbours don't depend on each other, so that all pairs count.
    assert effective_pairs(*scores) == 50.0
    expected = stats.pearsonr(*scores)
    assert 1e-6 < expected.pvalue < 0.9
    found = compare_clocks(wall, cpu)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert (found.n, found.busy) == (50, None)
    assert found.wall == pytest.approx(np.std(wall, ddof=1) / np.mean(wall))
    assert found.cpu == pytest.approx(np.std(cpu, ddof=1) / np.mean(cpu))
    assert (found.wall_ci95, found.cpu_ci95) == (cov_interval(wall), cov_interval(cpu))
    # Exchanged clocks part as much.
    assert compare_clocks(cpu, wall).p == pytest.approx(found.p)
    busy = compare_clocks(wall, 0.7 * cpu, of_ranks=True).busy
    assert busy == pytest.approx(np.median(0.7 * cpu / wall))


def test_pairs_that_are_not_known_are_left_out() -> None:
    random = np.random.default_rng(12)
    wall, cpu = 1.0 + 0.1 * random.random((2, 26))
    cpu[[3, 9, 20]] = np.nan, 0.0, np.inf
    wall[5] = 0.0
    known = [k for k in range(26) if k not in (3, 5, 9, 20)]
    assert compare_clocks(wall, cpu) == compare_clocks(wall[known], cpu[known])
    assert compare_clocks(wall, cpu).n == 22
    assert compare_clocks(wall, cpu, least=23) is None
    assert compare_clocks(np.ones(26), cpu) is None

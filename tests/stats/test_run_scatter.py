"""The scatter between runs: a known one is estimated, and differences of runs are judged by it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats.compare.run_scatter import RunScatter, centre, run_difference, run_scatter
from assay.stats.compare.two_sides import runs_needed
from assay.stats.compare.verdicts import SidePair, decide

Rng = np.random.Generator
MARGIN = 0.01


def run_values(rng: Rng, between: float, within: float, launches: int = 6, level: float = 1.0):
    state = between * rng.standard_normal()
    return level * np.exp(state + within * rng.standard_normal(launches))


def test_the_centre_is_the_median_of_all_means_of_two_values() -> None:
    rng = np.random.default_rng(1)
    values = rng.standard_normal(7)
    means = [(a + b) / 2.0 for i, a in enumerate(values) for b in values[i:]]
    assert centre(values) == pytest.approx(np.median(means))
    assert centre(np.array([1.0, 2.0, 3.0, 1e9])) < 1e9 / 2.0


def test_a_planted_scatter_is_estimated_within_groups() -> None:
    rng = np.random.default_rng(2)
    groups = [[run_values(rng, 0.02, 0.01, level=level) for _ in range(400)] for level in (1, 9)]
    found = run_scatter(groups)
    assert found is not None
    assert (found.freedom, found.runs) == (798, 800)
    assert found.within == pytest.approx(0.01**2 / 6, rel=0.05)
    assert found.variance == pytest.approx(0.02**2 + 0.01**2 / 6, rel=0.1)


def test_few_runs_tell_no_scatter() -> None:
    rng = np.random.default_rng(3)
    runs = [run_values(rng, 0.0, 0.01) for _ in range(5)]
    assert run_scatter([runs[:3]]) is None
    assert run_scatter([runs[:2], runs[2:4]]) is None
    assert run_scatter([[*runs[:3], np.array([1.0]), np.array([1.0, -1.0])]]) is None
    assert run_scatter([runs[:4]]) is not None


def test_the_difference_is_students_t_by_the_given_scatter() -> None:
    from scipy import stats

    one, other = np.exp([0.0, 0.01, 0.02]), np.exp([0.1, 0.11, 0.12])
    found = run_difference(one, other, RunScatter(0.02**2, 0.01**2 / 3, 8, 9))
    assert found is not None
    error = 0.02 * math.sqrt(2.0)
    assert found.variance == pytest.approx(error**2)
    assert found.p == pytest.approx(2.0 * stats.t.sf(0.1 / error, 8))
    half = stats.t.ppf(0.975, 8) * error
    assert found.interval == pytest.approx((math.exp(0.1 - half), math.exp(0.1 + half)))


def test_launches_that_scatter_more_than_those_of_other_runs_add_to_it() -> None:
    one, other = np.exp([0.0, 0.04, 0.08]), np.exp([0.1, 0.14, 0.18])
    found = run_difference(one, other, RunScatter(0.02**2, 0.01**2 / 3, 8, 9))
    assert found is not None
    assert found.variance == pytest.approx(2.0 * (0.02**2 + 0.04**2 / 3 - 0.01**2 / 3))


def test_without_other_runs_a_run_counts_as_a_launch() -> None:
    one, other = np.exp([0.0, 0.01, 0.02]), np.exp([0.1, 0.11, 0.12])
    found = run_difference(one, other, None)
    assert found is not None
    assert found.variance == pytest.approx(2.0 * 0.01**2 * (1.0 + 1.0 / 3.0))
    assert found.freedom == pytest.approx(4.0)


def test_constant_and_single_values() -> None:
    same, more, single = np.full(4, 2.0), np.full(4, 2.1), np.array([1.0])
    for other, p in ((same, 1.0), (more, 0.0)):
        found = run_difference(same, other, None)
        assert found is not None
        assert found.p == p
    assert run_difference(single, same, None) is None
    assert run_difference(np.array([1.0, -1.0]), same, None) is None


def test_a_shift_of_a_run_is_no_difference_of_machines() -> None:
    """5% at 1% within: beyond the launches, but runs of this machine differ by 4%."""
    rng = np.random.default_rng(4)
    one, other = run_values(rng, 0.0, 0.01), run_values(rng, 0.0, 0.01, level=1.05)
    scatter = run_scatter([[run_values(rng, 0.04, 0.01) for _ in range(20)]])
    alone, launches = (
        decide([SidePair(one, other, separate=separate, scatter=scatter)], MARGIN)[0]
        for separate in (True, False)
    )
    assert launches.verdict == "faster"
    assert (alone.verdict, alone.in_runs) == ("open", "faster")
    assert alone.p is not None
    assert launches.p is not None
    assert alone.p > launches.p == alone.p_launches
    assert alone.runs is not None
    assert alone.runs > 3
    assert alone.more is None
    assert alone.speed_ci95 is not None
    assert launches.speed_ci95 is not None
    assert alone.speed_ci95[0] < launches.speed_ci95[0]
    # The same difference on a machine whose runs are alike is one of the machine.
    calm = run_scatter([[run_values(rng, 0.001, 0.01) for _ in range(20)]])
    found = decide([SidePair(one, other, separate=True, scatter=calm)], MARGIN)[0]
    assert (found.verdict, found.in_runs) == ("faster", None)


def test_a_difference_under_other_processes_is_open() -> None:
    rng = np.random.default_rng(5)
    one, other = run_values(rng, 0.0, 0.01), run_values(rng, 0.0, 0.01, level=2.0)
    found = [
        decide([SidePair(one, other, separate=True, disturbed=disturbed)], MARGIN)[0]
        for disturbed in (False, True)
    ]
    assert [each.verdict for each in found] == ["faster", "open"]
    assert found[1].in_runs == "faster"


def test_a_significant_difference_within_the_margin_is_the_same() -> None:
    rng = np.random.default_rng(6)
    one, other = run_values(rng, 0.0, 1e-4), run_values(rng, 0.0, 1e-4, level=1.004)
    found = decide([SidePair(one, other)], MARGIN)[0]
    assert found.p is not None
    assert found.p < 0.001
    assert found.verdict == "same"


def test_equal_runs_of_a_machine_whose_runs_differ_are_seldom_called_different() -> None:
    """100 pairs of 5 cells, whose runs scatter by twice the launches: 5% at most."""
    rng = np.random.default_rng(7)
    differing = 0
    for _ in range(100):
        pairs = []
        for _ in range(5):
            others = [run_values(rng, 0.02, 0.01) for _ in range(8)]
            one, other = run_values(rng, 0.02, 0.01), run_values(rng, 0.02, 0.01)
            pairs.append(SidePair(one, other, separate=True, scatter=run_scatter([others])))
        differing += any(each.verdict in ("faster", "slower") for each in decide(pairs, MARGIN))
    assert differing <= 11  # more have a chance of 0.5% at 5%


def test_the_proposed_runs_decide() -> None:
    """In eight of ten cases, with a known difference and scatter, by sessions of that number."""
    scatter = RunScatter(0.02**2 + 0.01**2 / 6, 0.01**2 / 6, 50, 51)
    rng = np.random.default_rng(8)
    one = np.exp(0.01 * rng.standard_normal(6))
    found = run_difference(one, 1.04 * one, scatter)
    assert found is not None
    number = runs_needed(found, 1.04, MARGIN, 1)
    assert number is not None
    decided = 0
    for _ in range(100):
        sides = [
            np.array([np.median(run_values(rng, 0.02, 0.01, level=level)) for _ in range(number)])
            for level in (1.0, 1.04)
        ]
        decided += decide([SidePair(*sides, unit="sessions")], MARGIN)[0].verdict == "faster"
    assert 65 <= decided <= 95


def test_no_number_of_runs_shows_nothing() -> None:
    scatter = RunScatter(0.5**2, 0.01**2 / 6, 50, 51)
    one = np.exp([0.0, 0.01, 0.02])
    found = run_difference(one, one * 1.001, scatter)
    assert found is not None
    assert runs_needed(found, 1.001, MARGIN, 10) is None

"""The walltime to request: exact ranks, the tail model's formula, costs counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.errors import AssayError
from assay.stats.repeats.walltime import asked_walltime, cost_of_asking, fewest_runs, unseen_share


def test_how_many_runs_need_no_model() -> None:
    assert fewest_runs(0.99, 0.95) == 299
    assert fewest_runs(0.95, 0.95) == 59
    assert 1 - 0.99**299 >= 0.95 > 1 - 0.99**298


@pytest.mark.parametrize("n", [299, 473, 1000, 5000])
def test_with_enough_runs_an_order_statistic_bounds_the_quantile(n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.permutation(np.arange(1.0, n + 1.0))
    found = asked_walltime(values)
    rank = int(found.seconds)
    # Fewer than the rank lie below the quantile with at least 95%, and no lower rank would do.
    assert stats.binom.cdf(rank - 1, n, 0.99) >= 0.95 > stats.binom.cdf(rank - 2, n, 0.99)
    assert found.basis == "order statistic"
    assert f"of {n} runs" in found.why


def test_with_fewer_runs_an_exponential_tail_does() -> None:
    values = np.array([100.0] + [v for k in range(1, 11) for v in (99.0, 100.0 + k)])
    found = asked_walltime(values)
    bounds = []
    # 5 of 21 lie above the upper quartile; of the last tenth, and of what is beyond, the last 3.
    for threshold, above in ((105.0, 5), (107.0, 3)):
        mean = 110.0 - threshold - (above - 1) / 2
        scale = 2 * above * mean / stats.chi2.ppf(0.05, 2 * above)
        bounds.append(threshold + scale * math.log(above / 21 / 0.01))
    assert found.basis == "tail model"
    assert found.seconds == pytest.approx(max(bounds))


def test_never_less_than_the_slowest_seen() -> None:
    values = [*np.linspace(100.0, 101.0, 60), 300.0]
    found = asked_walltime(np.random.default_rng(2).permutation(values))
    assert found.seconds >= 300.0
    assert asked_walltime([5.0]).seconds == 5.0
    assert asked_walltime([5.0]).basis == "slowest seen"


def test_the_cost_of_two_sigma_is_counted() -> None:
    values = np.array([3600.0] * 90 + [7200.0] * 10)
    rng = np.random.default_rng(3)
    found = asked_walltime(rng.permutation(values))
    two = found.two_sigma
    deviation = values.std(ddof=1)
    assert two.seconds == pytest.approx(3600.0 + 2.0 * deviation)
    assert (two.killed, two.killed_share) == (10, 0.1)
    assert two.killed_ci95[0] < 0.1 < two.killed_ci95[1]
    assert two.lost_hours == pytest.approx(10 * two.seconds / 3600.0)
    assert two.idle_hours == pytest.approx(90 * (two.seconds - 3600.0) / 3600.0)
    assert found.asked.killed == 0
    assert found.asked.lost_hours == 0.0
    assert found.asked.idle_hours == pytest.approx(
        (90 * (found.seconds - 3600) + 10 * (found.seconds - 7200)) / 3600
    )


def test_dependent_runs_count_for_fewer() -> None:
    rng = np.random.default_rng(4)
    blocks = np.repeat(rng.exponential(1.0, 40), 15) + 10.0 + 1e-3 * rng.standard_normal(600)
    dependent, independent = asked_walltime(blocks), asked_walltime(rng.permutation(blocks))
    assert dependent.effective_n < 200
    assert dependent.basis != "order statistic"
    assert independent.basis == "order statistic"
    assert dependent.seconds > independent.seconds


@given(
    st.lists(st.floats(1.0, 1e4), min_size=1, max_size=50),
    st.floats(0.01, 100.0),
)
def test_the_unit_does_not_matter(values: list[float], unit: float) -> None:
    plain, scaled = asked_walltime(values), asked_walltime([v * unit for v in values])
    assert scaled.seconds == pytest.approx(plain.seconds * unit, rel=1e-6)
    assert plain.seconds >= max(values)


def test_more_certainty_and_a_greater_share_require_more() -> None:
    values = np.random.default_rng(5).lognormal(3.0, 0.1, 80)
    asked = [
        asked_walltime(values, share, confidence).seconds
        for share, confidence in ((0.9, 0.9), (0.99, 0.9), (0.99, 0.95), (0.999, 0.99))
    ]
    assert asked == sorted(asked)


@pytest.mark.parametrize("costs", [[], [0.0, 1.0], [-1.0]])
def test_invalid_times_are_refused(costs: list[float]) -> None:
    with pytest.raises(AssayError):
        asked_walltime(costs)
    with pytest.raises(AssayError):
        asked_walltime([1.0], share=1.0)


def test_costs_of_a_request_are_those_of_a_hundred_runs() -> None:
    found = cost_of_asking([1800.0, 3600.0, 5400.0, 7200.0], 4000.0)
    assert (found.killed, found.killed_share) == (2, 0.5)
    assert found.lost_hours == pytest.approx(50 * 4000 / 3600)
    assert found.idle_hours == pytest.approx(25 * (2200 + 400) / 3600)


@pytest.mark.parametrize(("n", "share"), [(20, "14%"), (60, "5%"), (298, "1%")])
def test_fewer_than_299_runs_say_what_they_assume_and_can_t_exclude(n: int, share: str) -> None:
    assert (1.0 - unseen_share(n)) ** n == pytest.approx(0.05)
    found = asked_walltime(np.random.default_rng(n).normal(100.0, 2.0, n))
    assert found.basis != "order statistic"
    assert "exponentially" in found.why
    assert f"up to {share} of all runs may take longer than any of these" in found.why
    whole = asked_walltime(np.random.default_rng(n).normal(100.0, 2.0, 400))
    assert "may be later" not in whole.why

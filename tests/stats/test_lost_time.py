"""No cause is credited with more time than was lost to it: planted values, and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.steadiness.causes.answer import share_note
from assay.stats.attribution.association import choose
from assay.stats.attribution.attribution import attribute
from assay.stats.attribution.covariates import CAUSES, cause_of
from assay.stats.attribution.explanations import candidates_of
from assay.stats.attribution.importance import averaged_over_orders
from assay.stats.attribution.lost_time import most_lost
from assay.stats.repeats.repeats import Repeats
from repeats_builder import Covariates, make_repeats

COMPETITION = cause_of("competition")
# Of two groups, launches in turn.
HALF = np.arange(80) % 2 == 0


def two_groups(seed: int, waits: float, longer: float, **more: np.ndarray) -> Repeats:
    """Every other launch takes ``longer`` times as long, and waits that share of the time."""
    random = np.random.default_rng(seed)
    cost = np.where(HALF, longer, 1.0) * np.exp(0.01 * random.normal(size=80))
    wait = np.where(HALF, waits, 1e-4) * np.exp(0.1 * random.normal(size=80))
    covariates: Covariates = {"wait_seconds": 2.0 * wait, "worst_wait_seconds": 1.5 * wait}
    return make_repeats(cost, covariates | {k: 2.0 * v for k, v in more.items()})


def test_a_stopped_rank_is_not_one_that_waited() -> None:
    """On a busy machine it waits for a moment whenever it continues: as certainly as it was
    stopped, but for a shorter time.
    """
    for seed in range(12):
        random = np.random.default_rng(100 + seed)
        asleep = np.where(HALF, 0.5, 0.002) * np.exp(0.05 * random.normal(size=80))
        repeats = two_groups(seed, 0.02, 2.0, asleep_seconds=asleep)
        found = choose(np.log(repeats.cost), candidates_of(repeats), 0.01)
        assert found[0].candidate.cause.name == "stopped"
        first, *rest = attribute(repeats).shares
        assert first.cause == "stopped" and first.share > 0.85 and not first.bounded
        assert sum(share.share for share in rest) < 0.1


def test_a_cause_is_limited_by_the_possible_effect_of_its_seconds() -> None:
    """Of a time twice as long, waiting for 5% of it is at most 2 artanh(0.05) / ln 2 = 14.4%."""
    found = attribute(two_groups(1, 0.05, 2.0))
    (share,) = found.shares
    assert share.cause == "competition" and share.bounded
    most = 2.0 * math.atanh(0.05) / math.log(2.0)
    adjusted = 1.0 - (1.0 - most) * 79.0 / 78.0
    assert share.share == pytest.approx(adjusted, rel=0.05)
    assert found.unexplained == pytest.approx(1.0 - share.share)
    assert "limited to what these lost seconds can explain" in share_note(share)


def test_what_the_seconds_account_for_is_counted_whole() -> None:
    for waits in (0.05, 0.3, 0.6):
        (share,) = attribute(two_groups(2, waits, 1.0 / (1.0 - waits))).shares
        assert share.cause == "competition" and not share.bounded
        assert share.share > 0.8
        assert "can have made" not in share_note(share)


def test_an_effect_beyond_a_bounded_cause_is_named_with_the_rest() -> None:
    """Others take caches and memory too: more than the ranks were seen to wait for."""
    for seed in range(6):
        random = np.random.default_rng(200 + seed)
        others = np.where(HALF, 2.0, 1.0) + 0.6 * random.normal(size=80)
        repeats = two_groups(seed, 0.17, 2.0, other_cpu_seconds=np.maximum(others, 0.0))
        shares = attribute(repeats).shares
        assert [share.cause for share in shares] == ["competition", "neighbours"]
        assert shares[0].share == pytest.approx(0.5, abs=0.05)
    # A covariate more closely correlated explains it alone.
    others = np.where(HALF, 2.0, 0.1) * np.exp(0.1 * random.normal(size=80))
    first, *rest = attribute(two_groups(3, 0.05, 2.0, other_cpu_seconds=others)).shares
    assert first.cause == "neighbours" and first.share > 0.8
    assert sum(share.share for share in rest) < 0.16


def test_ranks_that_wait_one_after_another_lose_the_sum_of_their_waits() -> None:
    """Four ranks, each held up for 5% of the time while the others wait for it."""
    wait = np.where(HALF, 0.2, 1e-4)
    cost = np.exp(0.002 * np.random.default_rng(4).normal(size=80)) / (1.0 - wait)
    covariates = {"wait_seconds": 2.0 * wait, "worst_wait_seconds": 0.5 * wait}
    (share,) = attribute(make_repeats(cost, covariates)).shares
    assert share.cause == "competition" and share.share > 0.9 and not share.bounded
    # Of the one that waited longest it is only known that none waited longer.
    del covariates["wait_seconds"]
    (share,) = attribute(make_repeats(cost, covariates)).shares
    assert share.share > 0.9 and not share.bounded


def test_the_maximum_that_can_be_lost() -> None:
    covariates = {
        "wait_seconds": np.array([0.0, 0.2, 1.0]),
        "worst_wait_seconds": np.full(3, 0.125),
    }
    found = most_lost(make_repeats(np.ones(3), covariates), COMPETITION)
    # Per second of two; of the thread that waited longest there are four.
    assert found == pytest.approx(2.0 * np.arctanh([0.0, 0.1, 0.25]))
    placement = Placement(nodes=2, ppn=1, threads=3)
    cell = Cell("npb.ep", {"class": "A"}, placement, "embedded")
    wide = most_lost(make_repeats(np.ones(3), covariates, cell=cell), COMPETITION)
    assert wide == pytest.approx(2.0 * np.arctanh([0.0, 0.1, 0.375]))


def test_where_nothing_bounds() -> None:
    bare = make_repeats(np.ones(3), {"tcp_retransmits": np.ones(3)})
    assert all(most_lost(bare, cause) is None for cause in CAUSES)
    all_lost = make_repeats(np.ones(3), {"steal_seconds": np.array([0.1, 0.2, 2.0])})
    assert most_lost(all_lost, cause_of("steal")) is None
    holes = np.where(np.arange(10) % 3 == 0, np.nan, 0.1)
    assert most_lost(make_repeats(np.ones(10), {"steal_seconds": holes}), cause_of("steal")) is None


@given(
    losses=st.lists(st.floats(0.0, 100.0), min_size=1, max_size=30),
    work=st.floats(0.01, 100.0),
)
def test_no_median_is_further_up_than_the_bound(losses: list[float], work: float) -> None:
    """A launch's cost is its samples' median, its covariates are of all its samples."""
    lost = np.array(losses)
    span = lost.size * work + lost.sum()
    covariates = {"sampling_seconds": np.array([span]), "wait_seconds": np.array([lost.sum()])}
    found = most_lost(make_repeats(np.ones(1), covariates), COMPETITION)
    if found is not None:
        assert math.log(float(np.median(work + lost)) / work) <= found[0] + 1e-9


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), limit=st.floats(0.0, 2.0))
def test_limited_coefficients_are_least_squares_within_bounds(seed: int, limit: float) -> None:
    """Against SciPy's solver: of one limited regressor beside a free one."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(30, 2))
    x[:, 1] += x[:, 0]
    x -= x.mean(axis=0)
    y = x @ random.normal(size=2) + 0.3 * random.normal(size=30)
    y -= y.mean()
    data = np.concatenate([np.ones((30, 1)), y[:, None], x], axis=1)
    grams = (data.T @ data)[None]
    limits = np.array([limit, np.inf])

    def adjusted(columns: list[int]) -> float:
        if not columns:
            return 0.0
        fit = lsq_linear(x[:, columns], y, (-np.inf, limits[columns]), tol=1e-14)
        rest = 1.0 - float(y @ x[:, columns] @ fit.x) / float(y @ y)
        return 1.0 - max(rest, 0.0) * 29.0 / (29.0 - len(columns))

    found = averaged_over_orders(grams, [1, 1], [0, 0], limits)[0]
    both, one, other = adjusted([0, 1]), adjusted([0]), adjusted([1])
    expected = [0.5 * (one + both - other), 0.5 * (other + both - one)]
    assert found == pytest.approx(expected, abs=1e-6)

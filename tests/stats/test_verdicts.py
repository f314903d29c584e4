"""Verdicts on pairs of sides: planted differences, dependence of launches, ratios of codes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats.compare.two_sides import contributions, mean_ratio, ratio_of_sides, widened
from assay.stats.compare.verdicts import SidePair, decide, shared_worth
from assay.stats.core.intervals import Estimate

Rng = np.random.Generator


def autoregressive(rng: Rng, n: int, by: float) -> np.ndarray:
    """Times with a CoV of 2% whose successive logarithms are correlated by ``by``."""
    noise = rng.standard_normal(n)
    noise[1:] *= math.sqrt(1.0 - by**2)
    for place in range(1, n):
        noise[place] += by * noise[place - 1]
    return np.exp(0.02 * noise)


def pairs(seed: int, cells: int, n: int, by: float = 0.0) -> list[SidePair]:
    rng = np.random.default_rng(seed)
    return [SidePair(autoregressive(rng, n, by), autoregressive(rng, n, by)) for _ in range(cells)]


def test_dependence_is_seen_over_all_cells_though_not_in_one() -> None:
    dependent, independent = pairs(1, 30, 6, 0.5), pairs(1, 30, 6)
    assert shared_worth(dependent[:1]) == 1.0
    assert shared_worth(independent) == 1.0
    worth = shared_worth(dependent)
    # Of six values with a correlation of 0.5 the mean has this share of the information.
    lags = np.arange(1, 6)
    inflation = 1.0 + 2.0 * np.sum((1.0 - lags / 6.0) * 0.5**lags)
    true = (6.0 - inflation) / 5.0 / inflation
    assert true == pytest.approx(0.312, abs=0.001)
    # The bias of short series is corrected for only in part.
    assert true < worth < 0.8


def test_dependent_launches_widen_intervals_and_raise_p() -> None:
    dependent = pairs(1, 8, 8, 0.8)
    worth = shared_worth(dependent)
    assert worth < 0.6
    alone = decide(dependent[:1], 0.01)[0]
    among = decide(dependent, 0.01)[0]
    assert alone.speed == among.speed
    assert alone.p is not None
    assert among.p is not None
    assert among.p > alone.p
    assert alone.speed_ci95 is not None
    assert among.speed_ci95 is not None
    for one, other in zip(alone.speed_ci95, among.speed_ci95, strict=True):
        ratio = math.log(other / among.speed) / math.log(one / alone.speed)
        assert ratio == pytest.approx(1.0 / math.sqrt(worth))
    assert among.worth == worth


@pytest.mark.long
def test_equal_dependent_sides_are_seldom_called_different() -> None:
    """Of 40 A/A pairs at a correlation of 0.5; without the discount more than half are."""
    differing = sum(
        any(each.verdict in ("faster", "slower") for each in decide(pairs(seed, 30, 6, 0.5), 0.01))
        for seed in range(40)
    )
    assert differing <= 8


@pytest.mark.long
def test_equality_is_wrongly_claimed_in_at_most_a_twentieth() -> None:
    """The true ratio is just outside of the margin, in 300 cells of twelve launches."""
    for by in (0.0, 0.3):
        claimed = 0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            planted = [
                SidePair(
                    autoregressive(rng, 12, by) ** 0.3, 1.0101 * autoregressive(rng, 12, by) ** 0.3
                )
                for _ in range(30)
            ]
            claimed += sum(each.verdict == "same" for each in decide(planted, 0.01))
        assert claimed <= 24  # of 300; 15 are 5%, more than 24 have a chance of 1%


def test_other_codes_have_no_verdict_unless_their_ratio_is_known() -> None:
    rng = np.random.default_rng(4)
    one, other = (factor * np.exp(0.002 * rng.standard_normal(8)) for factor in (1.0, 4.2))
    known, unknown, exact, vague = (
        SidePair(one, other, comparable=False),
        SidePair(one, other, comparable=False),
        SidePair(one, other, code_factor=Estimate(4.0, (3.98, 4.02))),
        SidePair(one, other, code_factor=Estimate(4.0, (3.0, 5.0))),
    )
    found = decide([known, unknown, exact, vague], 0.01)
    assert [each.verdict for each in found] == ["none", "none", "faster", "open"]
    assert found[0].p is None
    assert found[0].speed == pytest.approx(4.2, rel=0.005)
    assert found[2].speed == pytest.approx(1.05, rel=0.005)
    assert found[2].speed_ci95 is not None
    assert found[2].speed_ci95[0] < 1.05 < found[2].speed_ci95[1]
    alike = SidePair(one, other / 1.05, code_factor=Estimate(4.0, (3.99, 4.01)))
    assert decide([alike], 0.01)[0].verdict == "same"


def test_pairs_without_verdict_do_not_count_as_comparisons() -> None:
    rng = np.random.default_rng(5)
    tested = SidePair(np.exp(0.01 * rng.standard_normal(6)), np.exp(0.01 * rng.standard_normal(6)))
    other = SidePair(tested.one, tested.other, comparable=False)
    (alone,) = decide([tested], 0.01)
    among = decide([tested, *[other] * 20], 0.01)[0]
    assert among.p_corrected == alone.p_corrected == alone.p
    assert among.more == alone.more


def test_the_effect_is_the_share_of_pairs_in_which_the_other_is_faster() -> None:
    (found,) = decide([SidePair(np.array([1.0, 2.0]), np.array([1.0, 3.0]))], 0.01)
    assert found.effect == (0.5 + 1.0 + 0.0 + 1.0) / 4.0


def test_widening_keeps_the_estimate_and_scales_the_logarithms() -> None:
    ratio, interval = ratio_of_sides([1.0, 1.1, 1.2, 1.3], [2.0, 2.1, 2.2, 2.3])
    assert ratio is not None
    assert interval is not None
    assert widened(ratio, interval, 1.0) == pytest.approx(interval)
    low, high = widened(ratio, interval, 0.25)
    assert low == pytest.approx(ratio * (interval[0] / ratio) ** 2)
    assert high == pytest.approx(ratio * (interval[1] / ratio) ** 2)


def test_contributions_multiply_to_the_mean_and_their_shares_add_up() -> None:
    one = [np.array([1.0]), np.array([2.0]), np.array([5.0])]
    other = [np.array([2.0]), np.array([1.0]), np.array([40.0])]
    found = contributions(one, other)
    mean, _ = mean_ratio(one, other)
    assert math.prod(factor for factor, _ in found) == pytest.approx(mean) == 2.0
    # Logarithms of base 2: 1, -1 and 3.
    assert [share for _, share in found] == pytest.approx([1 / 3, -1 / 3, 1.0])
    assert [share for _, share in contributions(one[:2], other[:2])] == [None, None]


def measured_factor(rng: Rng) -> Estimate:
    """A factor of codes of 4 with its interval, as eight launches of both measured it."""
    fast, slow = (np.exp(0.02 * rng.standard_normal(8)) for _ in range(2))
    value, interval = ratio_of_sides(fast, 4.0 * slow)
    assert value is not None
    return Estimate(value, interval)


def single(rng: Rng, machine: float) -> SidePair:
    """Eight launches, and the exact value of a machine whose ratio is ``machine``."""
    launches = np.exp(0.02 * rng.standard_normal(8))
    return SidePair(launches, np.array([4.0 * machine]), code_factor=measured_factor(rng))


def test_a_single_exact_number_is_seldom_called_different_where_it_is_not() -> None:
    rng = np.random.default_rng(7)
    found = [decide([single(rng, 1.0)], 0.01)[0] for _ in range(400)]
    assert {each.verdict for each in found} == {"open"}
    # 5% at most, with the 99% limit of 400 trials.
    assert sum(each.if_exact is not None for each in found) <= 31
    # Several at once: any of ten in 5%, with the limit of 100 trials.
    several = [decide([single(rng, 1.0) for _ in range(10)], 0.01) for _ in range(100)]
    assert sum(any(each.if_exact for each in those) for those in several) <= 11


def test_a_single_exact_number_shows_a_difference_under_its_condition() -> None:
    rng = np.random.default_rng(8)
    for machine, word in ((1.2, "faster"), (1.0 / 1.2, "slower")):
        found = [decide([single(rng, machine)], 0.01)[0] for _ in range(50)]
        assert [each.if_exact for each in found] == [word] * 50
        assert {(each.verdict, each.p, each.p_corrected) for each in found} == {
            ("open", None, None)
        }
    # Without a factor of codes, and with several values, there is no condition.
    one, other = np.linspace(1.0, 1.01, 8), np.array([2.0])
    assert decide([SidePair(one, other)], 0.01)[0].if_exact is None
    several = SidePair(one, 2.0 * one, code_factor=Estimate(1.0, (0.99, 1.01)))
    assert decide([several], 0.01)[0].if_exact is None
    # Two values have no interval, so that their ratio to the number has none either.
    assert decide([SidePair(one[:1], other, code_factor=several.code_factor)], 0.01)[0].speed

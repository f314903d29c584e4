"""The number of samples per launch: against brute force, and planted two-level variation."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist, median

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.model.replication import Replication
from assay.stats.cells.effort import (
    AGREEING,
    MIN_LAUNCHES,
    OF_NO_ACCOUNT,
    LaunchEffort,
    LaunchVariation,
    levels_of,
    most_samples,
    requested_at,
)
from assay.stats.cells.launch_rule import SPACING as LOOKS_APART

# A precision that any launch reaches, so that only time matters.
ANY = Replication(precision=1e3, min_samples=1, max_samples=1_000_000, max_launches=1_000_000)
RULE = Replication()
Z = NormalDist().inv_cdf(0.975)


def levels(**changes: float) -> LaunchVariation:
    plain = LaunchVariation(
        between=1e-3, precise=True, within=1e-2, warmup=0, usual=1000, sample=1e-3, beside=0.05
    )
    return replace(plain, **changes)


some_levels = st.builds(
    LaunchVariation,
    between=st.floats(1e-8, 1.0),
    precise=st.just(True),
    within=st.floats(1e-8, 10.0),
    warmup=st.integers(0, 100),
    usual=st.floats(1.0, 4000.0),
    sample=st.floats(1e-6, 10.0),
    beside=st.floats(0.0, 10.0),
)
rules = st.builds(
    Replication,
    precision=st.floats(1e-3, 0.2),
    min_samples=st.integers(1, 20),
    max_samples=st.integers(20, 4000),
    max_launches=st.integers(7, 400),
)


def cost(levels: LaunchVariation, shared: float, steady: int) -> float:
    """Seconds that launches of this many steady samples take to a variance of 1 across them."""
    seconds = levels.beside + shared + (levels.warmup + steady) * levels.sample
    return seconds * (levels.between + levels.within / steady)


@given(some_levels, st.floats(0.0, 10.0))
def test_no_other_number_of_samples_takes_less_time(found: LaunchVariation, shared: float) -> None:
    assume(found.between > AGREEING * found.within / found.usual)
    taken = most_samples(found, shared, math.inf, ANY) - found.warmup
    # The minimum that detects a warm-up, and launches that differ by their samples.
    fewest = max(found.warmup, math.ceil(found.within / found.between), 1)
    tried = {n: cost(found, shared, n) for n in range(fewest, fewest + 3000)}
    if taken in tried:
        # Rounded up: the next lower one may be the better one of the two.
        assert min(tried.values()) in (tried[taken], tried.get(taken - 1))
    else:
        assert min(tried, key=tried.__getitem__) == max(tried)


@given(some_levels, st.floats(0.0, 10.0))
def test_it_takes_no_more_than_twice_the_least_time(found: LaunchVariation, shared: float) -> None:
    assume(found.between > AGREEING * found.within / found.usual)
    steady = replace(found, warmup=0)
    taken = most_samples(steady, shared, math.inf, ANY)
    fixed, dear = (steady.beside + shared) * steady.between, steady.sample * steady.within
    least = (math.sqrt(fixed) + math.sqrt(dear)) ** 2  # of any number, whole or not
    one_more = (cost(steady, shared, taken + 1) - cost(steady, shared, taken)) + steady.sample
    rounding = max(one_more, steady.sample * (steady.between + steady.within))
    assert cost(steady, shared, taken) <= 2.001 * least + rounding


@given(some_levels, st.floats(0.0, 10.0), rules)
def test_the_plans_bounds_hold_and_a_warmup_is_at_most_half(
    found: LaunchVariation, shared: float, rule: Replication
) -> None:
    most = most_samples(found, shared, math.inf, rule)
    assert rule.min_samples <= most <= rule.max_samples
    assert most >= min(2 * found.warmup, rule.max_samples)


@given(some_levels, st.floats(0.0, 10.0), rules, st.floats(1.0, 100.0))
def test_only_ratios_of_costs_matter_and_dear_launches_take_more_samples(
    found: LaunchVariation, shared: float, rule: Replication, times: float
) -> None:
    most = most_samples(found, shared, math.inf, rule)
    slower = replace(found, sample=4.0 * found.sample, beside=4.0 * found.beside)
    assert most_samples(slower, 4.0 * shared, math.inf, rule) == most
    assert most_samples(found, times * shared, math.inf, rule) >= most
    assert most_samples(replace(found, sample=times * found.sample), shared, math.inf, rule) <= most


@given(some_levels, st.floats(0.0, 10.0), rules)
def test_launches_that_agree_are_measured_as_ever(
    found: LaunchVariation, shared: float, rule: Replication
) -> None:
    agreeing = replace(found, between=0.99 * AGREEING * found.within / found.usual)
    assert most_samples(agreeing, shared, math.inf, rule) == rule.max_samples
    assert most_samples(replace(found, between=0.0), shared, math.inf, rule) == rule.max_samples


@given(some_levels, st.floats(0.0, 10.0), rules, st.sampled_from([None, 0.0]))
def test_launches_that_come_to_no_precision_take_a_few_times_what_they_cost(
    found: LaunchVariation, shared: float, rule: Replication, between: float | None
) -> None:
    unknown = replace(found, between=between)
    assert most_samples(unknown, shared, 1e-6, rule) == rule.max_samples
    endless = replace(unknown, precise=False)
    most = most_samples(endless, shared, 1e-6, rule)
    assert most_samples(endless, shared, 4e3 * rule.max_launches * found.sample, rule) >= most
    assert most_samples(endless, shared, math.inf, rule) == rule.max_samples
    if max(rule.min_samples, 2 * found.warmup) < most < rule.max_samples:
        fixed = found.beside + shared + found.warmup * found.sample
        # Were launches all alike, that is a fifth more time than without launching at all.
        alike = cost(replace(endless, between=0.0), shared, most - found.warmup)
        assert alike <= 1.2001 * found.sample * found.within
        assert (most - found.warmup - 1) * found.sample <= 5.0 * fixed * 1.0001


@given(some_levels, st.floats(0.0, 10.0), rules)
def test_the_launches_allowed_reach_the_precision_if_samples_can_bring_it_about(
    found: LaunchVariation, shared: float, rule: Replication
) -> None:
    most = most_samples(found, shared, math.inf, rule)
    steady = most - found.warmup
    if most == rule.max_samples:
        return
    variance = found.between + found.within / steady
    needed = math.pi / 2 * variance * (Z / rule.precision) ** 2
    of_no_account = found.within / steady <= OF_NO_ACCOUNT * found.between * 1.001
    assert needed <= rule.max_launches / LOOKS_APART * 1.001 or of_no_account


def test_where_time_is_too_short_for_the_launches_allowed_it_is_put_to_the_best_use() -> None:
    # 20% between launches: no number of them comes to 1%.
    rule = Replication(max_launches=400)
    far = levels(between=0.04, within=0.04 * 9, sample=0.01, beside=0.04)
    # Six or nine samples would do if their bias were negligible at the precision reached after 10
    # s.
    assert 9 <= most_samples(far, 0.0, 10.0, rule) <= 18
    # In an hour all launches are had, and then samples until they make no difference; a second a
    # launch is enough for some of them.
    assert most_samples(far, 0.0, 3600.0, rule) == pytest.approx(9 / OF_NO_ACCOUNT, abs=1)
    assert most_samples(far, 0.0, 400.0, rule) == pytest.approx((1.0 - 0.04) / 0.01, abs=1)


def test_the_median_of_few_skewed_samples_is_not_taken_for_theirs() -> None:
    # Exponential samples with median 1, of which few are the cheapest; 1% is asked, and a quarter
    # of it may be wrong.
    dear = levels(between=0.5, within=math.log(2) ** -2, sample=1.0, beside=1.0)
    rule = Replication(max_launches=1_000_000)
    half = most_samples(dear, 0.0, math.inf, rule) // 2
    # The mean of the middle one of 2 * half + 1 (Renyi 1953).
    middle = sum(1.0 / k for k in range(half + 1, 2 * half + 2)) / math.log(2)
    assert 0.2 * rule.precision < middle - 1.0 < 0.26 * rule.precision
    loose = msgspec.structs.replace(rule, precision=1e3)
    assert most_samples(dear, 0.0, math.inf, loose) == rule.min_samples


def test_it_is_asked_at_spaced_numbers_of_launches() -> None:
    points = sorted({requested_at(launches) for launches in range(31)})
    assert points == [0, 1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30]
    assert [requested_at(launches) for launches in (0, 2, 3, 6, 8, 29)] == [0, 2, 3, 5, 7, 24]


def planted(
    rng: np.random.Generator, counts: list[int], between: float, within: float
) -> list[LaunchEffort]:
    """Launches of two levels: standard deviations between them and of a sample."""
    sizes = []
    for count in counts:
        values = 1.0 + between * rng.normal() + within * rng.normal(size=count)
        # An ideal interval of a median: its true width.
        width = Z * within * math.sqrt(math.pi / 2 / count)
        sizes.append(
            LaunchEffort(
                value=2e-6 * float(np.median(values)),
                half_width=width if count >= 6 else None,
                samples=count,
                warmup=0,
                sampling=0.02 + 1e-3 * count,
                wall=0.05 + 1e-3 * count,
            )
        )
    return sizes


@pytest.mark.parametrize(
    "between", [0.03, *(pytest.param(each, marks=pytest.mark.long) for each in (0.01, 0.1))]
)
def test_planted_levels_are_found_whatever_launches_took(between: float) -> None:
    rng = np.random.default_rng(7)
    # Long ones first, as a campaign has them, then ones whose own share is not small.
    counts = [400] * 3 + [5] * 20 + [50] * 17
    found = [levels_of(planted(rng, counts, between, 0.05), RULE) for _ in range(300)]
    assert all(found)
    deviations = sorted(math.sqrt(each.between) for each in found if each)
    assert median(deviations) == pytest.approx(between, rel=0.2)
    assert deviations[75] > 0.3 * between
    assert deviations[-75] < 1.6 * between
    for each in found:
        assert each is not None
        assert each.within == pytest.approx(math.pi / 2 * 0.05**2)
        assert each.usual == 400
        # Samples are timed where there were many, so that what comes before them counts as such.
        assert each.sample == pytest.approx(1e-3 + 0.02 / 400)
        assert each.beside == pytest.approx(0.03)


def test_launches_that_differ_by_their_samples_alone_are_seldom_taken_to_differ() -> None:
    rng = np.random.default_rng(11)
    rule = Replication(max_launches=400)
    short = 0
    for _ in range(500):
        found = levels_of(planted(rng, [300] * 9, 0.0, 0.05), RULE)
        assert found is not None
        short += most_samples(found, 0.01, math.inf, rule) < rule.max_samples
    assert short <= 10


def test_disturbed_launches_have_no_say() -> None:
    rng = np.random.default_rng(13)
    launches = planted(rng, [100] * 20, 0.02, 0.05)
    calm = levels_of(launches, RULE)
    wild = [replace(each, value=20.0 * each.value) if k % 5 == 2 else each
            for k, each in enumerate(launches)]  # fmt: skip
    found = levels_of(wild, RULE)
    assert calm is not None and found is not None
    assert found.between < 4.0 * calm.between
    unsure = [replace(each, half_width=20.0 * (each.half_width or 0.0)) if k % 5 == 2 else each
              for k, each in enumerate(launches)]  # fmt: skip
    found = levels_of(unsure, RULE)
    assert found is not None
    assert found.within == pytest.approx(calm.within)


def test_unreported_values_are_not_estimated() -> None:
    rng = np.random.default_rng(17)
    launches = planted(rng, [100] * MIN_LAUNCHES, 0.02, 0.05)
    assert levels_of(launches, RULE) is not None
    fewer = levels_of(launches[1:], RULE)
    assert fewer is not None and fewer.between is None
    assert levels_of([replace(each, half_width=None) for each in launches], RULE) is None
    assert levels_of([replace(each, value=0.0) for each in launches], RULE) is None
    assert levels_of([], RULE) is None


def test_equal_samples_and_launches_have_no_variance() -> None:
    same = [LaunchEffort(1.0, 0.0, 100, 0, 0.1, 0.1)] * 5
    found = levels_of(same, RULE)
    assert found is not None
    assert (found.between, found.within) == (0.0, 0.0)
    assert most_samples(found, 0.1, math.inf, RULE) == RULE.max_samples
    # Equal samples of launches that differ: the fewest will do.
    assert most_samples(replace(found, between=0.1), 0.1, 1.0, RULE) == RULE.min_samples

"""Causes planted in synthetic results are found with their shares; clean ones name nothing."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.stats.attribution.association import effective_pairs
from assay.stats.attribution.attribution import LEAST, CauseShare, attribute
from assay.stats.attribution.covariates import (
    CAUSES,
    HOSTS,
    cause_of,
    scaled_covariate,
    unit_of,
)
from assay.stats.attribution.explanations import normal_scores
from assay.stats.attribution.importance import averaged_over_orders
from repeats_builder import make_repeats, planted


def test_planted_shares_are_recovered() -> None:
    found = attribute(planted(400, 1, worst_wait_seconds=0.5, memory_available=0.3))
    assert [share.cause for share in found.shares] == ["competition", "memory"]
    wait, memory = found.shares
    assert wait.ci95[0] <= 0.5 <= wait.ci95[1]
    assert memory.ci95[0] <= 0.3 <= memory.ci95[1]
    assert found.unexplained_ci95[0] <= 0.2 <= found.unexplained_ci95[1]
    assert sum(s.share for s in found.shares) + found.unexplained == pytest.approx(1.0)
    assert (wait.sign, memory.sign) == (1, -1)
    assert wait.quick < wait.slow and memory.quick > memory.slow
    assert wait.unit == "1" and memory.unit == "B"
    assert found.n == 400 and found.effective_n > 300
    assert found.deviation == pytest.approx(0.03, rel=0.15)


def test_the_sentence_names_share_cause_and_observation() -> None:
    (share,) = attribute(planted(200, 2, steal_seconds=0.9)).shares
    assert share.sentence.startswith(f"{100 * share.share:.0f}%")
    assert "is explained by steal time: the hypervisor gave the CPUs" in share.sentence
    assert "in the fastest quarter of the launches" in share.sentence


def test_the_clock_of_a_device_is_a_cause() -> None:
    (share,) = attribute(planted(200, 21, device_clock=0.9)).shares
    assert share.cause == "device clock" and share.unit == "Hz"
    # Slower launches have a lower clock, and throttle more.
    assert share.sign == -1 and share.quick > share.slow
    (other,) = attribute(planted(200, 22, device_throttled=0.9)).shares
    assert other.cause == "device clock" and other.sign == 1 and other.unit == "1"


def test_twenty_measurements_show_a_strong_cause_and_fewer_nothing() -> None:
    enough = planted(LEAST, 3, steal_seconds=0.95)
    assert [s.cause for s in attribute(enough).shares] == ["steal"]
    few = attribute(enough.take(np.arange(LEAST - 1)))
    assert few.shares == [] and few.unexplained == 1.0
    assert "too few" in few.silent


def test_unattributable_cells_are_reported() -> None:
    same = attribute(make_repeats(np.ones(40), {"steal_seconds": np.arange(40.0)}))
    assert same.silent == "its values did not vary" and same.shares == []
    wrong = attribute(make_repeats(np.linspace(-1.0, 1.0, 40), {}))
    assert "not positive" in wrong.silent
    bare = attribute(planted(40, 4))
    assert bare.silent == "" and bare.shares == [] and bare.unexplained == 1.0


def test_a_rate_counts_by_its_cost() -> None:
    """A bandwidth that falls as steal grows: the same as a time that grows."""
    time = planted(100, 5, steal_seconds=0.8)
    rate = replace(time, values=1.0 / time.values, unit="B/s", better="more")
    assert attribute(rate).shares[0].share == pytest.approx(attribute(time).shares[0].share)


def test_more_of_a_slowing_covariate_is_no_cause_of_speed() -> None:
    slow = planted(100, 6, steal_seconds=0.8)
    quick = replace(slow, values=1.0 / slow.values)
    assert [s.cause for s in attribute(slow).shares] == ["steal"]
    assert attribute(quick).shares == []


def test_a_direct_cause_leaves_nothing_to_its_own_cause() -> None:
    """CPU time of other processes makes ranks wait, which slows them: the wait is named, once."""
    random = np.random.default_rng(7)
    others = random.gamma(4.0, 0.5, 200)
    wait = others * np.exp(0.2 * random.normal(size=200))
    cost = np.exp(0.03 * (wait + 0.3 * random.normal(size=200)))
    around = {
        "other_cpu_seconds": others,
        "cpu_pressure_seconds": others * np.exp(0.05 * random.normal(size=200)),
        "worst_wait_seconds": wait,
        "involuntary_switches": random.poisson(20.0 * wait).astype(float),
    }
    found = attribute(make_repeats(cost, around))
    assert [s.covariate for s in found.shares] == ["worst_wait_seconds"]
    # Without the direct one, what is left is named.
    del around["worst_wait_seconds"], around["involuntary_switches"]
    assert [s.cause for s in attribute(make_repeats(cost, around)).shares] == ["neighbours"]


def test_covariates_during_sleep_do_not_displace_its_cause() -> None:
    """On a busy node other processes use the CPU of a rank that lacks memory: this correlates with
    the cost more closely than the lack of memory, and explains slightly more.
    """
    for seed in range(20):
        random = np.random.default_rng(seed)
        short = np.where(np.arange(48) % 2 == 0, 1.0, 0.0)
        log_cost = 2.0 * short * np.exp(0.1 * random.normal(size=48))
        log_cost += 0.1 * random.normal(size=48)
        covariates = {
            "memory_pressure_seconds": 0.2 * short * np.exp(0.2 * random.normal(size=48)),
            "other_cpu_seconds": 2.0 + log_cost + 0.02 * random.normal(size=48),
        }
        shares = attribute(make_repeats(np.exp(log_cost), covariates)).shares
        assert shares[0].cause == "memory"


def test_waiting_is_the_effect_of_a_quota() -> None:
    """Throttled threads wait: nearly as long as other processes make them wait."""
    random = np.random.default_rng(23)
    held = np.where(np.arange(60) % 2 == 0, 0.5, 0.0) * (0.9 + 0.2 * random.random(60))
    wait = held + 0.01 * random.random(60)
    cost = np.exp(wait + 0.002 * random.normal(size=60))
    covariates = {"worst_wait_seconds": wait, "quota_seconds": held}
    assert [s.cause for s in attribute(make_repeats(cost, covariates)).shares] == ["quota"]
    covariates["quota_seconds"] = np.zeros(60)
    assert [s.cause for s in attribute(make_repeats(cost, covariates)).shares] == ["competition"]


def test_counts_replace_only_unknown_times() -> None:
    random = np.random.default_rng(20)
    often = random.poisson(5.0, 100).astype(float)
    cost = np.exp(0.01 * often + 0.005 * random.normal(size=100))
    count = {"involuntary_switches": often}
    assert [s.covariate for s in attribute(make_repeats(cost, count)).shares] == [
        "involuntary_switches"
    ]
    covariates = count | {"wait_seconds": 0.01 * random.random(100)}
    assert attribute(make_repeats(cost, covariates)).shares == []


def test_sleep_is_the_effect_of_short_memory() -> None:
    random = np.random.default_rng(21)
    short = np.where(np.arange(80) % 2 == 0, 1.0, 0.0)
    asleep = short + 0.05 * random.random(80)
    cost = np.exp(asleep + 0.02 * random.normal(size=80))
    pressure = short * (0.2 + random.random(80))
    covariates = {"memory_pressure_seconds": pressure, "asleep_seconds": asleep}
    found = attribute(make_repeats(cost, covariates | {"io_pressure_seconds": asleep**2}))
    assert [s.cause for s in found.shares] == ["memory"]
    assert [s.cause for s in attribute(make_repeats(cost, {"asleep_seconds": asleep})).shares] == [
        "stopped"
    ]


def test_launches_in_two_groups_are_distinguished_by_their_values() -> None:
    """Twelve of 24 are slow; within either group the order is random and weakens ranks."""
    random = np.random.default_rng(22)
    on = np.arange(24) % 2 == 0
    cost = np.where(on, 2.0, 1.0) * np.exp(0.02 * random.normal(size=24))
    covariates = {
        reading.covariate: random.random(24) for cause in CAUSES for reading in cause.readings
    }
    covariates["asleep_seconds"] = np.where(on, 0.8, 0.0) + 0.01 * random.random(24)
    assert [s.cause for s in attribute(make_repeats(cost, covariates)).shares] == ["stopped"]


def test_rare_events_that_make_the_tail_are_found() -> None:
    """Six of 200 launches took twice as long, and only those had retransmissions."""
    random = np.random.default_rng(8)
    slow = np.zeros(200, dtype=bool)
    slow[random.choice(200, 6, replace=False)] = True
    cost = np.exp(0.01 * random.normal(size=200)) * np.where(slow, 2.0, 1.0)
    found = attribute(make_repeats(cost, {"tcp_retransmits": 5.0 * slow}))
    assert [s.cause for s in found.shares] == ["retransmits"]
    assert found.shares[0].share > 0.95


def test_slow_hosts_are_a_separate_cause() -> None:
    random = np.random.default_rng(9)
    hosts = random.choice(["n1", "n2", "n3"], 120)
    log_cost = np.where(hosts == "n3", 0.05, 0.0) + 0.01 * random.normal(size=120)
    repeats = make_repeats(
        np.exp(log_cost), {"steal_seconds": random.random(120)}, hosts=tuple(hosts)
    )
    found = attribute(repeats)
    (share,) = found.shares
    truth = np.var(np.where(hosts == "n3", 0.05, 0.0)) / np.var(log_cost)
    assert share.cause == "hosts" and share.quick is None
    assert share.ci95[0] <= truth <= share.ci95[1]
    assert cause_of("hosts") is HOSTS
    # With three launches a host the hosts explain a third of anything.
    many = replace(repeats, hosts=tuple(f"n{i % 40}" for i in range(120)))
    by_host = np.exp(0.05 * random.normal(size=40))[np.arange(120) % 40]
    assert attribute(replace(many, values=many.values * by_host)).shares == []
    # With one launch per host there is nothing to compare.
    lone = replace(repeats, hosts=tuple(f"n{i}" for i in range(120)))
    assert attribute(lone).shares == []


def test_sessions_hours_and_trend() -> None:
    random = np.random.default_rng(10)
    n = 240
    noise = 0.01 * random.normal(size=n)
    run = tuple(f"run-{i // 60}" for i in range(n))
    utc = 1.79e9 + np.arange(n) * 3600.0 * 24.0 * 10.0 / n + 600.0 * random.random(n)
    later = np.arange(n) >= 120

    def first(log_cost: np.ndarray, **changes: object) -> str:
        shares = attribute(make_repeats(np.exp(log_cost + noise), {}, **changes)).shares
        return shares[0].cause if shares else ""

    daily = np.sin(2.0 * np.pi * utc / 86400.0)
    assert first(0.03 * daily, utc=utc) == "hours"
    # Ten measurements in one night can't distinguish a time of day from other causes.
    assert first(0.03 * daily[:n], utc=1.79e9 + np.arange(n)) != "hours"
    jump = np.where([name == "run-1" for name in run], 0.05, 0.0)
    assert first(jump, run=run) == "sessions"
    assert first(0.05 * np.arange(n) / n) == "trend"
    assert first(0.0 * later) == ""


def test_a_drift_that_both_share_by_chance_is_no_cause() -> None:
    """Two random walks are correlated over long spans: they are worth few independent pairs."""
    named = trends = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        cost = np.exp(0.01 * np.cumsum(random.normal(size=100)))
        memory = 1e10 + 1e8 * np.cumsum(random.normal(size=100))
        found = attribute(make_repeats(cost, {"memory_available": memory}))
        named += any(share.cause == "memory" for share in found.shares)
        trends += any(share.cause == "trend" for share in found.shares)
    # Taken as independent, some 70% of them would be named.
    assert named <= 9
    # Nor is time itself, with which most random walks seem to correlate.
    assert trends <= 9


@pytest.mark.long
def test_clean_cells_name_nothing() -> None:
    """At 1% a cell: of 200 more than 8 would be chance once in 4,000 times (binomial)."""
    named = 0
    for seed in range(200):
        random = np.random.default_rng(1000 + seed)
        n = 30
        covariates = {
            reading.covariate: (
                random.poisson(0.2, n).astype(float)
                if number % 3 == 0
                else np.exp(random.normal(size=n))
            )
            for number, reading in enumerate(r for cause in CAUSES for r in cause.readings)
        }
        cost = np.exp(0.02 * random.standard_t(3, n))
        hosts = tuple(random.choice(["n1", "n2", "n3", "n4"], n))
        named += bool(attribute(make_repeats(cost, covariates, hosts=hosts)).shares)
    assert named <= 8


def test_unknown_values_are_skipped() -> None:
    repeats = planted(100, 11, steal_seconds=0.8)
    holes = dict(repeats.covariates)
    holes["steal_seconds"] = np.where(np.arange(100) % 10 == 0, np.nan, holes["steal_seconds"])
    holes["frequency"] = np.full(100, np.nan)
    holes["clock_rate"] = np.full(100, 2.6e9)
    assert [s.cause for s in attribute(replace(repeats, covariates=holes)).shares] == ["steal"]
    holes["steal_seconds"] = np.where(np.arange(100) % 3 == 0, np.nan, holes["steal_seconds"])
    found = attribute(replace(repeats, covariates=holes))
    assert "steal" not in [s.cause for s in found.shares]


def test_ten_thousand_and_more_measurements() -> None:
    many = planted(30_000, 12, steal_seconds=0.05)
    found = attribute(many)
    assert [s.cause for s in found.shares] == ["steal"] and found.n == 30_000
    low, high = found.shares[0].ci95
    assert 0.03 < low <= 0.05 <= high < 0.07 and high - low > 1e-3


def test_launches_that_depend_on_each_other_widen_the_interval() -> None:
    """The same shares, with both series in runs of ten equal launches: a tenth of the evidence."""
    base = planted(300, 13, steal_seconds=0.6)
    stretched = make_repeats(
        np.repeat(base.values[:60], 5) * np.exp(1e-6 * np.arange(300) % 2),
        {"steal_seconds": np.repeat(base.covariates["steal_seconds"][:60], 5)},
    )
    whole, few = attribute(base), attribute(stretched)
    assert few.effective_n < 0.4 * whole.effective_n

    def width(share: CauseShare) -> float:
        return share.ci95[1] - share.ci95[0]

    assert width(few.shares[0]) > 1.4 * width(whole.shares[0])


# ---- the pieces, against brute force -------------------------------------------------------------


def brute_force_shares(y: np.ndarray, columns: list[np.ndarray], tiers: list[int]) -> list[float]:
    """Adjusted R² gained, over every order in which lower tiers come first, one by one."""

    def adjusted(some: tuple[int, ...]) -> float:
        x = np.stack([np.ones(y.size), *(columns[i] for i in some)], axis=1)
        rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
        total = float(((y - y.mean()) ** 2).sum())
        return 1.0 - float(rest @ rest) / (y.size - 1 - len(some)) / (total / (y.size - 1))

    orders = [
        order
        for order in itertools.permutations(range(len(columns)))
        if all(tiers[a] <= tiers[b] for a, b in itertools.pairwise(order))
    ]
    sums = [0.0] * len(columns)
    for order in orders:
        for place, which in enumerate(order):
            before = order[:place]
            sums[which] += adjusted((*before, which)) - (adjusted(before) if before else 0.0)
    return [total / len(orders) for total in sums]


@pytest.mark.parametrize("tiers", [[0, 0, 0], [0, 1, 1], [2, 0, 1], [1, 0, 1]])
def test_shares_are_averages_over_orders(tiers: list[int]) -> None:
    random = np.random.default_rng(14)
    common = random.normal(size=60)
    columns = [common + random.normal(size=60) for _ in tiers]
    y = columns[0] + 0.5 * columns[1] + random.normal(size=60)
    data = np.stack([np.ones(60), y - y.mean(), *columns], axis=1)
    grams = (data.T @ data)[None]
    found = averaged_over_orders(grams, [1] * len(tiers), tiers)[0]
    assert found == pytest.approx(brute_force_shares(y, columns, tiers), abs=1e-6)


def test_normal_scores_are_quantiles_at_the_ranks() -> None:
    found = normal_scores(np.array([30.0, 10.0, 20.0]))
    # The normal distribution's quantiles at 3/4, 1/4 and 1/2.
    assert found == pytest.approx([0.6744898, -0.6744898, 0.0], abs=1e-6)


def test_normal_scores_have_the_variance_of_permutations() -> None:
    """The mean of squared correlations over all permutations is 1 / (n - 1), ties or not."""
    cost = normal_scores(np.array([3.0, 1.0, 2.0, 9.0, 4.0, 5.0]))
    for other in ([0.0, 0.0, 0.0, 0.0, 1.0, 7.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]):
        x = normal_scores(np.array(other))
        squares = [
            (x @ np.array(order)) ** 2 / ((x @ x) * (cost @ cost))
            for order in itertools.permutations(cost)
        ]
        assert np.mean(squares) == pytest.approx(1.0 / 5.0)


def test_effective_pairs_of_autoregressive_series() -> None:
    """n (1 - ab) / (1 + ab) of two AR(1) with coefficients a and b, in the mean (Bartlett)."""
    found = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        series = np.zeros((2, 3000))
        steps = random.normal(size=(2, 3000))
        for i in range(1, 3000):
            series[:, i] = (0.8, 0.6) * series[:, i - 1] + steps[:, i]
        series -= series.mean(axis=1, keepdims=True)
        found.append(effective_pairs(series[0], series[1]) / 3000.0)
    assert np.mean(found) == pytest.approx((1.0 - 0.48) / (1.0 + 0.48), rel=0.1)
    white = np.random.default_rng(0).normal(size=(2, 1000))
    assert effective_pairs(white[0], white[1]) > 950.0


@settings(max_examples=15)
@given(
    factor=st.floats(1e-9, 1e9),
    names=st.permutations(["steal_seconds", "major_faults", "worst_wait_seconds"]),
)
def test_units_and_order_do_not_matter(factor: float, names: list[str]) -> None:
    base = planted(60, 15, steal_seconds=0.5, worst_wait_seconds=0.3)
    other = replace(
        base,
        values=factor * base.values,
        covariates={"sampling_seconds": base.covariates["sampling_seconds"]}
        | {name: base.covariates[name] for name in names},
    )
    plain = replace(base, covariates={name: base.covariates[name] for name in other.covariates})
    one, two = attribute(plain), attribute(other)
    assert [s.cause for s in one.shares] == [s.cause for s in two.shares]
    for a, b in zip(one.shares, two.shares, strict=True):
        assert a.share == pytest.approx(b.share, rel=1e-6)


def test_covariates_are_reported_per_second_if_they_are_deltas() -> None:
    repeats = make_repeats(
        np.ones(3), {"steal_seconds": np.array([1.0, 2.0, np.nan]), "clock_rate": np.full(3, 2e9)}
    )
    found = scaled_covariate(repeats, "steal_seconds")
    assert found[:2].tolist() == [0.5, 1.0] and np.isnan(found[2])
    assert scaled_covariate(repeats, "clock_rate").tolist() == [2e9] * 3
    assert unit_of("steal_seconds") == "1" and unit_of("major_faults") == "1/s"
    assert unit_of("memory_available") == "B" and unit_of("memory_latency") == "s"


def test_every_covariate_belongs_to_one_cause_or_deliberately_to_none() -> None:
    root = Path(__file__).parents[2]

    source = (root / "native" / "harness" / "covariates.cpp").read_text()
    covariates = set(re.findall(r'\{"(\w+)",\s*"[^"]+",\s*Combine::', source))
    used = [reading.covariate for cause in CAUSES for reading in cause.readings]
    assert len(used) == len(set(used))
    assert set(used) <= covariates
    # Spans, places, consumption that causes nothing, and the CPU time with which the clocks are
    # compared.
    assert covariates - set(used) == {
        "sampling_seconds",
        "online_cpus",
        "energy",
        "device_power",
        "device_energy",
        "device_energy_error",
        "most_waiting_rank",
        "most_asleep_rank",
        "user_seconds",
        "least_cpu_seconds",
    }

"""Evidence against its literal definition, and its rate of false alarms under dependence."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from assay.check.decision.evidence import (
    FAST,
    PATIENT,
    accumulate,
    evidence_limit,
    level_share,
    session_share,
)
from assay.check.decision.model import NodeState, SeriesState
from check_baselines import baseline

NONE = (0.0, 0.0, 0.0, 0.0)
logs = st.floats(-17.0, 0.0)


@pytest.mark.parametrize("exponent", [FAST, PATIENT])
def test_the_factor_has_an_expectation_of_1(exponent: float) -> None:
    found, _ = integrate.quad(lambda p: exponent * p ** (exponent - 1.0), 0.0, 1.0)
    assert found == pytest.approx(1.0, rel=1e-6)


@given(st.lists(logs, min_size=1, max_size=30))
def test_it_is_the_product_that_begins_again_at_1(probabilities: list[float]) -> None:
    found = NONE
    product = 1.0
    limit = 1e9  # so that nothing is capped
    for each in probabilities:
        found = accumulate(found, each, None, limit)
        product = max(product, 1.0) * PATIENT * math.exp(each) ** (PATIENT - 1.0)
    assert found[1] == pytest.approx(math.log(product), abs=1e-6)
    assert found[2:] == (0.0, 0.0)


@given(logs, logs, st.floats(-2.0, 15.0))
def test_a_smaller_probability_is_never_less_evidence(one: float, two: float, old: float) -> None:
    low, high = sorted((one, two))
    before = (old, old, old, old)
    more, less = accumulate(before, low, low, 13.5), accumulate(before, high, high, 13.5)
    assert all(left >= right for left, right in zip(more, less, strict=True))


def test_one_check_never_reaches_the_limit_and_two_may() -> None:
    limit = evidence_limit(1e-4, 9)
    once = accumulate(NONE, -1e9, -1e9, limit)
    assert max(once) < limit
    usual = accumulate(once, 0.0, 0.0, limit)
    assert max(accumulate(usual, -1e9, -1e9, limit)) >= limit


def test_a_repaired_node_loses_its_evidence() -> None:
    limit = evidence_limit(1e-4, 9)
    found = NONE
    for _ in range(100):
        found = accumulate(found, -17.0, -17.0, limit)
    checks = 0
    while max(found) >= limit:
        found = accumulate(found, 0.0, 0.0, limit)
        checks += 1
    assert checks <= 4


@pytest.mark.parametrize("kept", [0.0, 0.7, 0.95])
def test_the_rate_of_alarms_holds_when_checks_depend_on_each_other(kept: float) -> None:
    """Probabilities that are uniform given the past: a fresh part beside a lasting state in which
    they are larger. A literal simulation at a rate of 1%, of which a quarter is for each of four
    accumulators."""
    rng = np.random.default_rng(6)
    stated = 0.01
    limit = evidence_limit(2.0 * stated, 1)  # evidence has half of the rate
    alarms, checks = 0, 40_000
    state, found = 1.0, NONE
    for _ in range(checks):
        if rng.random() > kept:
            state = rng.choice([1.0, 0.5])
        log_p = math.log(max(rng.random(), 1e-12)) * state  # state 0.5: larger probabilities
        found = accumulate(found, log_p, log_p, limit)
        if max(found) >= limit:
            alarms += 1
            found = NONE
    assert alarms / checks <= stated


def test_the_rate_is_divided_among_series() -> None:
    by_evidence = math.exp(-evidence_limit(1e-4, 9)) * 9 * 4
    assumed = (level_share(1e-4, 9) + session_share(1e-4, 9)) * 9
    assert by_evidence + assumed == pytest.approx(1e-4)


def test_a_full_state_is_small() -> None:
    names = [*baseline(gap=True).components, "message_latency", "message_bandwidth", "core.gap"]
    evidence = (1.1, -2.2, 13.3, 15.49)
    series = SeriesState(checks=40, level=-28.123456789, evidence=evidence, counted=1.79e9 + 0.1)
    state = NodeState(anchored=2**31, series=dict.fromkeys(names, series))
    assert len(names) == 9
    encoded = msgspec.msgpack.encode(state)
    assert len(encoded) <= 1000
    assert msgspec.msgpack.decode(encoded, type=NodeState) == state

"""The time of HPL: limits that are known, and how it depends on the machine."""

from __future__ import annotations

import math

import pytest

from assay.models.linpack.time import Coefficients, fitted_coefficients, grids_of
from assay.topologies.kinds import Single
from described.linpack_time import (
    LinpackProblem,
    best_grid,
    half_order_of,
    order_of,
    predict,
    time_of,
)
from described.machine import DescribedMachine
from described.published import helix_test, seth

PLAIN = Coefficients(update=1.0, panel=1.0, hidden=0.0, network=1.0)


def with_values(machine: DescribedMachine, **values: float) -> DescribedMachine:
    return machine.with_values({f"interconnect.{name}": value for name, value in values.items()})


def test_parts_add_up_and_losses_are_their_shares() -> None:
    time = time_of(seth(), LinpackProblem(20_000, 128, 15, 16), PLAIN)
    assert time.seconds == pytest.approx(time.flops / time.rate)
    arithmetic = time.arithmetic / time.seconds
    assert sum(time.losses.values()) + arithmetic == pytest.approx(1.0)
    assert arithmetic == pytest.approx(time.rate / seth().peak)


def test_terms_are_those_of_the_published_model() -> None:
    """Netlib: N² / (2P) words per rank broadcast, 3 N² / (2Q) exchanged, by rows at one adapter."""
    machine = with_values(seth(), latency=1e-15)
    machine = DescribedMachine(machine.name, machine.node, machine.interconnect, Single(120))
    n, p, q, rate = 64_000, 12, 20, machine.interconnect.rate.value
    time = time_of(machine, LinpackProblem(n, 64, p, q, by_column=False), PLAIN)
    # Two ranks of a node share its adapter in columns; in a row one of them sends to the other.
    assert time.swap == pytest.approx(8 * 3 * n**2 / (2 * q) * 2 / rate, rel=0.01)
    inside = machine.node.stream_one.value / 2 / 2
    assert time.broadcast == pytest.approx(8 * n**2 / (2 * p) * max(1 / rate, 1 / inside), rel=0.01)


def test_without_communication_the_rate_is_dgemm() -> None:
    fast = with_values(seth(), latency=1e-15, rate=1e18)
    fast = fast.with_values({"node.stream_one": 1e18})
    found = predict(fast, Coefficients(1.0, 1e9, 0.0, 1.0), 100_000)
    assert found.time.rate == pytest.approx(120 * 5.208e9, rel=0.01)


def test_half_order_reaches_half() -> None:
    values = fitted_coefficients().values
    problem = best_grid(seth(), 116_100, 128, values)
    half = half_order_of(seth(), problem, values)
    at = LinpackProblem(round(half), problem.nb, problem.p, problem.q, problem.by_column)
    whole = time_of(seth(), problem, values).rate
    assert time_of(seth(), at, values).rate == pytest.approx(whole / 2, rel=0.02)


def test_a_slower_network_costs_and_look_ahead_hides() -> None:
    values = fitted_coefficients().values
    machine = seth()
    rate = predict(machine, values, 50_000).time.rate
    assert predict(with_values(machine, rate=50e6), values, 50_000).time.rate < rate
    hidden = Coefficients(values.update, values.panel, 1.0, values.network)
    assert predict(machine, hidden, 50_000).time.rate > rate


def test_grids_are_nearly_square_and_of_all_ranks() -> None:
    assert grids_of(240) == [(8, 30), (10, 24), (12, 20), (15, 16)]
    assert grids_of(7) == [(1, 7)]
    with pytest.raises(ValueError, match="not one of 240 processors"):
        time_of(seth(), LinpackProblem(1000, 64, 2, 2), PLAIN)


def test_the_order_fills_the_memory() -> None:
    n = order_of(helix_test(), 0.8)
    assert 8 * n**2 <= 0.8 * 2 * 2**30 < 8 * (n + 1) ** 2
    assert math.isclose(order_of(helix_test(), 0.2) * 2, n, rel_tol=1e-3)

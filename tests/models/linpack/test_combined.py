"""The combination: bounds, weights by number of nodes, the truncated distribution."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.linpack.combined import (
    LISTED_NODES,
    DescribedNode,
    LinpackSources,
    ListedCurve,
    listed_curve,
)
from assay.models.linpack.time import fitted_coefficients

NODE = DescribedNode(
    sockets=2,
    cores=128,
    peak=5.7e12,
    memory=768 * 2**30,
    year=2026,
    network="200 Gbit/s InfiniBand",
    rate=2.4e10,
    latency=1.3e-6,
)
CURVE = ListedCurve(np.log([1.0, 1000.0]), np.log([8e10, 8e13]), 0.1)


def rate(nodes: float, *, error: float = 0.0, bound: float = 1e11, closed: float = 7e10) -> float:
    sources = LinpackSources(
        nodes=np.array([nodes]),
        closed=np.array([closed * nodes]),
        as_listed=np.array([7e10 * nodes]),
        curve=CURVE,
        bound=np.array([bound * nodes]),
    )
    return float(sources.rate(np.array([error]))[0])


def test_one_node_is_the_closed_form_s_and_sixteen_are_the_lists_() -> None:
    far = 1e20
    assert rate(1, bound=far) == pytest.approx(7e10)
    assert rate(LISTED_NODES, bound=far) == pytest.approx(LISTED_NODES * 8e10)
    assert rate(100, bound=far) == pytest.approx(100 * 8e10)
    # Halfway in the logarithm, both count half.
    assert rate(4, bound=far) == pytest.approx(4 * math.sqrt(7e10 * 8e10))


def test_what_no_list_states_comes_from_the_closed_form() -> None:
    """Slow nodes or a thin middle that cost the closed form 30% cost the prediction 30%."""
    far = 1e20
    assert rate(100, closed=4.9e10, bound=far) == pytest.approx(0.7 * rate(100, bound=far))


def test_each_source_has_its_own_error() -> None:
    far, ninety = 1e20, 1.6448536269514722
    assert rate(100, error=ninety, bound=far) == pytest.approx(8e12 * math.exp(0.1 * ninety))
    width = fitted_coefficients().width_rate
    assert rate(1, error=-ninety, bound=far) == pytest.approx(7e10 * math.exp(-width))


def test_the_distribution_is_truncated_where_dgemm_ends() -> None:
    """Brute force: what is left of draws if those beyond the bound are impossible."""
    random = np.random.default_rng(1)
    bound = 8.3e12
    draws = 8e12 * np.exp(0.1 * random.standard_normal(400_000))
    left = draws[draws < bound]
    for level, error in ((0.05, -1.6449), (0.5, 0.0), (0.95, 1.6449)):
        expected = float(np.quantile(left, level))
        assert rate(100, error=error, bound=bound / 100) == pytest.approx(expected, rel=2e-3)


@settings(max_examples=50, deadline=None)
@given(
    st.floats(1.0, 1000.0),
    st.floats(1e9, 1e12),
    st.floats(-6.0, 6.0),
    st.floats(1e9, 1e12),
)
def test_nothing_is_beyond_the_bound(nodes, bound, error, closed) -> None:
    found = rate(nodes, error=error, bound=bound, closed=closed)
    assert 0.0 < found <= bound * nodes * (1 + 1e-12)
    assert rate(nodes, error=error + 0.5, bound=bound, closed=closed) >= found * (1 - 1e-9)


@pytest.mark.parametrize(
    "node",
    [
        NODE,
        replace(NODE, year=2003, peak=6e9, cores=2, memory=2**31, network="SCI", rate=2e8),
        replace(NODE, cores=64, peak=2.4e14),
        replace(NODE, network="Ethernet", rate=2.9e9),
    ],
)
def test_more_nodes_are_never_slower(node: DescribedNode) -> None:
    curve = listed_curve(node, 2000)
    counts = np.arange(1, 2001).astype(float)
    found = LinpackSources(
        nodes=counts,
        closed=0.75 * node.peak * counts,
        as_listed=0.75 * node.peak * counts,
        curve=curve,
        bound=0.85 * node.peak * counts,
    ).rate(np.zeros(1))
    assert np.all(np.diff(found) >= 0.0)
    assert np.all(found <= 0.85 * node.peak * counts)
    assert found[-1] > 0.2 * node.peak * 2000


def test_a_node_above_any_processor_s_peak_has_accelerators() -> None:
    """Listed systems with NVIDIA accelerators since 2018 reach 58% of peak in the median."""
    assert not NODE.accelerated
    node = replace(NODE, cores=64, peak=2.4e14, memory=2**40, rate=4.8e10)
    assert node.accelerated
    share = math.exp(float(listed_curve(node, 200).at(np.array([60.0]))[0])) / (60 * node.peak)
    assert 0.5 < share < 0.7

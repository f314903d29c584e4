"""Efficiencies, critical path and iterations of traces whose numbers are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.program.critical_path import critical_path, critical_shares
from assay.models.program.efficiency import efficiencies
from assay.models.program.graph import build_graph
from assay.models.program.links import IDEAL
from assay.models.program.repetition import find_repetition, iterations
from assay.models.program.replay import replay
from assay.models.program.waits import wait_states
from assay.trace.matching import match
from simulated_mpi import LinkCost, Net, Script, simulate
from traces import MS, allreduce_share, imbalance, late_sender, ring, stencil, travelling_delay


def _efficiencies(trace):
    ideal = replay(build_graph(match(trace), (1e9, 1e9)), IDEAL).seconds
    return efficiencies(trace, ideal)


def test_imbalance_of_20_percent() -> None:
    found = _efficiencies(imbalance(0.2, ranks=4))
    assert found.load_balance == pytest.approx((3 + 1.2) / 4 / 1.2)
    assert found.communication == pytest.approx(1.0)
    assert (found.serialisation, found.transfer) == (pytest.approx(1.0), pytest.approx(1.0))


def test_30_percent_in_allreduce_are_transfer() -> None:
    found = _efficiencies(allreduce_share(0.3))
    assert found.transfer == pytest.approx(0.7)
    assert found.serialisation == pytest.approx(1.0)
    assert found.parallel == pytest.approx(0.7)


def test_a_delay_that_travels_is_serialisation() -> None:
    """The ranks end one after the other, on an ideal network too."""
    trace = travelling_delay(5 * MS, ranks=6)
    found = _efficiencies(trace)
    assert found.transfer == pytest.approx(1.0)
    assert found.serialisation == pytest.approx(16 / 21)
    assert found.parallel == pytest.approx((16 + 5 * 11) / 6 / 21)
    product = found.load_balance * found.serialisation * found.transfer
    assert product == pytest.approx(found.parallel)


def test_transfer_of_large_messages() -> None:
    def program(rank: Script) -> None:
        for _ in range(5):
            rank.compute(10 * MS)
            rank.sendrecv(1 - rank.rank, 1 - rank.rank, 1_000_000)

    found = _efficiencies(simulate(2, program, Net(LinkCost(0.0, 1e-8))))
    assert found.transfer == pytest.approx(0.5)
    assert found.ideal == pytest.approx(50 * MS)


def _path(trace):
    matched = match(trace)
    path = critical_path(matched.flat, wait_states(matched))
    return path, critical_shares(matched.flat, path)


def test_the_critical_path_of_a_travelling_delay() -> None:
    """Rank 0 until it sends, then 1 ms on each rank."""
    path, shares = _path(travelling_delay(5 * MS, ranks=6))
    assert path.rank.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.diff(np.append(path.begin, path.end[-1])) == pytest.approx([16e-3] + [1e-3] * 5)
    assert (shares[0].rank, shares[0].kind) == (0, "computing")
    assert shares[0].seconds == pytest.approx(16 * MS)


def test_the_critical_path_of_imbalance_is_the_slow_rank() -> None:
    trace = imbalance(0.2, ranks=4, iterations=50)
    path, shares = _path(trace)
    assert sum(one.seconds for one in shares if one.rank == 3) == pytest.approx(trace.end, rel=0.03)
    assert path.seconds == pytest.approx(trace.end)


@pytest.mark.parametrize("trace", [stencil(iterations=10), ring(5), late_sender()])
def test_the_critical_path_is_as_long_as_the_run(trace) -> None:
    path, shares = _path(trace)
    assert path.seconds == pytest.approx(trace.end)
    assert sum(one.seconds for one in shares) == pytest.approx(trace.end)
    assert path.end[:-1] == pytest.approx(path.begin[1:])


def test_a_stencil_of_100_iterations() -> None:
    for rank in stencil(4, 100).ranks:
        found = iterations(rank)
        assert found is not None
        assert (found.repetition.times, found.repetition.period) == (100, 6)
        # Without the broadcast and the reduction around them.
        assert found.repetition.first == 1
        assert len(found.seconds) == 100
        assert np.median(found.seconds) == pytest.approx((rank.end - rank.begin) / 100, rel=0.02)


@given(
    outer=st.integers(3, 12), inner=st.integers(3, 9),
    before=st.integers(0, 20), after=st.integers(0, 20),
)  # fmt: skip
@settings(deadline=None, max_examples=60)
def test_nested_loops(outer, inner, before, after) -> None:
    body = [1, 2, 3] * inner + [4, 5]
    sequence = [10 + i for i in range(before)] + body * outer + [100 + i for i in range(after)]
    found = find_repetition(np.array(sequence))
    assert found is not None
    assert found.period == len(body)
    assert found.times == outer
    assert found.inner is not None
    assert found.inner.period == 3


def test_nothing_repeats() -> None:
    assert find_repetition(np.arange(50)) is None
    assert find_repetition(np.array([], dtype=np.int64)) is None
    assert find_repetition(np.array([1, 2, 1, 2, 3])) is None

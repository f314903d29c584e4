"""Computation over communication: against the simulation of other ranks, sizes and networks."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.program.efficiency import computing_times
from assay.models.program.granularity import COARSE, FINE, GrainModel, grain_model, grain_of
from assay.models.program.prediction import model_run, network_of
from assay.models.program.waits import wait_states
from assay.trace.matching import match
from simulated_mpi import LinkCost, Net, Script, simulate
from traces import FAST, stencil


def _net(latency: float, gap: float) -> Net:
    return Net(LinkCost(0.8 * latency, gap, 0.1 * latency), FAST, eager=65536)


GIGABIT = _net(4e-5, 8e-9)


def _model(trace) -> GrainModel:
    matched = match(trace)
    run = model_run(matched, wait_states(matched))
    return grain_model(run, network_of(run, 4e-5, 1.25e8))


def _ratio(trace) -> float:
    computing = computing_times(trace).mean()
    return float(computing / (trace.end - trace.begin - computing))


def test_the_ratio_of_the_run_itself() -> None:
    trace = stencil(4, 20, GIGABIT)
    found = _model(trace).at(4)
    assert found.ratio == pytest.approx(_ratio(trace), rel=0.03)
    assert found.low == found.ratio == found.high


def test_a_tree_on_more_ranks() -> None:
    """Allreduce has log2 P rounds; each rank computes less."""

    def program(computing: float):
        def run(rank: Script) -> None:
            for _ in range(20):
                rank.compute(computing)
                rank.allreduce(8)

        return run

    model = _model(simulate(4, program(1e-3), GIGABIT))
    for ranks in (8, 32):
        real = _ratio(simulate(ranks, program(1e-3 * 4 / ranks), GIGABIT))
        assert model.at(ranks).ratio == pytest.approx(real, rel=0.03)


def test_an_exchange_of_all_data_on_more_ranks() -> None:
    def program(ranks: int, whole: int):
        def run(rank: Script) -> None:
            for size in (8, whole // ranks**2):
                rank.compute(4e-3 / ranks)
                rank.collective("Alltoall", size)

        return run

    model = _model(simulate(4, program(4, 64_000_000), GIGABIT))
    for ranks in (8, 16):
        real = _ratio(simulate(ranks, program(ranks, 64_000_000), GIGABIT))
        assert model.at(ranks).ratio == pytest.approx(real, rel=0.05)


def test_neighbours_on_more_ranks_lie_in_the_range_of_surfaces() -> None:
    model = _model(stencil(4, 20, GIGABIT, size=64_000, computing=8e-3))
    real = _ratio(stencil(32, 20, GIGABIT, size=16_000, computing=1e-3))
    found = model.at(32)
    assert found.low * 0.95 <= real <= found.high * 1.05


def test_crossings_are_where_the_ratio_is() -> None:
    model = _model(stencil(4, 20, GIGABIT, computing=2e-2))
    assert model.at(4).grain == "coarse"
    for ratio in (FINE, COARSE):
        ranks = model.crossing(ratio)
        assert ranks is not None
        assert model.at(ranks).ratio == pytest.approx(ratio, rel=0.01)
        larger = model.crossing(ratio, size=8.0)
        assert larger is None or larger > ranks


def test_without_communication_the_grain_is_coarse_on_any_number_of_ranks() -> None:
    model = GrainModel(4, 1.0, 0.0, dict.fromkeys(("neighbours", "tree", "exchange"), 0.0),
                       dict.fromkeys(("neighbours", "tree", "exchange"), 0.0))  # fmt: skip
    assert model.at(1e6).grain == "coarse"
    assert model.at(1e6).sure
    assert model.crossing(COARSE) is None


def test_fine_is_communication_at_least_as_long_as_computation() -> None:
    assert [grain_of(x) for x in (0.5, 1.0, 1.01, 9.9, 10.0, np.inf)] == [
        "fine", "fine", "medium", "medium", "coarse", "coarse",
    ]  # fmt: skip

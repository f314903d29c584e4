"""The same computing of ranks together and in turn."""

from __future__ import annotations

import pytest

from assay.models.program.losses.turns import rank_gaps, shared_time
from simulated_mpi import Net, Script, simulate

STEPS = 20


def _gaps(work: float, steps: int = STEPS, share: float = 1.0) -> list:  # type: ignore[type-arg]
    def program(script: Script) -> None:
        script.barrier(site="begin")
        for _ in range(steps):
            script.compute(work)
            script.allreduce(site="reduce")

    return rank_gaps(simulate(2, program, Net(collective=1e-6)), {0: share, 1: share})


def test_what_ranks_take_from_each_other_is_the_ratio_of_the_same_computing() -> None:
    found = shared_time(_gaps(0.02), _gaps(0.012), [10.0, 10.0])
    assert (found.problem, found.share) == ("", pytest.approx(0.4))
    assert found.together == pytest.approx(2 * 0.02 * (STEPS - 1), rel=0.06)


def test_time_without_a_cpu_is_left_out() -> None:
    found = shared_time(_gaps(0.04, share=0.5), _gaps(0.02), [10.0, 10.0])
    assert found.share == pytest.approx(0.0, abs=1e-9)


def test_only_computing_in_turn_is_compared() -> None:
    found = shared_time(_gaps(0.02), _gaps(0.01), [0.105, 0.105])
    assert found.alone == pytest.approx(2 * 0.01 * 10, rel=0.12)
    assert "too few calls" in shared_time(_gaps(0.02), _gaps(0.01), [0.0, 0.0]).problem


def test_other_calls_are_not_compared() -> None:
    def program(script: Script) -> None:
        for _ in range(STEPS):
            script.compute(0.02)
            script.barrier(site="other")

    other = rank_gaps(simulate(2, program, Net(collective=1e-6)), {})
    assert "different calls" in shared_time(_gaps(0.02), other, [10.0, 10.0]).problem
    assert "different ranks" in shared_time(_gaps(0.02), other[:1], [10.0]).problem

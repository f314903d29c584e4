"""Waiting of a trace, by the function of the late rank."""

from __future__ import annotations

import pytest

from assay.models.program.origins import wait_origins
from assay.models.program.sampled.owed import WaitingOwed, waiting_owed
from assay.models.program.waits import wait_states
from assay.trace.events import Trace
from assay.trace.matching import match
from assay.trace.samples.model import ProgramSamples
from known_samples import sampled_trace
from traces import imbalance, late_sender

USUAL = {"solve": 0.7, "assemble": 0.3}


def owed(trace: Trace, samples: ProgramSamples) -> WaitingOwed:
    matched = match(trace)
    return waiting_owed(matched, wait_origins(matched, wait_states(matched)).costs, samples)


def test_waiting_is_owed_to_the_function_with_the_excess() -> None:
    """The last rank spends 2 ms more in "assemble", in each of 50 iterations of 10 ms."""
    trace = imbalance()
    found = owed(trace, sampled_trace(trace, USUAL, 1e-3, extra=(3, "assemble"), base=0.01))
    first = found.functions[0]
    assert (first.rank, first.place.name) == (3, "assemble")
    assert first.seconds == pytest.approx(found.computing, rel=0.05)
    assert first.interval[0] < first.seconds <= first.interval[1]
    assert found.computing == pytest.approx(3 * 50 * 0.002)
    assert found.asleep == pytest.approx(0.0, abs=0.02 * found.computing)


def test_a_function_that_only_the_late_rank_calls() -> None:
    trace = late_sender()
    samples = sampled_trace(trace, USUAL, 5e-4, extra=(0, "prepare"), base=0.02)
    found = owed(trace, samples)
    assert [(one.rank, one.place.name) for one in found.functions[:1]] == [(0, "prepare")]
    assert found.functions[0].seconds == pytest.approx(10 * 0.005, rel=0.1)


def test_waiting_for_a_rank_without_a_cpu_is_owed_to_no_function() -> None:
    trace = imbalance()
    samples = sampled_trace(trace, USUAL, 1e-3, extra=(3, "assemble"), base=0.01, off_cpu=0.5)
    found = owed(trace, samples)
    assert found.asleep == pytest.approx(0.5 * found.computing, rel=0.1)
    named = sum(one.seconds for one in found.functions)
    assert named + found.asleep + found.unsampled == pytest.approx(found.computing)


def test_too_few_samples_name_no_function() -> None:
    trace = imbalance()
    found = owed(trace, sampled_trace(trace, USUAL, 0.2, extra=(3, "assemble"), base=0.01))
    assert found.functions == []
    assert found.unsampled == pytest.approx(found.computing)


def test_without_threads_nothing_is_owed() -> None:
    found = owed(imbalance(), ProgramSamples(0.01, "cpu-clock", (), (), ()))
    assert found.functions == []
    assert found.unsampled == found.computing > 0.0

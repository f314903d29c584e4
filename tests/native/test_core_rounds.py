"""The pairs that memory.core_to_core measures on many CPUs, by a clock of the test."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from assay.kernels import find_kernel
from check_program import CheckProgram

# Headers alone, so that no kernels have to be built.
PROGRAM = CheckProgram("core_rounds_check.cpp", (), ("-O2",))
KERNEL = find_kernel("memory.core_to_core")
MOST = next(p.default for p in KERNEL.parameters if p.name == "most")
TRIPS = next(p.default for p in KERNEL.parameters if p.name == "trips")
LONGEST = 1.0  # s of a pass, as in the kernel
# Passes of a launch: one before the samples, five samples and the check; and the usual launches.
PASSES, LAUNCHES = 7, 6
LAUNCHING = 2.0  # s to start a launch, generously
START = 1e-4  # s to start and pin a pair's two threads


@dataclass(frozen=True)
class Plan:
    """What a pass measures: pairs, seconds, different pairs, pairs of a CPU."""

    pairs: int
    seconds: float
    different: int
    fewest: int
    most: int


def plans(cpus: int, transfer: float, launches: int = LAUNCHES) -> list[Plan]:
    """The plans of the launches; ``transfer``: seconds one way."""
    trips = 50 + 5 * int(TRIPS)
    pair = START + 2 * trips * transfer
    questions = [f"plan {cpus} {MOST} {launch} {LONGEST} {pair}" for launch in range(launches)]
    return [
        Plan(int(pairs), float(seconds), int(different), int(fewest), int(most))
        for pairs, seconds, different, fewest, most in PROGRAM.ask(*questions)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("cpus", [128, 129, 256, 512])
@pytest.mark.parametrize("transfer", [30e-9, 100e-9, 400e-9, 1e-6])
def test_a_cell_of_many_cpus_takes_at_most_a_minute(cpus: int, transfer: float) -> None:
    found = plans(cpus, transfer)
    assert sum(LAUNCHING + PASSES * plan.seconds for plan in found) <= 60
    for plan in found:
        assert plan.different == plan.pairs > 0
        assert plan.pairs <= MOST
        assert plan.most - plan.fewest <= 2 * (cpus % 2)  # with an odd number one pauses per round


@pytest.mark.slow
def test_time_ends_a_pass_only_where_it_must() -> None:
    (quick,) = plans(128, 100e-9, launches=1)
    assert quick.pairs == 32 * 64  # as many whole rounds as `most` allows
    (slow,) = plans(128, 1e-6, launches=1)
    assert 0 < slow.pairs < quick.pairs and slow.pairs % 64 == 0
    (hopeless,) = plans(256, 1.0, launches=1)
    assert hopeless.pairs == 128  # a single round
    (small,) = plans(32, 100e-9, launches=1)
    assert small.pairs == 32 * 31 // 2


@pytest.mark.slow
def test_six_launches_measure_most_pairs_of_128_cpus() -> None:
    answers = PROGRAM.ask(*(f"pairs 128 {MOST} {launch}" for launch in range(LAUNCHES)))
    assert [len(set(pairs)) for pairs in answers] == [32 * 64] * LAUNCHES
    different = set().union(*answers)
    assert len(different) > 0.8 * 128 * 127 / 2

"""Waits, slowdowns, utilisation and order of a schedule equal plain counts."""

from __future__ import annotations

import itertools
import random
import statistics

import numpy as np
import pytest

from assay.subjects.usage.queue.words import wait_at
from assay.usage.queue.measure import agreement_of, measure_of, real_measure, same_order
from assay.usage.scheduler.machine import EqualNodes, Machine
from assay.usage.scheduler.policy import Policy
from assay.usage.scheduler.schedule import Workload
from assay.usage.workload.change import split_by_time
from plain_scheduler import first_come
from planted_loads import planted_load

MACHINE = Machine(nodes=(EqualNodes(count=8),))


def planted(seed: int, jobs: int = 60) -> Workload:
    rng = random.Random(seed)
    submit = list(itertools.accumulate(rng.randrange(0, 900) for _ in range(jobs)))
    run = [rng.choice((0, 3, 400, 5000)) for _ in range(jobs)]
    limit = [max(1, round(each * rng.choice((0.5, 1, 3)))) for each in run]
    return planted_load(submit, run, [rng.randrange(1, 10) for _ in range(jobs)], limit=limit)


@pytest.mark.parametrize("seed", range(8))
def test_measures_are_those_of_a_plain_count(seed: int) -> None:
    load = planted(seed)
    schedule = first_come(load, MACHINE, Policy())
    found = measure_of(load, schedule, 8)
    waits, slowdowns, busy, killed, refused = [], [], 0.0, 0, 0
    begin, end = load.submit[0], load.submit[-1]
    for job in range(len(load)):
        if load.processors[job] > 8:
            refused += 1
            continue
        run = min(load.run[job], load.limit[job])
        killed += load.run[job] > load.limit[job]
        wait = schedule.start[job] - load.submit[job]
        waits.append(wait)
        slowdowns.append(max(1.0, (wait + run) / max(run, 10.0)))
        inside = min(schedule.start[job] + run, end) - max(schedule.start[job], begin)
        busy += load.processors[job] * max(inside, 0.0)
    assert found.jobs == len(waits)
    assert found.wait == pytest.approx(statistics.fmean(waits))
    assert wait_at(found, 0.5) == pytest.approx(statistics.median(waits))
    assert found.slowdown == pytest.approx(statistics.fmean(slowdowns))
    assert found.slowdown_median == pytest.approx(statistics.median(slowdowns))
    assert found.utilisation == pytest.approx(busy / (8 * (end - begin)))
    assert (found.killed, found.refused) == (killed, refused)


def test_one_server_has_the_waits_of_lindleys_recursion() -> None:
    """D. Lindley, The theory of queues with a single server, 1952: W' = max(0, W + S - A)."""
    rng = np.random.default_rng(3)
    submit = np.cumsum(rng.exponential(100.0, 2000))
    for run in (np.full(2000, 80.0), rng.exponential(80.0, 2000)):
        load = planted_load(submit, run)
        one = Machine(nodes=(EqualNodes(count=1),))
        schedule = first_come(load, one, Policy(backfill="none"))
        wait, waits = 0.0, []
        for job in range(2000):
            waits.append(wait)
            if job + 1 < 2000:
                wait = max(0.0, wait + run[job] - (submit[job + 1] - submit[job]))
        assert schedule.start - submit == pytest.approx(waits, abs=1e-6)
        assert measure_of(load, schedule, 1).wait == pytest.approx(np.mean(waits))


def test_the_wait_of_a_divided_job_is_that_of_its_parts() -> None:
    # The second job gets in between the parts of the first.
    load = planted_load([0, 10], [200, 50], [8, 8])
    split = split_by_time(load, 100)
    schedule = first_come(split.workload, MACHINE, Policy())
    found = measure_of(split.workload, schedule, 8, split.job)
    assert found.jobs == 2
    # Parts at 0 and 150; the other at 100 after a wait of 90.
    assert sorted(schedule.start.tolist()) == [0, 100, 150]
    assert found.wait == pytest.approx((50 + 90) / 2)


def test_real_starts() -> None:
    load = planted_load([0, 100, 200], [100, 50, 100], [8, 4, 2])
    found = real_measure(load, np.array([0.0, 100.0, 250.0]), 8)
    assert found.wait == pytest.approx(50 / 3)
    assert found.utilisation == pytest.approx((8 * 100 + 4 * 50) / (8 * 200))


@pytest.mark.parametrize("within", [np.inf, 20.0])
def test_pairs_in_order_are_those_of_a_plain_count(within: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        real = rng.integers(0, 60, 40).astype(float)
        modelled = real + rng.integers(0, 30, 40)
        same = pairs = 0.0
        for first, second in itertools.permutations(range(40), 2):
            if 0 < real[second] - real[first] <= within:
                pairs += 1
                difference = modelled[second] - modelled[first]
                same += 1.0 if difference > 0 else 0.5 if difference == 0 else 0.0
        assert same_order(real, modelled, within) == pytest.approx(same / pairs)
    assert same_order(np.zeros(3), np.arange(3.0)) == 1.0


def test_agreement() -> None:
    found = agreement_of(np.array([0.0, 5.0, np.nan]), np.array([0.0, 9.0, 2.0]), 30.0, 60.0)
    assert (found.pairs, found.wait, found.difference) == (1.0, 0.5, 2.0)
    assert agreement_of(np.zeros(1), np.zeros(1), 1.0, 0.0).wait is None

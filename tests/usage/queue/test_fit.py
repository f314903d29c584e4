"""The fit of a model to real waits: literal sums, planted groups, and equal ones."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.usage.queue.fit import CYCLE, JobGroups, fit_of
from assay.usage.scheduler.schedule import Workload
from assay.usage.workload.resample import WEEK
from planted_loads import planted_load, weeks_of_users


def waited(seed: int, weeks: int = 12) -> tuple[Workload, np.ndarray, np.random.Generator]:
    """A load and modelled waits: exponential, longer in some weeks, as queues are."""
    random = np.random.default_rng(seed)
    load = weeks_of_users(random, weeks, load=0.4)
    week = (load.submit // WEEK).astype(int)
    busy = random.lognormal(0.0, 0.7, weeks + 1)[week]
    return load, random.exponential(7200.0, len(load)) * busy, random


def test_the_factors_are_those_of_literal_sums() -> None:
    load, modelled, random = waited(1)
    real = modelled * random.lognormal(0.3, 0.5, len(load))
    found = fit_of(load, load.submit + real, load.submit + modelled)

    def factor(jobs: list[int]) -> float:
        return (sum(real[j] for j in jobs) / len(jobs) + CYCLE) / (
            sum(modelled[j] for j in jobs) / len(jobs) + CYCLE
        )

    def typical(key: list[int]) -> float:
        groups: dict[int, list[int]] = {}
        for job, each in enumerate(key):
            groups.setdefault(each, []).append(job)
        weights = {k: sum(real[j] + modelled[j] for j in jobs) for k, jobs in groups.items()}
        logs = sum(weights[k] * abs(math.log(factor(jobs))) for k, jobs in groups.items())
        return math.exp(logs / sum(weights.values()))

    whole = int(load.submit[-1] // WEEK)
    weeks = [min(int(each // WEEK), whole - 1) for each in load.submit]
    sizes = [math.ceil(math.log2(each)) for each in load.processors]
    assert found.mean == pytest.approx(factor(list(range(len(load)))))
    assert found.weeks == pytest.approx(typical(weeks))
    assert found.sizes == pytest.approx(typical(sizes))
    assert found.factor == pytest.approx(max(found.mean, found.weeks, found.sizes))


def test_equal_waits_fit_and_short_ones_do_not_count() -> None:
    load, modelled, _ = waited(2)
    start = load.submit + modelled
    same = fit_of(load, start, start)
    assert same.factor == 1.0 and same.reproduced and not same.groups and not same.half
    # Some seconds are what a scheduler takes.
    assert fit_of(load, load.submit + 20.0, load.submit).factor < 1.4
    assert not fit_of(load, load.submit + 2.1 * modelled, start).reproduced
    # The fit is the same in both directions.
    there, back = (
        fit_of(load, load.submit + 3 * modelled, start),
        fit_of(load, start, load.submit + 3 * modelled),
    )
    assert there.factor == pytest.approx(back.factor) and there.mean == pytest.approx(1 / back.mean)


@pytest.mark.parametrize(("by", "direction"), [(8.0, "more"), (1 / 8.0, "less")])
def test_a_user_with_other_waits_is_named(by: float, direction: str) -> None:
    load, modelled, random = waited(3)
    users = JobGroups("user", load.user, [f"user {each + 1}" for each in range(30)])
    real = modelled * random.lognormal(0.0, 0.3, len(load)) * np.where(load.user == 2, by, 1.0)
    found = fit_of(load, load.submit + real, load.submit + modelled, [users]).groups
    first = found[0]
    assert (first.kind, first.name, first.direction) == ("user", "user 3", direction)
    assert first.ci95[0] < first.factor < first.ci95[1]
    assert first.factor == pytest.approx(by, rel=0.3) and first.others == pytest.approx(1, rel=0.4)
    assert first.jobs == int((load.user == 2).sum())


def test_no_group_is_named_where_all_wait_alike() -> None:
    """Real waits are twice the modelled ones, with the same scatter for all: 40 logs."""
    named = 0
    for seed in range(40):
        load, modelled, random = waited(seed)
        users = JobGroups("user", load.user, [f"user {each + 1}" for each in range(30)])
        real = 2.0 * modelled * random.lognormal(0.0, 0.7, len(load))
        named += bool(fit_of(load, load.submit + real, load.submit + modelled, [users]).groups)
    assert named <= 2


def test_few_weeks_compare_no_groups() -> None:
    load, modelled, _ = waited(4, weeks=3)
    real = modelled * np.where(load.processors > 4, 20.0, 1.0)
    found = fit_of(load, load.submit + real, load.submit + modelled)
    assert not found.compared and found.groups == []


def test_weeks_with_half_of_the_difference() -> None:
    load, modelled, _ = waited(5)
    late = (load.submit >= 4 * WEEK) & (load.submit < 5 * WEEK)
    real = modelled + np.where(late, 5 * 86400.0, 0.0)
    assert fit_of(load, load.submit + real, load.submit + modelled).half == [5]


def test_jobs_that_never_start_in_the_model_are_left_out() -> None:
    load = planted_load([0, 100, 200], [60, 60, 60])
    found = fit_of(load, np.array([600.0, 700.0, 9e6]), np.array([600.0, 700.0, np.nan]))
    assert found.factor == 1.0
    nothing = fit_of(replace(load), load.submit, np.full(3, np.nan))
    assert nothing.factor == 1.0

"""Other runs of a machine beside the interval of a cell: counts, the sign test, comparable runs."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy.stats import binom

from assay.questions.common.confidence import confidence_in
from assay.questions.common.selection import Point
from assay.stats.cells.agreement import (
    HIGH,
    MEDIUM,
    RUNS_FOR_HIGH,
    RUNS_FOR_MEDIUM,
    agreement,
    contradicted,
    p_beyond,
)
from assay.stats.changes.other_runs import with_other_runs
from assay.stats.core.launches import launch_interval
from assay.stats.core.model import CellSummary, ClaimEvidence, MetricSummary, RunAgreement
from planted_runs import BEGIN, DAY, planted_cells, planted_courses, planted_times, run_name


def summary(values: np.ndarray, place: int = 0) -> CellSummary:
    cell = planted_cells(place + 1)[place]
    metric = MetricSummary(
        unit="s", better="less", median=float(np.median(values)), ci95=launch_interval(values),
        min=0.0, max=1.0, p05=0.0, p95=1.0, cov=0.01, cov_samples=None, n=values.size,
        samples=values.size, stop="launches",
    )  # fmt: skip
    return CellSummary(
        kernel=cell.kernel, id=cell.id, cell=cell, status="ok", verified=True, parameters={},
        metrics={"time": metric}, caveats=[],
        evidence=ClaimEvidence(values.size, 0.0, 0.7, None, 0.6),
    )  # fmt: skip


def of_run(times: np.ndarray, number: int) -> RunAgreement | None:
    """What the other runs show about the first cell of this run."""
    cell = summary(times[number, 0])
    courses = planted_courses(times)
    (found,) = with_other_runs([cell], courses, run_name(number), BEGIN + DAY * number)
    assert found.evidence is not None
    return found.evidence.others


def test_values_are_counted_on_the_side_with_more_of_them() -> None:
    values = np.array([0.5, 0.8, 1.0, 1.05, 1.3, 1.31, 1.6])
    assert agreement(1.0, (0.9, 1.2), values) == RunAgreement(7, 3, 1)
    assert agreement(1.0, (0.9, 1.2), np.empty(0)) == RunAgreement(0, 0, 0)


@pytest.mark.parametrize(("beyond", "runs"), [(0, 5), (1, 9), (13, 40), (40, 40), (0, 0)])
def test_p_is_binomial(beyond: int, runs: int) -> None:
    assert p_beyond(beyond, runs) == pytest.approx(float(binom.cdf(beyond, runs, 0.5)))


def test_the_fewest_runs_are_those_that_can_show_it() -> None:
    for level, runs in ((MEDIUM, RUNS_FOR_MEDIUM), (HIGH, RUNS_FOR_HIGH)):
        assert p_beyond(0, runs) <= level < p_beyond(0, runs - 1)
    assert contradicted(RunAgreement(5, 5, 0)) and not contradicted(RunAgreement(5, 4, 0))
    assert not contradicted(RunAgreement(0, 0, 0))


def test_runs_of_the_same_level_and_of_enough_launches_count() -> None:
    times = planted_times(np.random.default_rng(1), (24, 1, 6), between=0.002, within=0.005)
    equal = of_run(times, 23)
    assert equal is not None and equal.runs == 23 and equal.far == 0
    # Fewer than five launches may lie in the period of another run.
    short = of_run(times[:, :, :4], 23)
    assert short is None or short.runs == 0
    times[14:] *= 1.1
    after, before = of_run(times, 23), of_run(times, 3)
    assert after is not None and before is not None
    assert (before.runs, after.runs) == (13, 9)


def test_a_run_beside_a_different_level_of_few_runs_is_contradicted() -> None:
    times = planted_times(np.random.default_rng(2), (6, 1, 6), within=0.005)
    times[5] *= 1.1
    found = of_run(times, 5)
    assert found == RunAgreement(5, 5, 5)
    assert contradicted(found)


def test_cells_without_a_course_stay_as_they_are() -> None:
    cell = summary(np.linspace(1.0, 1.1, 6))
    assert with_other_runs([cell], {}, "run", BEGIN) == [cell]
    bare = msgspec.structs.replace(cell, evidence=None)
    times = planted_times(np.random.default_rng(3), (6, 1, 6))
    assert with_other_runs([bare], planted_courses(times), "run", BEGIN) == [bare]


@pytest.mark.parametrize("others", [5, 9])
def test_claims_are_right_if_modes_last_as_long_as_a_run(others: int) -> None:
    """Two equal modes that last five launches: half of the intervals of six launches are wrong."""
    random = np.random.default_rng(others)
    right: list[bool] = []
    wrong_in_all = 0
    for _ in range(1500):
        runs = np.array([modes(random, 6) for _ in range(others + 1)])
        cell = summary(runs[0])
        metric = cell.metrics["time"]
        assert metric.ci95 is not None and cell.evidence is not None
        found = agreement(metric.median, metric.ci95, np.median(runs[1:], axis=1))
        evidence = msgspec.structs.replace(cell.evidence, others=found)
        holds = metric.ci95[0] <= 102.0 <= metric.ci95[1]
        wrong_in_all += not holds
        known = Point(msgspec.structs.replace(cell, evidence=evidence), metric)
        if confidence_in(known).confidence != "low":
            right.append(holds)
    assert wrong_in_all > 600
    assert len(right) > 100 and np.mean(right) >= 0.88


def modes(random: np.random.Generator, launches: int) -> np.ndarray:
    begun = random.integers(5)
    slow = (random.random(launches // 5 + 2) < 0.5)[(np.arange(launches) + begun) // 5]
    return np.asarray(100.0 + 4.0 * slow + 0.3 * random.standard_normal(launches))

"""Cells over the runs of a machine: segments, the scatter within them, the steps between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.store import Store
from assay.stats.changes.changes import changes_of, series_of
from assay.stats.changes.courses import (
    CellCourse,
    RunLaunches,
    courses_of,
    identity_of,
    repeats_of_runs,
    runs_near,
)
from assay.stats.changes.level_changes import level_changes, logs_around_level, segment_difference
from assay.stats.compare.run_scatter import run_scatter
from assay.stats.repeats.repeats import Repeats
from assay.stats.repeats.run_values import above_zero, run_values
from planted_runs import BEGIN, DAY, file_runs, planted_courses, planted_times, run_name

RUNS = 30


def course_of(times: np.ndarray) -> CellCourse:
    (course,) = planted_courses(times).values()
    return course


def launches_of(times: np.ndarray, *numbers: int) -> list[RunLaunches]:
    return [RunLaunches(run_name(n), BEGIN + DAY * n, times[n, 0]) for n in numbers]


def end(number: int) -> tuple[str, float]:
    return run_name(number), BEGIN + DAY * number


def stepped(seed: int, step: float = 1.15, at: int = 15, **scatter: float) -> np.ndarray:
    times = planted_times(np.random.default_rng(seed), (RUNS, 1, 6), **scatter)
    times[at:] *= step
    return times


def test_the_scatter_is_that_within_segments() -> None:
    times = stepped(1, between=0.01)
    others = launches_of(times, *range(1, RUNS - 1))
    found = course_of(times).scatter(others)
    groups = [[times[n, 0] for n in part] for part in (range(1, 15), range(15, RUNS - 1))]
    assert found == run_scatter(groups)
    assert found is not None
    assert found.freedom == RUNS - 2 - 2
    together = run_scatter([[each.values for each in others]])
    assert together is not None
    assert found.variance < together.variance / 10.0


def test_a_drift_is_no_scatter_either() -> None:
    """15 runs, a rise by 10% over 30 runs, and 15 runs."""
    times = planted_times(np.random.default_rng(2), (60, 1, 6), between=0.005, within=0.002)
    rise = np.clip(np.linspace(-0.05, 0.15, 60), 0.0, 0.1)
    times *= np.exp(rise)[:, None, None]
    course = course_of(times)
    assert [segment.drifting for segment in course.changes.segments] == [False, True, False]
    found = course.scatter(launches_of(times, *range(1, 59)))
    assert found is not None
    assert found.freedom == 58 - 3 - 1  # three means and a slope
    assert found.variance == pytest.approx(0.005**2 + 0.002**2 / 6, rel=0.5)
    # Around the drift the levels are known, within it they are not.
    step = course.step(end(0), end(59))
    assert step is not None
    assert step.ratio == pytest.approx(np.exp(0.1), rel=0.01)
    assert course.step(end(0), end(30)) is None


def test_a_step_between_runs_is_that_of_the_levels_around_them() -> None:
    times = stepped(3, between=0.01)
    course = course_of(times)
    step = course.step(end(0), end(RUNS - 1))
    assert step is not None
    before, after = course.changes.segments
    assert (before.runs, after.runs, step.runs) == (15, 15, RUNS)
    found = segment_difference(course.of_runs.values, course.changes, before, after)
    assert step.ratio == pytest.approx(np.exp(found.size))
    assert step.p == found.p < 0.001
    assert step.interval[0] < 1.15 < step.interval[1]
    # In the other order it is inverse; within a segment there is none.
    assert course.step(end(RUNS - 1), end(0)) == step.inverse()
    assert step.inverse().ratio == pytest.approx(1.0 / step.ratio)
    assert step.inverse().interval == pytest.approx((1 / step.interval[1], 1 / step.interval[0]))
    assert course.step(end(0), end(14)) is None
    assert course.step(end(15), end(29)) is None


def test_a_run_outside_belongs_to_the_nearest_run() -> None:
    course = course_of(stepped(4, between=0.005))
    before, after = course.changes.segments
    assert course.segment("elsewhere", BEGIN + 3.4 * DAY) is before
    assert course.segment("elsewhere", BEGIN + 99 * DAY) is after
    assert course.segment(run_name(15), 0.0) is after


def test_levels_of_one_cell_are_those_of_its_series() -> None:
    times = stepped(5, between=0.01)
    of_runs = course_of(times).of_runs
    (found,) = level_changes([of_runs], ["box"])
    alone = changes_of(series_of(of_runs.values, of_runs.utc, of_runs.scatter))
    assert found == alone
    logs = logs_around_level(of_runs.values, found.segments[1])
    assert logs == pytest.approx(np.log(of_runs.values[15:]))


def test_changes_are_corrected_for_the_number_of_cells() -> None:
    """A step of one cell whose p is 0.1% to 5% is a change, and not one of 60 cells."""
    rng = np.random.default_rng(6)
    courses = planted_courses(planted_times(rng, (14, 60, 3), between=0.01))
    series = [course.of_runs for course in courses.values()]
    for seed in range(40):
        times = planted_times(np.random.default_rng(seed), (14, 1, 3), between=0.04)
        times[8:] *= 1.15
        of_runs = course_of(times).of_runs
        (alone,) = level_changes([of_runs], ["box"])
        if alone.changes and alone.changes[0].p > 0.001:
            break
    else:
        raise AssertionError("no doubtful step")
    (first, *rest) = level_changes([of_runs, *series], ["other", *["box"] * 60])
    assert first.changes == []
    assert sum(bool(each.changes) for each in rest) == 0


def test_values_of_runs_are_medians_in_order_of_time() -> None:
    repeats = Repeats(
        cell=Cell("network.barrier", {}, Placement(), "fake"),
        metric="time",
        unit="s",
        better="less",
        values=np.array([3.0, 1.0, 2.0, 8.0, 6.0, 0.0]),
        utc=np.array([100.0, 110.0, 120.0, 10.0, 20.0, 30.0]),
        run=("b", "b", "b", "a", "a", "a"),
        launch=tuple("012345"),
        hosts=("n",) * 6,
    )
    assert run_values(repeats) is None
    positive = above_zero(repeats)
    assert len(positive) == 5
    found = run_values(positive)
    assert found is not None
    assert found.runs == ("a", "b")
    assert found.values.tolist() == [7.0, 2.0]
    assert found.utc.tolist() == [10.0, 100.0]
    assert found.counts.tolist() == [2, 3]
    assert found.first.tolist() == [3, 0]
    assert found.which.tolist() == [1, 1, 1, 0, 0]
    assert courses_of([repeats]).keys() == {repeats.cell.id}


def test_the_nearest_runs_of_a_machine_are_read(tmp_path: Path) -> None:
    times = planted_times(np.random.default_rng(7), (5, 1, 3))
    runs = file_runs(tmp_path, times)
    store = Store(tmp_path)
    machine = identity_of(runs[0].manifest())
    near = runs_near(store, machine, [BEGIN + 4 * DAY], without={run_name(4)})
    assert list(near) == [run_name(n) for n in (3, 2, 1, 0)]
    assert near[run_name(2)] == BEGIN + 2 * DAY
    assert runs_near(store, ("elsewhere", *machine[1:]), [BEGIN]) == {}
    (repeats,) = repeats_of_runs(tmp_path, [run_name(1), run_name(3)])
    assert set(repeats.run) == {run_name(1), run_name(3)}
    assert np.sort(repeats.values) == pytest.approx(np.sort(times[[1, 3], 0].ravel()))
    (tmp_path / run_name(3) / "measurements.parquet").write_bytes(b"damaged")
    (repeats,) = repeats_of_runs(tmp_path, [run_name(1), run_name(3)])
    assert set(repeats.run) == {run_name(1)}

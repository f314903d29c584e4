"""Cells that are examined again, beside others that are not, and what the newest runs show."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from assay.stats.changes.changes import newest_deviation
from assay.stats.changes.level_changes import (
    OtherCells,
    changes_beside,
    level_changes,
    worth_forking,
)
from assay.stats.changes.parallel import available_cpus, in_parallel


def cell(values: np.ndarray) -> SimpleNamespace:
    n = values.size
    return SimpleNamespace(values=values, utc=np.arange(n) * 1.0, scatter=np.full(n, np.nan))


def steady(runs: int, seed: int = 1) -> np.ndarray:
    return np.exp(0.01 * np.random.default_rng(seed).standard_normal(runs))


def test_a_cell_is_corrected_for_the_cells_beside_it():
    values = steady(60)
    values[40:] *= 1.012
    series = cell(values)
    (alone,) = level_changes([series], [""])
    assert [change.kind for change in alone.changes] == ["step"]
    found = changes_beside([series], [""], None)
    assert found.changes == [alone] and found.dependence == {"": 0.0}
    p = alone.changes[0].p
    assert found.p == [[p]] and 1e-9 < p < 0.01
    few, many = (OtherCells([1.0] * n, 0.0) for n in (1, int(0.05 / p) + 1))
    assert changes_beside([series], [""], few).changes == [alone]
    (among_many,) = changes_beside([series], [""], many).changes
    assert among_many.changes == []


def test_a_cell_allows_for_the_dependence_of_the_cells_beside_it():
    (found,) = changes_beside([cell(steady(60))], ["m"], OtherCells([], 0.4)).changes
    assert found.dependence >= 0.4


def test_the_newest_runs_are_suspected():
    values = steady(80)
    assert newest_deviation(values) is None
    values[-2:] *= 1.2
    found = newest_deviation(values)
    assert found is not None and found.runs == 2
    assert found.size == pytest.approx(0.2, abs=0.03)


def test_processes_are_started_for_many_values():
    assert worth_forking([cell(steady(1000))] * 10) == 2
    assert worth_forking([cell(steady(20))] * 10) == 100
    assert available_cpus() >= 1
    assert in_parallel(abs, [-1, 2], least=worth_forking([])) == [1, 2]

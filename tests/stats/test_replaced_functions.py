"""Functions that replace slowly imported ones of SciPy and ruptures return the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats.changes.mode_share import fisher_p
from assay.stats.changes.reordering import reordered
from assay.stats.changes.segments import segmented


@pytest.mark.parametrize("seed", range(4))
def test_several_changes_are_placed_as_by_ruptures(seed):
    from ruptures import KernelCPD

    draw = np.random.default_rng(seed)
    for _ in range(25):
        count = int(draw.integers(2, 6))
        values = draw.standard_normal(int(draw.integers(2 * (count + 1), 200)))
        for at in draw.integers(0, values.size, 3):
            values[at:] += 2.0 * draw.standard_normal()
        model = KernelCPD(kernel="linear", min_size=2).fit(values[:, None])
        assert segmented(values, count) == [int(at) for at in model.predict(n_bkps=count)[:-1]]


def test_fishers_test_is_that_of_scipy():
    from scipy.stats import fisher_exact

    draw = np.random.default_rng(1)
    tables = [[[3, 0], [0, 3]], [[0, 5], [0, 7]], [[0, 0], [4, 5]], [[1000, 9], [4000, 90]]]
    tables += draw.integers(0, 30, (200, 2, 2)).tolist()
    for table in tables:
        expected = float(fisher_exact(table).pvalue)
        assert math.isclose(fisher_p(table), expected, rel_tol=1e-9), table


def test_dependent_series_are_those_of_a_recursive_filter():
    from scipy.signal import lfilter

    values = np.random.default_rng(2).standard_normal(60)
    rho = 0.6
    rows = reordered(values, rho, 40)
    found = rows[:, 1:] - rho * rows[:, :-1]
    centred = values - values.mean()
    first = math.sqrt(1.0 - rho**2)
    added = np.concatenate([[centred[0] * first], centred[1:] - rho * centred[:-1]])
    innovations = np.column_stack([rows[:, 0] * first, found])
    assert np.allclose(np.sort(innovations, axis=1), np.sort(added), atol=1e-12)
    begun = np.column_stack([rows[:, 0], found])
    assert np.allclose(rows, lfilter([1.0], [1.0, -rho], begun, axis=1), atol=1e-12)

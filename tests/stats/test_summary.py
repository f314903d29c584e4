"""Summaries against the standard library and literal sums."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path

import numpy as np
import pytest

from assay.errors import AssayError
from assay.stats.core.summary import coefficient_of_variation, summarise

TIMINGS = json.loads((Path(__file__).parents[1] / "data/stats/sort_timings.json").read_text())[
    "values"
]


def literal_quantile(values: list[float], p: float) -> float:
    ordered = sorted(values)
    place = p * (len(ordered) - 1)
    under = math.floor(place)
    over = min(under + 1, len(ordered) - 1)
    return ordered[under] + (place - under) * (ordered[over] - ordered[under])


@pytest.mark.parametrize("n", [1, 2, 5, 60, 201])
def test_summary_is_the_literal_one(n: int) -> None:
    values = np.random.default_rng(n).lognormal(size=n).tolist()
    summary = summarise(values)
    assert summary.n == n
    assert summary.median == pytest.approx(statistics.median(values))
    assert (summary.min, summary.max) == (min(values), max(values))
    for name, p in (("p05", 0.05), ("p95", 0.95), ("p99", 0.99)):
        assert getattr(summary, name) == pytest.approx(literal_quantile(values, p))
    middle = statistics.median(values)
    assert summary.mad == pytest.approx(statistics.median(abs(v - middle) for v in values))
    if n == 1:
        assert summary.cov is None
    else:
        assert summary.cov == pytest.approx(statistics.stdev(values) / statistics.mean(values))


def test_real_timings_are_pinned() -> None:
    summary = summarise(TIMINGS)
    assert summary.n == 200
    assert summary.median == pytest.approx(1.90594e-4)
    assert summary.max == pytest.approx(2.34149e-4)
    assert summary.p95 == pytest.approx(2.0417900e-4)
    assert summary.mad == pytest.approx(2.555e-7)
    assert summary.cov == pytest.approx(0.0321974315, rel=1e-6)


@pytest.mark.parametrize("bad", [[], [1.0, math.nan], [math.inf], [[1.0, 2.0], [3.0, 4.0]]])
def test_no_summary_of_what_is_no_number(bad: list[float]) -> None:
    with pytest.raises(AssayError):
        summarise(bad)


def test_cov_without_enough_values_is_none() -> None:
    assert coefficient_of_variation([3.0]) is None
    assert coefficient_of_variation([-1.0, 1.0]) is None
    assert coefficient_of_variation([2.0, 2.0]) == 0.0

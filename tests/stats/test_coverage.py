"""The 95% intervals have a coverage of 93% to 97%, over thousands of series.

The simulations are those of benchmarks/coverage.py, which generates the tables of
docs/methods/sampling.md.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from assay.model.replication import Replication

SERIES = 4000


def simulations() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_simulations", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SIMULATIONS = simulations()


@pytest.mark.parametrize("size", [6, 7, 8, 10, 12, 20, 30, 100, 1000])
def test_median_of_independent_samples(size: int) -> None:
    for name in SIMULATIONS.DISTRIBUTIONS:
        coverage = SIMULATIONS.independent(name, size, SERIES, 100 + size)
        assert 0.93 <= coverage <= 0.97, (name, size)


@pytest.mark.parametrize(
    ("p", "size"), [(0.25, 20), (0.75, 20), (0.9, 40), (0.95, 100), (0.99, 500)]
)
def test_other_quantiles_of_skewed_samples(p: float, size: int) -> None:
    assert 0.93 <= SIMULATIONS.independent("exponential", size, SERIES, 200, p) <= 0.97


@pytest.mark.parametrize("size", [300, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "name",
    [
        "independent",
        "AR(1) 0.8",
        "exp AR(1) 0.9",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in (
                "AR(1) 0.2",
                "AR(1) 0.5",
                "AR(1) 0.9",
                "MA of 4",
                "MA of 10",
                "exp AR(1) 0.8",
            )
        ),
    ],
)
def test_median_of_dependent_samples(name: str, size: int) -> None:
    assert 0.93 <= SIMULATIONS.correlated(name, size, SERIES, 300 + size) <= 0.97


@pytest.mark.parametrize("name", ["AR(1) 0.8", "exp AR(1) 0.8", "MA of 10"])
def test_ignoring_dependence_would_be_far_off(name: str) -> None:
    assert SIMULATIONS.correlated(name, 300, SERIES, 400, naive=True) < 0.6


@pytest.mark.parametrize("name", ["AR(1) 0.5", "AR(1) 0.8", "MA of 4"])
def test_a_hundred_dependent_samples(name: str) -> None:
    assert 0.93 <= SIMULATIONS.correlated(name, 100, SERIES, 500) <= 0.97


@pytest.mark.parametrize(
    "launches", [6, *(pytest.param(each, marks=pytest.mark.long) for each in (9, 14, 30))]
)
def test_two_levels_need_the_launches_medians(launches: int) -> None:
    coverage, pooled = SIMULATIONS.two_level(launches, 3000, 600 + launches, ratio=1.0)
    assert 0.93 <= coverage <= 0.97
    assert pooled < 0.5


@pytest.mark.long
def test_two_levels_without_a_launch_effect_lose_nothing() -> None:
    coverage, pooled = SIMULATIONS.two_level(12, 3000, 700, ratio=0.0)
    assert 0.93 <= coverage <= 0.97
    assert 0.93 <= pooled <= 0.97


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("normal", SERIES),
        *(
            pytest.param(name, 5 * SERIES, marks=pytest.mark.long)
            for name in SIMULATIONS.DISTRIBUTIONS
        ),
    ],
)
def test_optional_stopping_keeps_coverage_at_every_precision(name: str, series: int) -> None:
    precisions = SIMULATIONS.WORST_CASE_PRECISIONS
    outcome = SIMULATIONS.stopped(name, precisions, series, 800, Replication())
    assert SIMULATIONS.worst(outcome)[0] >= 0.93
    assert max(coverage for coverage, _ in outcome) <= 0.97
    # It does stop early where the precision allows it, and goes on where it doesn't.
    assert outcome[-1][1] < 15
    assert outcome[0][1] > 29


@pytest.mark.long
def test_stopping_at_the_first_narrow_interval_would_not() -> None:
    outcome = SIMULATIONS.stopped(
        "normal",
        SIMULATIONS.WORST_CASE_PRECISIONS,
        SERIES,
        900,
        Replication(),
        successive=1,
        sizes=range(6, 31),
    )
    assert SIMULATIONS.worst(outcome)[0] < 0.925


@pytest.mark.long
def test_simulated_stopping_is_the_shipped_rule() -> None:
    import numpy as np

    from assay.stats.cells.launch_rule import needs_more
    from assay.stats.core.intervals import median_interval

    rule = Replication(precision=0.003)
    offset = (
        1000.0  # so large that relative and absolute half-widths differ by a thousandth at most
    )
    values = SIMULATIONS.DISTRIBUTIONS["normal"](np.random.default_rng(1), (200, 30))
    hit, used = 0, 0
    for row in offset + values * 5.0:
        count = next(n for n in range(31) if not needs_more(row[:n].tolist(), rule).more)
        low, high = median_interval(row[:count])
        hit += low <= offset <= high
        used += count
    [(coverage, launches)] = SIMULATIONS.stopped("normal", [0.6], 200, 1, rule)
    assert coverage == pytest.approx(hit / 200, abs=0.011)
    assert launches == pytest.approx(used / 200, abs=0.2)


def test_ratios_of_medians_are_on_the_safe_side() -> None:
    for sizes in ((6, 6), (6, 30), (12, 12), (30, 100)):
        assert 0.93 <= SIMULATIONS.ratio(sizes, 2000, 1000) <= 0.985

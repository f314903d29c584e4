"""The published tables: as printed, and consistent in themselves as far as the paper is."""

from __future__ import annotations

from decimal import Decimal

import pytest

from assay.reference.papers.loading import figures_of
from assay.reference.variability import (
    CODES,
    published_clocks,
    published_runs,
    published_systems,
)

# Printed coefficients that don't follow from the printed means and deviations.
AT_ODDS = {("Cray T3E", "LU"): 0.0008}


def bounds(value: float) -> tuple[float, float]:
    """What may have been rounded to a printed number."""
    half = 0.5 * 10.0 ** Decimal(str(value)).as_tuple().exponent
    return value - half, value + half


def entries():
    for found in published_runs():
        yield (found.system, found.code), found


@pytest.mark.parametrize(("key", "found"), list(entries()))
def test_coefficients_follow_from_means_and_deviations(key, found):
    mean, deviation = bounds(found.mean), bounds(found.deviation)
    low, high = deviation[0] / mean[1], deviation[1] / mean[0]
    printed = found.cov - 0.00005, found.cov + 0.00005
    agrees = printed[0] <= high and low <= printed[1]
    if key in AT_ODDS:
        assert not agrees
        assert abs(found.cov - found.deviation / found.mean) < AT_ODDS[key] + 0.0001
    else:
        assert agrees


def test_each_system_ran_each_code():
    assert {(r.system, r.code) for r in published_runs()} == {
        (system.name, code) for system in published_systems() for code in CODES
    }
    # "over 2,500 test runs were made", special tests included.
    assert sum(found.runs for found in published_runs()) == 2474


def test_table_3_has_table_2_s_coefficients_by_wall_clock():
    table_2 = {r.code: r.cov for r in published_runs() if r.system == "Cray T3E"}
    assert {found.code: found.wall for found in published_clocks()} == table_2
    assert all(found.accounting < 0.01 < found.wall for found in published_clocks())


@pytest.mark.parametrize(
    ("cluster", "system"),
    list(zip(("mcurie", "seaborg", "lemieux", "alvarez"), published_systems(), strict=True)),
)
def test_the_words_on_a_system_agree_with_its_figures(cluster, system):
    figures = figures_of("kramer-2003")
    assert system.ppn == figures[f"{cluster}.processors_per_node"].si
    assert system.processor.endswith(f", {figures[f'{cluster}.clock'].si / 1e6:.0f} MHz")
    load = figures.get(f"{cluster}.load")
    assert load is None or load.value in system.load
    assert (load is None) == (system.load == "very light")

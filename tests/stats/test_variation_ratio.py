"""The ratio of coefficients of variation of two sides, over all cells together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from assay.arrays import Floats
from assay.stats.compare.spreads import relative_deviations
from assay.stats.compare.variation_ratio import LEVEL, variation_ratio


def sides(
    seed: int, *, cells: int, launches: int, ratio: float, common: float = 0.0, tail: bool = False
) -> list[tuple[Floats, Floats]]:
    """Two sides with CoV 1% and ``ratio`` %; ``common``: what cells of a launch share."""
    random = np.random.default_rng(seed)

    def side(spread: float) -> Floats:
        shared = random.normal(size=launches)
        shape = (cells, launches)
        own = random.standard_t(3, shape) if tail else random.normal(size=shape)
        return 1.0 + 0.01 * spread * (common * shared + np.sqrt(1.0 - common**2) * own)

    return list(zip(side(1.0), side(ratio), strict=True))


def test_p_is_that_of_all_assignments() -> None:
    """With six launches per side all 924 assignments can be listed."""
    ((one, other),) = sides(5, cells=1, launches=6, ratio=3.0)
    deviations = [relative_deviations(each) for each in (one, other)]
    assert deviations[0] is not None and deviations[1] is not None
    squares = np.concatenate([deviations[0], deviations[1]]) ** 2
    total = squares.sum()
    found = squares[6:].sum() / squares[:6].sum()
    first = [squares[list(chosen)].sum() for chosen in combinations(range(12), 6)]
    ratios = np.array([(total - each) / each for each in first])
    exact = 2.0 * np.mean(ratios >= found * (1.0 - 1e-12))
    estimate = variation_ratio([(one, other)])
    assert estimate is not None
    assert estimate.p == pytest.approx(exact, rel=0.15)


@pytest.mark.long
def test_the_ratio_of_planted_spreads_is_found() -> None:
    trials = [
        variation_ratio(sides(seed, cells=8, launches=24, ratio=2.0, common=0.5))
        for seed in range(20)
    ]
    found = [each for each in trials if each is not None]
    assert {each.cells for each in found} == {8}
    # 95%; fewer than 16 of 20 would occur once in 400.
    assert sum(each.interval[0] <= 2.0 <= each.interval[1] for each in found) >= 16
    assert np.median([each.ratio for each in found]) == pytest.approx(2.0, rel=0.05)
    assert all(each.p <= LEVEL for each in found)


def test_exchanged_sides_have_the_inverse_ratio() -> None:
    pairs = sides(2, cells=5, launches=12, ratio=1.5)
    found = variation_ratio(pairs)
    reverse = variation_ratio([(other, one) for one, other in pairs])
    assert found is not None and reverse is not None
    assert reverse.ratio == pytest.approx(1.0 / found.ratio)
    ends = (1.0 / found.interval[1], 1.0 / found.interval[0])
    assert reverse.interval == pytest.approx(ends, rel=0.1)


@pytest.mark.parametrize(("common", "tail"), [(0.0, False), (0.8, False), (0.0, True)])
def test_equal_sides_are_not_called_different(common: float, tail: bool) -> None:
    """Also if the cells of a launch share most of what disturbs them."""
    found = [
        variation_ratio(sides(seed, cells=8, launches=12, ratio=1.0, common=common, tail=tail))
        for seed in range(30)
    ]
    assert all(each is not None and each.p > LEVEL for each in found)
    holds = [each is not None and each.interval[0] <= 1.0 <= each.interval[1] for each in found]
    # 95%; fewer than 25 of 30 would occur once in 700.
    assert sum(holds) >= 25


def test_cells_without_variation_or_with_few_launches_do_not_count() -> None:
    constant = np.ones(10)
    few = (np.array([1.0, 1.1, 1.2]), np.array([1.0, 1.1, 1.2]))
    assert variation_ratio([(constant, constant), few]) is None
    pairs = sides(3, cells=2, launches=12, ratio=1.0)
    found, more = variation_ratio(pairs), variation_ratio([*pairs, few, (constant, constant)])
    assert found is not None and found == more

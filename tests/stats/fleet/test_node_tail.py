"""Whether a node is outside of the tail of its fleet: probabilities and what they follow from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.stats.fleet.fleet import compare
from assay.stats.fleet.node_tail import (
    TAIL_LEVEL,
    beyond_tail,
    deviations,
    launch_errors,
    one_more,
)

CELLS = ("memory", "memory", "compute", "network")
# All scatter is natural, as far as the tables go.
NATURAL = np.array([0.0])


@pytest.mark.parametrize("seed", range(2))
def test_the_farthest_of_normal_nodes_is_outside_as_rarely_as_stated(seed: int) -> None:
    away = np.random.default_rng(seed).standard_normal((60, 150))
    least = [float(beyond_tail(away[:, [c]], NATURAL).min()) for c in range(150)]
    outside = np.count_nonzero(np.array(least) <= TAIL_LEVEL)
    assert outside <= stats.binom.ppf(0.9999, 150, TAIL_LEVEL)


@pytest.mark.parametrize("kind", ["t3", "lognormal"])
def test_the_farthest_of_nodes_with_a_long_tail_is_seldom_outside(kind: str) -> None:
    """These are the longest tails, of which 8% may be outside: of 150 at most 24 but for 1e-4."""
    drawn = np.random.default_rng(3)
    outside = 0
    for _ in range(150):
        draws = drawn.standard_t(3, 50) if kind == "t3" else drawn.lognormal(0.0, 1.0, 50)
        away = draws - np.median(draws)
        away /= 1.4826 * np.median(np.abs(away))
        outside += bool(beyond_tail(away[:, None], NATURAL).min() <= TAIL_LEVEL)
    assert outside <= stats.binom.ppf(0.9999, 150, 0.08)


def test_the_gap_counts_and_not_the_distance() -> None:
    """The same farthest node, beyond normal nodes and beyond nodes with a long tail."""
    shares = (np.arange(60) + 0.5) / 60
    alone, led = stats.norm.ppf(shares), stats.t.ppf(shares, 2)
    alone[-1] = led[-1] = 9.0
    p_alone = beyond_tail(alone[:, None], NATURAL)
    p_led = beyond_tail(led[:, None], NATURAL)
    assert p_alone[-1] <= TAIL_LEVEL < p_led[-1]
    assert p_alone[:30].min() == 1.0


def test_several_candidates_have_the_p_of_the_last_gap_behind_them() -> None:
    shares = (np.arange(60) + 0.5) / 60
    away = stats.norm.ppf(shares)
    away[-3:] = 9.0, 9.1, 12.0
    p = beyond_tail(away[:, None], NATURAL)
    assert p[-3:].max() <= TAIL_LEVEL
    assert p[-4] == 1.0
    assert p[-3] == p[-2]


def test_the_column_with_most_cells_has_three_quarters_of_the_level() -> None:
    away = np.random.default_rng(2).standard_normal((50, 3))
    away[7, 2] = 8.0
    alone = float(beyond_tail(away[:, 2:], NATURAL)[7])
    together = float(beyond_tail(away, np.zeros(3))[7])
    assert together == pytest.approx(alone / 0.75)
    turned = float(beyond_tail(away[:, ::-1], np.zeros(3))[7])
    assert turned == pytest.approx(min(2.0 * alone / 0.25, 1.0))


def test_a_fleet_of_five_thousand_nodes_is_judged() -> None:
    away = np.random.default_rng(6).standard_normal((5000, 1))
    away[[4, 70], 0] = 9.0
    p = beyond_tail(away, NATURAL)
    assert p[[4, 70]].max() <= TAIL_LEVEL
    assert np.delete(p, [4, 70]).min() > TAIL_LEVEL


def test_missing_values_have_no_p() -> None:
    drawn = np.random.default_rng(4)
    costs = np.exp(0.01 * drawn.standard_normal((50, len(CELLS), 3)))
    costs[2] = np.nan
    compared = compare(costs, CELLS)
    p = beyond_tail(deviations(compared), launch_errors(compared))
    assert np.isnan(p[2])
    assert np.isfinite(np.delete(p, 2)).all()


@pytest.mark.parametrize(("between", "expected"), [(0.0, 1.0), (0.01, 0.5)])
def test_the_launches_share_of_the_scatter_is_known(between: float, expected: float) -> None:
    """CoV 1% over three launches: an error of 0.58%, beside a natural scatter of 0 or 1%."""
    drawn = np.random.default_rng(8)
    logs = between * drawn.standard_normal((400, 4, 1)) + 0.01 * drawn.standard_normal((400, 4, 3))
    shares = launch_errors(compare(np.exp(logs), CELLS))
    assert shares == pytest.approx(np.full(shares.size, expected), abs=0.12)


def test_single_launches_tell_nothing_of_their_error() -> None:
    drawn = np.random.default_rng(9)
    compared = compare(np.exp(0.01 * drawn.standard_normal((40, 4, 1))), CELLS)
    assert launch_errors(compared).tolist() == [0.0] * compared.shift.shape[1]


def test_one_more_node_has_the_p_that_it_would_have_in_the_fleet() -> None:
    away = np.random.default_rng(5).standard_normal((60, 1))
    sizes = np.array([[0.5], [3.5], [6.0], [12.0]])
    p = one_more(away, NATURAL, sizes)
    assert list(p) == sorted(p, reverse=True)
    for size, found in zip(sizes[1:, 0], p[1:], strict=True):
        joined = np.append(away[:, 0], np.median(away) + size)[:, None]
        # The fit of the whole fleet moves its median a little.
        assert np.log(beyond_tail(joined, NATURAL)[-1]) == pytest.approx(np.log(found), abs=0.5)

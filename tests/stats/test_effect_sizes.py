"""Shares of variance against their definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assay.stats.compare.anova import anova
from assay.stats.compare.effect_sizes import _unseen

LEVELS = (("x", "y"), ("u", "v", "w"))


def design(n: int) -> tuple[list[str], list[str]]:
    """Each combination n times."""
    pairs = [pair for pair in itertools.product(*LEVELS) for _ in range(n)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def planted(n: int, sizes: tuple[float, float, float]) -> np.ndarray:
    """Effects of both factors and of both together."""
    a, b = design(n)
    one = {"x": -sizes[0], "y": sizes[0]}
    other = {"u": -sizes[1], "v": 0.0, "w": sizes[1]}
    both = np.array([sizes[2] * ((p == "x") == (q == "u")) for p, q in zip(a, b, strict=True)])
    return np.array([one[p] + other[q] for p, q in zip(a, b, strict=True)]) + both


def simulated(rng: np.random.Generator, n: int, sizes: tuple[float, float, float]) -> np.ndarray:
    """The same with normal noise of 1."""
    return planted(n, sizes) + rng.standard_normal(6 * n)


def test_shares_follow_from_the_sums_of_squares() -> None:
    """Hays' omega squared, written out for a balanced design by means of its cells."""
    n = 5
    values = simulated(np.random.default_rng(1), n, (1.0, 2.0, 0.7))
    a, b = design(n)
    cells = values.reshape(2, 3, n)
    grand = values.mean()
    of_a = 3 * n * ((cells.mean(axis=(1, 2)) - grand) ** 2).sum()
    of_b = 2 * n * ((cells.mean(axis=(0, 2)) - grand) ** 2).sum()
    of_cells = n * ((cells.mean(axis=2) - grand) ** 2).sum()
    error = ((cells - cells.mean(axis=2, keepdims=True)) ** 2).sum() / (6 * (n - 1))
    total = ((values - grand) ** 2).sum()
    found = anova(values, {"a": a, "b": b}, log=False, sizes=True)
    expected = [
        (squares - freedom * error) / (total + error)
        for squares, freedom in ((of_a, 1), (of_b, 2), (of_cells - of_a - of_b, 2))
    ]
    assert [effect.share for effect in found.effects] == pytest.approx(expected)
    assert all(effect.share_ci95 is not None for effect in found.effects)
    plain = anova(values, {"a": a, "b": b}, log=False)
    assert {effect.share for effect in plain.effects} == {None}
    assert [effect.p for effect in plain.effects] == [effect.p for effect in found.effects]


def test_intervals_hold_the_true_share() -> None:
    """Of 120 intervals at 95%, under 105 have a probability of 0.3% even at 94%."""
    sizes, n, trials = (1.0, 2.0, 0.7), 6, 120
    rng = np.random.default_rng(7)
    effects = planted(1, sizes).reshape(2, 3)
    grand = effects.mean()
    variance = ((effects - grand) ** 2).mean() + 1.0
    truth = ((effects.mean(axis=1) - grand) ** 2).mean() / variance
    held = 0
    columns = dict(zip(("a", "b"), design(n), strict=True))
    for _ in range(trials):
        found = anova(simulated(rng, n, sizes), columns, log=False, sizes=True)
        low, high = found.effects[0].share_ci95 or (1.0, 0.0)
        held += low <= truth <= high
    assert held >= 105


def test_intervals_hold_the_true_share_where_noise_has_a_long_tail() -> None:
    """Lognormal noise of mean 0 and deviation 1, skewness 6: if 90% of the intervals hold, fewer
    than 80 of 100 do with a probability of 0.1%.
    """
    n, trials = 6, 100
    rng = np.random.default_rng(8)
    columns = dict(zip(("a", "b"), design(n), strict=True))
    effects = planted(n, (0.5, 0.0, 0.0))
    truth = 0.25 / 1.25
    held = 0
    for _ in range(trials):
        noise = (rng.lognormal(size=6 * n) - np.exp(0.5)) / np.sqrt((np.e - 1.0) * np.e)
        found = anova(effects + noise, columns, log=False, sizes=True, interactions=False)
        own = found.effects[0]
        low, high = own.share_ci95 or (1.0, 0.0)
        held += low <= truth <= high
    assert held >= 80


def test_what_few_values_do_not_show_of_a_tail() -> None:
    """Nothing where they are normal or flatter; else by the kurtosis of what the cells leave."""
    groups = np.repeat(np.arange(4), 10)
    counts = np.bincount(groups)
    flat = np.tile([-1.0, 1.0], 20) + 100.0 * groups  # kurtosis 1
    assert _unseen(flat, groups, counts) == 0.0
    assert _unseen(np.ones(40), groups, counts) == 0.0
    # One pair in one cell: sum of fourth powers over squares' is a half, so kurtosis 20.
    pair = np.where(np.arange(40) < 2, np.tile([-1.0, 1.0], 20), 0.0) + groups
    assert _unseen(pair, groups, counts) == pytest.approx(np.sqrt(17.0 * 60.0 / 40.0 / 160.0))


def test_values_that_never_vary_have_no_shares() -> None:
    a, b = design(3)
    found = anova(np.full(18, 2.0), {"a": a, "b": b}, log=False, sizes=True)
    assert [effect.share for effect in found.effects] == [0.0] * 3

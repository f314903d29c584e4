"""Warm-up detection: a literal version, planted warm-ups, what must not count as one."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from assay.stats.core.warmup import mid_ranks, warmup

TIMINGS = json.loads((Path(__file__).parents[1] / "data/stats/sort_timings.json").read_text())[
    "values"
]


def literal_ranks(values: list[float]) -> list[Fraction]:
    return [
        sum(x < y for x in values) + Fraction(sum(x == y for x in values) + 1, 2) for y in values
    ]


def literal_warmup(values: list[float]) -> int:
    n = len(values)
    ranks = literal_ranks(values)
    errors = []
    for cut in range(n // 2 + 1):
        left = ranks[cut:]
        mean = sum(left, start=Fraction(0)) / len(left)
        errors.append(sum((r - mean) ** 2 for r in left) / Fraction(len(left)) ** 2)
    return errors.index(min(errors)) if n > 1 else 0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 40, 75])
def test_is_the_literal_rule(n: int) -> None:
    for seed in range(10):
        values = np.random.default_rng([n, seed]).exponential(size=n)
        values[: n // 4] += seed
        coarse = np.round(values, 1)  # with ties
        assert warmup(values) == literal_warmup(values.tolist())
        assert warmup(coarse) == literal_warmup(coarse.tolist())
        assert [float(r) for r in literal_ranks(coarse.tolist())] == mid_ranks(coarse).tolist()


@pytest.mark.parametrize(("n", "planted", "slower"), [(40, 5, 6.0), (100, 20, 5.0), (400, 60, 3.0)])
def test_planted_warmup_is_found(n: int, planted: int, slower: float) -> None:
    found = []
    for seed in range(200):
        values = np.random.default_rng([n, seed]).normal(100.0, 1.0, size=n)
        values[:planted] += slower
        found.append(warmup(values))
    assert np.median(found) == planted
    assert np.quantile(found, 0.1) >= planted - 2
    assert np.quantile(found, 0.9) <= planted + n // 10


def test_decaying_warmup_is_cut_where_it_drowns_in_noise() -> None:
    cuts = []
    for seed in range(200):
        values = np.random.default_rng([3, seed]).normal(100.0, 1.0, size=300)
        values += 20.0 * np.exp(-np.arange(300) / 15.0)
        cuts.append(warmup(values))
    # 20 exp(-k/15) falls to 2 deviations at k = 35 and to 0.5 at k = 55.
    assert 30 <= np.median(cuts) <= 60


def test_steady_series_keep_nearly_everything() -> None:
    shares = [
        warmup(np.random.default_rng([4, seed]).lognormal(size=100)) / 100 for seed in range(300)
    ]
    assert np.mean(shares) < 0.02


def test_interruptions_are_no_warmup() -> None:
    cuts = []
    for seed in range(200):
        rng = np.random.default_rng([5, seed])
        values = rng.normal(100.0, 1.0, size=200)
        values[rng.integers(20, 90, size=3)] = 1e6
        cuts.append(warmup(values))
    assert np.mean(cuts) < 5


def test_never_more_than_half() -> None:
    for n in (2, 3, 7, 10, 101):
        assert warmup(-np.arange(n, dtype=float)) <= n // 2
    late = np.concatenate([np.full(80, 9.0), np.full(20, 1.0)]) + np.arange(100) * 1e-6
    assert warmup(late) <= 50


def test_real_timings_are_pinned() -> None:
    assert warmup(TIMINGS) == literal_warmup(TIMINGS) == 77

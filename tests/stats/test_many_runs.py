"""Statistics of 1 to 100,000 values: none overflows, none needs memory that grows as a square."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from assay.errors import AssayError
from assay.stats.cells.caveats import drift
from assay.stats.changes.detectable import detectable_step, halves
from assay.stats.changes.mode_share import mode_share
from assay.stats.changes.reordering import changed, critical_gain
from assay.stats.changes.segments import shifted
from assay.stats.compare.group_tests import brunner_munzel, hodges_lehmann, normality
from assay.stats.compare.two_sides import launches_needed, ratio_of_sides
from assay.stats.core.correlation import correlated_intervals, effective_size
from assay.stats.core.histogram import histogram
from assay.stats.core.intervals import interval_ranks, median_interval
from assay.stats.core.launches import are_ordered, launch_interval
from assay.stats.core.modes import dip, find_modes
from assay.stats.core.multiple import corrected
from assay.stats.core.proportions import clopper_pearson
from assay.stats.core.summary import cov_interval, summarise
from assay.stats.core.tails import medcouple, tails
from assay.stats.core.totals import total_time
from assay.stats.core.trend import trend
from assay.stats.core.warmup import mid_ranks, warmup
from assay.stats.fleet import peers
from assay.stats.fleet.peers import qn
from assay.stats.noise.detours import expected_maximum
from assay.stats.repeats.spread import describe
from assay.stats.repeats.walltime import asked_walltime, cost_of_asking
from found_changes import find_changes

Values = np.ndarray


def halved(function: Callable[..., object]) -> Callable[[Values], object]:
    return lambda x: function(x[: max(x.size // 2, 1)], x[x.size // 2 :])


STATISTICS: dict[str, Callable[[Values], object]] = {
    "find_changes": find_changes,
    "changed": lambda x: changed(np.log(x)),
    "changed passing": lambda x: changed(np.log(x), passing=True),
    "critical_gain": lambda x: critical_gain(np.log(x), 0.0, 0.01),
    "detectable_step": lambda x: detectable_step(np.log(x), *halves(x.size), rho=0.2, level=0.005),
    "shifted": halved(lambda a, b: shifted(np.log(a), np.log(b))),
    "mode_share": halved(lambda a, b: mode_share(np.log(a), np.log(b))),
    "ratio_of_sides": halved(ratio_of_sides),
    "launches_needed": halved(lambda a, b: launches_needed(a, b, 0.01, 3)),
    "hodges_lehmann": halved(hodges_lehmann),
    "brunner_munzel": lambda x: brunner_munzel(x, x[::-1] * 1.001) if x.size > 2 else None,
    "normality": normality,
    "drift": drift,
    "correlated_intervals": lambda x: correlated_intervals([x]),
    "effective_size": effective_size,
    "histogram": histogram,
    "interval_ranks": lambda x: interval_ranks(x.size, 0.3),
    "median_interval": median_interval,
    "are_ordered": are_ordered,
    "launch_interval": launch_interval,
    "dip": dip,
    "find_modes": find_modes,
    "corrected": lambda x: corrected(np.minimum(x, 1.0)),
    "clopper_pearson": lambda x: clopper_pearson(x.size // 2, x.size),
    "summarise": summarise,
    "medcouple": medcouple,
    "tails": tails,
    "total_time": lambda x: total_time(x, 1000),
    "trend": lambda x: trend(x, np.arange(x.size, dtype=float)),
    "mid_ranks": mid_ranks,
    "warmup": warmup,
    "qn": lambda x: qn(x) if x.size > 1 else None,
    "expected_maximum": lambda x: expected_maximum(x, 100_000),
    "cov_interval": cov_interval,
    "describe": describe,
    "asked_walltime": asked_walltime,
    "cost_of_asking": lambda x: cost_of_asking(x, 1.0),
}


def values(kind: str, n: int) -> Values:
    if kind == "constant":
        return np.full(n, 0.25)
    drawn = np.exp(0.01 * np.random.default_rng(n).standard_normal(n))
    return np.round(drawn, 2) if kind == "ties" else drawn


def check(name: str, kind: str, n: int) -> None:
    try:
        STATISTICS[name](values(kind, n))
    except AssayError:
        assert n < 10  # too few values may be refused, with a sentence


@pytest.mark.parametrize("kind", ["drawn", "constant", "ties"])
@pytest.mark.parametrize("n", [1, 1030])
def test_one_and_a_thousand(n: int, kind: str) -> None:
    for name in STATISTICS:
        check(name, kind, n)


@pytest.mark.long
@pytest.mark.parametrize("n", [10_000, 100_000])
@pytest.mark.parametrize("name", STATISTICS)
def test_very_many(name: str, n: int) -> None:
    check(name, "drawn", n)


def test_counted_pairs_have_the_same_quantile(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [values(kind, n) for kind in ("drawn", "ties", "constant") for n in (10, 11, 400)]
    listed = [qn(sample) for sample in samples]
    monkeypatch.setattr(peers, "_MOST_PAIRED", 1)
    assert [qn(sample) for sample in samples] == pytest.approx(listed, rel=1e-12, abs=1e-15)


def test_no_values_are_refused_with_a_sentence() -> None:
    for name in ("find_changes", "summarise", "median_interval", "describe"):
        with pytest.raises(AssayError):
            STATISTICS[name](np.empty(0))
        with pytest.raises(AssayError):
            STATISTICS[name](np.array([1.0, math.nan, 2.0]))

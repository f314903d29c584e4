"""What was chosen for its result: headlines, the best of several cells, directions, weak causes.

Intervals must contain the true value of the chosen cell, although its result was the reason to
choose it. Answers on equal cells must not say that one is faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from causes import simulated_repeats, surroundings
from rate import Rate

from assay.stats.attribution.attribution import attribute
from assay.stats.compare.chosen import chosen_estimate
from assay.stats.core.intervals import Estimate, median_interval
from assay.stats.repeats.repeats import Repeats
from directions_in import directions_of
from drawn_launches import lognormal, normal, t3
from equal_cells import answers, cell, equal_cells

_COV, _LAUNCHES = 0.02, 6


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Every rate that docs/methods/ state of choices."""
    for count, spread, shape in (
        (30, 0.0, "normal"),
        (30, 0.0, "t4"),
        (30, 1.0, "normal"),
        (30, 4.0, "normal"),
        (5, 1.0, "normal"),
        (2, 0.0, "normal"),
    ):
        random = np.random.default_rng((seed, count))
        held = sum(_holds(random, count, spread, shape) for _ in range(trials))
        yield Rate(
            "the interval of the best holds its time",
            f"{count} cells that differ by {spread:g} standard errors, 6 launches, {shape}, CoV 2%",
            held,
            trials,
            0.92,
            "coverage",
        )
    yield from _headlines(trials, seed)
    yield _directions(trials, seed)
    for n, share in ((20, 0.3), (30, 0.2), (50, 0.1)):
        random = np.random.default_rng((seed, n))
        held = of = 0
        for _ in range(trials):
            for found in attribute(_weak(random, n, share)).shares:
                if found.cause == "clock":
                    of += 1
                    held += found.ci95[0] <= share <= found.ci95[1]
        if of:
            yield Rate(
                "the interval of a weak cause holds its share, where named",
                f"{share:.0%} of variance, n = {n}",
                held,
                of,
                0.92,
                "coverage",
            )


def _headlines(trials: int, seed: int) -> Iterable[Rate]:
    """The headline of the answer on speed, which is the best of several orders of DGEMM."""
    for count in (8, 20):
        for spread in (0.0, 1.0):
            for name, noise in (("normal", normal), ("lognormal", lognormal), ("t3", t3)):
                random = np.random.default_rng((seed, count))
                error = _COV * math.sqrt(math.pi / 2.0 / _LAUNCHES)
                held = 0
                for trial in range(trials):
                    rates = 6e10 * np.exp(spread * error * random.normal(size=count))
                    planted = [
                        cell("compute.dgemm", float(rate), n=100 * (1 + place))
                        for place, rate in enumerate(rates)
                    ]
                    truth = {one.id: one.metrics["rate"].median for one in planted}
                    (answer,) = answers(
                        planted, 1, cov=_COV, launches=_LAUNCHES, seed=trial, noise=noise
                    )
                    row = answer.evidence[0]
                    low, high = row.ci95 or (math.inf, -math.inf)
                    held += low <= truth[row.cells[0]] <= high
                yield Rate(
                    "the interval of the headline of speed holds its rate",
                    f"{count} orders of DGEMM that differ by {spread:g} standard errors, "
                    f"{_LAUNCHES} launches, {name}, CoV 2%",
                    held,
                    trials,
                    0.93,
                    "coverage",
                )


def _directions(trials: int, seed: int) -> Rate:
    """Answers on speed with a word of direction, from cells that are all equal."""
    planted = equal_cells()
    found = sum(bool(directions_of(one)) for one in answers(planted, trials, seed=seed))
    return Rate(
        "the answer on speed has a word of direction",
        f"{len(planted)} equal cells of all kernels, {_LAUNCHES} launches, normal, CoV 1%",
        found,
        trials,
        0.005,
        "false alarm",
    )


def _holds(random: np.random.Generator, count: int, spread: float, shape: str) -> bool:
    """Whether the interval of the best of ``count`` cells holds its time.

    ``spread``: of their times, in standard errors of a cell's mean.
    """
    truth = np.exp(spread * _COV / math.sqrt(_LAUNCHES) * random.normal(size=count))
    size = (count, _LAUNCHES)
    noise = random.normal(size=size) if shape == "normal" else random.standard_t(4, size) / 2**0.5
    rows = truth[:, None] * np.exp(_COV * noise)
    best = int(np.argmin(np.median(rows, axis=1)))
    own = Estimate(float(np.median(rows[best])), median_interval(rows[best]))
    interval = chosen_estimate(own, list(rows), best).interval
    return interval is not None and bool(interval[0] <= truth[best] <= interval[1])


def _weak(random: np.random.Generator, n: int, share: float) -> Repeats:
    """A cell in which the cores' clock explains ``share`` of the log cost's variance."""
    around = surroundings(random, n)
    slow = random.normal(size=n)
    around["clock_rate"] = 2.6e9 * (1.0 - 1e-3 * slow)
    log_cost = math.sqrt(share) * slow + math.sqrt(1.0 - share) * random.normal(size=n)
    return simulated_repeats(np.exp(0.01 * log_cost), around)

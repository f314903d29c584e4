"""Coverage of the 95% intervals, over synthetic series with known parameters.

    .venv/bin/python benchmarks/coverage.py [--series 20000] [--seed 2004]

prints the tables of docs/methods/sampling.md. tests/stats/test_coverage.py runs the same functions,
smaller.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from assay.model.replication import Replication
from assay.stats.cells.launch_rule import FAR_BELOW, looks
from assay.stats.core.correlation import correlated_intervals
from assay.stats.core.intervals import Estimate, at_rank, interval_ranks, ratio_interval
from assay.stats.core.launches import ENOUGH, launch_interval

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]

# Median 0 each: draws less their true median.
DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape) - math.log(2.0),
    "lognormal": lambda rng, shape: np.exp(rng.standard_normal(shape)) - 1.0,
    "Pareto 1.5": lambda rng, shape: rng.pareto(1.5, shape) + 1.0 - 2.0 ** (1.0 / 1.5),
    "Cauchy": lambda rng, shape: rng.standard_cauchy(shape),
}
SIZES = (6, 7, 8, 10, 12, 20, 30, 100, 1000)
WORST_CASE_PRECISIONS = tuple(np.geomspace(0.08, 4.0, 30))


def rows_at_once(size: int) -> int:
    """The number of series that keeps a block under 100 MB."""
    return max(1, min(20_000, 3_000_000 // size))


def share(hits: Sequence[tuple[int, int]]) -> float:
    return sum(hit for hit, _ in hits) / sum(count for _, count in hits)


def blocks(series: int, size: int) -> list[int]:
    step = rows_at_once(size)
    return [min(step, series - start) for start in range(0, series, step)]


def median_rows(rows: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """The median's interval of each row."""
    ranks = interval_ranks(rows.shape[1], 0.5, confidence)
    assert ranks is not None
    ordered = np.sort(rows, axis=1)
    return at_rank(ordered, ranks.lower), at_rank(ordered, ranks.upper)


def launch_rows(rows: Floats) -> tuple[Floats, Floats]:
    """The interval of each row of launches, which from twenty on accounts for dependence."""
    low, high = median_rows(rows)
    if rows.shape[1] >= ENOUGH:
        found = [launch_interval(row) for row in rows]
        ends = np.array([each for each in found if each is not None])
        low, high = ends[:, 0], ends[:, 1]
    return low, high


def independent(name: str, size: int, series: int, seed: int, p: float = 0.5) -> float:
    """Coverage of the p-quantile's interval over independent samples."""
    rng = np.random.default_rng(seed)
    truth = 0.0
    if p != 0.5:
        assert name == "exponential"
        truth = -math.log(1.0 - p) - math.log(2.0)
    ranks = interval_ranks(size, p)
    assert ranks is not None
    hits = []
    for count in blocks(series, size):
        ordered = np.sort(DISTRIBUTIONS[name](rng, (count, size)), axis=1)
        low, high = at_rank(ordered, ranks.lower), at_rank(ordered, ranks.upper)
        hits.append((int(((low <= truth) & (truth <= high)).sum()), count))
    return share(hits)


def autoregressive(rng: np.random.Generator, shape: tuple[int, int], phi: float) -> Floats:
    """AR(1) of unit variance, stationary from its first sample."""
    noise = rng.standard_normal(shape)
    series = np.empty(shape)
    series[:, 0] = noise[:, 0]
    innovation = math.sqrt(1.0 - phi * phi)
    for i in range(1, shape[1]):
        series[:, i] = phi * series[:, i - 1] + innovation * noise[:, i]
    return series


def moving_average(rng: np.random.Generator, shape: tuple[int, int], width: int) -> Floats:
    """Mean of the last ``width`` of independent normal numbers."""
    noise = rng.standard_normal((shape[0], shape[1] + width))
    sums = np.cumsum(noise, axis=1)
    return np.asarray((sums[:, width:] - sums[:, :-width]) / width)


CORRELATED: dict[str, tuple[Draw, float]] = {
    "independent": (lambda rng, shape: rng.standard_normal(shape), 0.0),
    "AR(1) 0.2": (lambda rng, shape: autoregressive(rng, shape, 0.2), 0.0),
    "AR(1) 0.5": (lambda rng, shape: autoregressive(rng, shape, 0.5), 0.0),
    "AR(1) 0.8": (lambda rng, shape: autoregressive(rng, shape, 0.8), 0.0),
    "AR(1) 0.9": (lambda rng, shape: autoregressive(rng, shape, 0.9), 0.0),
    "AR(1) -0.5": (lambda rng, shape: autoregressive(rng, shape, -0.5), 0.0),
    "MA of 4": (lambda rng, shape: moving_average(rng, shape, 4), 0.0),
    "MA of 10": (lambda rng, shape: moving_average(rng, shape, 10), 0.0),
    "exp AR(1) 0.8": (lambda rng, shape: np.exp(autoregressive(rng, shape, 0.8)), 1.0),
    "exp AR(1) 0.9": (lambda rng, shape: np.exp(autoregressive(rng, shape, 0.9)), 1.0),
    "clock of 0.5 sd": (
        lambda rng, shape: 0.5 * np.round(2.0 * autoregressive(rng, shape, 0.8)),
        0.0,
    ),
}


def correlated(name: str, size: int, series: int, seed: int, *, naive: bool = False) -> float:
    """Coverage of the median's interval over dependent samples, or of the interval that ignores
    dependence.
    """
    rng = np.random.default_rng(seed)
    draw, truth = CORRELATED[name]
    hits = []
    for count in blocks(series, size):
        rows = draw(rng, (count, size))
        low, high = median_rows(rows) if naive else np.array(correlated_intervals(list(rows))).T
        hits.append((int(((low <= truth) & (truth <= high)).sum()), count))
    return share(hits)


def two_level(
    launches: int, series: int, seed: int, *, ratio: float = 1.0, samples: tuple[int, int] = (5, 60)
) -> tuple[float, float]:
    """Coverage of the across-launch median: from launch medians, and from pooled samples.

    A launch's offset is normal with ``ratio`` times the deviation of its samples, which are
    exponential about it. Sizes of launches are drawn evenly from ``samples``.
    """
    rng = np.random.default_rng(seed)
    most = samples[1]
    hit = pooled_hit = 0
    for _ in range(series):
        offsets = ratio * rng.standard_normal(launches)
        sizes = rng.integers(samples[0], most, size=launches, endpoint=True)
        noise = rng.standard_exponential((launches, most)) - math.log(2.0)
        values = [offset + row[:n] for offset, row, n in zip(offsets, noise, sizes, strict=True)]
        medians = np.array([[np.median(launch) for launch in values]])
        low, high = median_rows(medians)
        hit += bool(low[0] <= 0.0 <= high[0])
        low, high = median_rows(np.concatenate(values)[None, :])
        pooled_hit += bool(low[0] <= 0.0 <= high[0])
    return hit / series, pooled_hit / series


def stopped(
    name: str,
    precisions: Sequence[float],
    series: int,
    seed: int,
    replication: Replication,
    *,
    successive: int = 2,
    far_below: float = FAR_BELOW,
    sizes: Sequence[int] | None = None,
) -> list[tuple[float, float]]:
    """Coverage and mean number of launches when stopping by the rule at each absolute precision.

    The half-width is compared with the precision itself: the median of DISTRIBUTIONS is 0, as if a
    large constant were added to every launch. ``successive`` = 1 with ``far_below`` = 1 stops at
    the first narrow interval.
    """
    rng = np.random.default_rng(seed)
    sizes = sizes or looks(replication)
    values = DISTRIBUTIONS[name](rng, (series, sizes[-1]))
    intervals = [launch_rows(values[:, :size]) for size in sizes]
    outcome = []
    for precision in precisions:
        done = np.zeros(series, dtype=bool)
        hit = np.zeros(series, dtype=bool)
        held = np.zeros(series, dtype=int)
        used = np.zeros(series)
        for size, (low, high) in zip(sizes, intervals, strict=True):
            width = (high - low) / 2.0
            held = np.where(width <= precision, held + 1, 0)
            stop = (held >= successive) | (width * far_below <= precision) | (size == sizes[-1])
            now = ~done & stop
            hit |= now & (low <= 0.0) & (high >= 0.0)
            used[now] = size
            done |= now
        outcome.append((float(hit.mean()), float(used.mean())))
    return outcome


def worst(outcome: list[tuple[float, float]]) -> tuple[float, float]:
    """The minimum coverage, and the mean number of launches there."""
    return min(outcome)


def ratio(sizes: tuple[int, int], series: int, seed: int) -> float:
    """Coverage of the ratio of two lognormal medians (3 and 2, deviations 0.1 and 0.3)."""
    rng = np.random.default_rng(seed)
    top = 3.0 * np.exp(0.1 * rng.standard_normal((series, sizes[0])))
    bottom = 2.0 * np.exp(0.3 * rng.standard_normal((series, sizes[1])))
    hit = 0
    ends = zip(
        np.median(top, axis=1),
        *median_rows(top),
        np.median(bottom, axis=1),
        *median_rows(bottom),
        strict=True,
    )
    for a, a_low, a_high, b, b_low, b_high in ends:
        interval = ratio_interval(Estimate(a, (a_low, a_high)), Estimate(b, (b_low, b_high)))
        assert interval is not None
        hit += bool(interval[0] <= 1.5 <= interval[1])
    return hit / series


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("| " + " | ".join("---" for _ in head) + " |")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def percent(value: float) -> str:
    return f"{100.0 * value:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=2004)
    given = parser.parse_args()
    series, seed = given.series, given.seed
    print(f"{series} series each, seed {seed}; coverage of the 95% interval in percent.\n")

    print("Median, independent samples\n")
    table(
        ["distribution", *map(str, SIZES)],
        [
            [name, *(percent(independent(name, n, series, seed + n)) for n in SIZES)]
            for name in DISTRIBUTIONS
        ],
    )
    print("Other quantiles, exponential\n")
    quantiles = (
        (0.25, 20),
        (0.25, 100),
        (0.75, 20),
        (0.9, 40),
        (0.9, 200),
        (0.95, 100),
        (0.99, 500),
    )
    table(
        [f"p={p:g}, n={n}" for p, n in quantiles],
        [[percent(independent("exponential", n, series, seed + n, p)) for p, n in quantiles]],
    )
    print("Median, dependent samples (in brackets: the interval that ignores it)\n")
    sizes = (30, 100, 200, 300, 500, 1000)
    rows = []
    for name in CORRELATED:
        row = [name]
        for n in sizes:
            kept = percent(correlated(name, n, series, seed + n))
            naive = percent(correlated(name, n, series, seed + n, naive=True))
            row.append(f"{kept} ({naive})")
        rows.append(row)
    table(["series", *(f"n={n}" for n in sizes)], rows)

    print("Two levels: across-launch median from 5 to 60 samples per launch\n")
    rows = []
    for launches in (6, 8, 12, 20, 30):
        row = [str(launches)]
        for spread in (0.1, 0.5, 1.0, 3.0):
            medians, pooled = two_level(launches, series // 4, seed + launches, ratio=spread)
            row.append(f"{percent(medians)} ({percent(pooled)})")
        rows.append(row)
    table(["launches", *(f"offset {s} sd (pooled)" for s in (0.1, 0.5, 1.0, 3.0))], rows)

    print("Optional stopping: worst over 30 precisions, with the mean number of launches there\n")
    rule = Replication()
    variants = {
        "as shipped": (rule, {}),
        "first narrow interval, every launch": (
            rule,
            {"successive": 1, "sizes": range(6, 31)},
        ),
        "first narrow interval, geometric looks": (rule, {"successive": 1}),
        "two looks, no exception": (rule, {"far_below": math.inf}),
        "as shipped, at most 12": (Replication(max_launches=12), {}),
        "as shipped, at most 100": (Replication(max_launches=100), {}),
    }
    rows = []
    for label, (replication, options) in variants.items():
        row = [label]
        for name in DISTRIBUTIONS:
            coverage, used = worst(
                stopped(name, WORST_CASE_PRECISIONS, 3 * series, seed, replication, **options)
            )
            row.append(f"{percent(coverage)} ({used:.0f})")
        rows.append(row)
    table(["rule", *DISTRIBUTIONS], rows)

    print("Ratio of two medians\n")
    pairs = ((6, 6), (6, 30), (12, 12), (30, 100))
    table(
        [f"n={a} and {b}" for a, b in pairs],
        [[percent(ratio(pair, series, seed + sum(pair))) for pair in pairs]],
    )


if __name__ == "__main__":
    main()

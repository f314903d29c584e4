"""Launches that depend on each other or have modes: intervals, caveats and high confidence

Launches are normal with a coefficient of variation of 2%, unless stated otherwise. Medians are
known: 100, of two modes the median of the mixture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from draws import Draw, Rng, Table, autocorrelated, normal
from rate import Rate

from assay.model.replication import Replication
from assay.questions.common.confidence import is_too_narrow
from assay.stats.cells.launch_rule import looks, needs_more
from assay.stats.compare.verdicts import SidePair, decide
from assay.stats.core.launches import are_ordered, launch_interval
from assay.stats.core.model import MetricSummary

MEDIAN, MARGIN = 100.0, 0.01
RULE = Replication(precision=0.01, min_launches=6, max_launches=30)
# Cells that stop by precision are some, those with high confidence fewer.
CELLS = 4


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Every rate that docs/methods/sampling.md states of launches."""
    table = Table(trials, seed)
    yield from _coverage(table)
    yield from _caveat(table)
    yield from _equal(table)
    yield from _high(trials, seed)


def _dependent(rng: Rng, n: int, by: float) -> np.ndarray:
    return autocorrelated(rng, n, by) if by else normal(rng, n)


def _name(by: float) -> str:
    return f"AR(1) {by:g}" if by else "independent"


def _coverage(table: Table) -> Iterator[Rate]:
    for n in (20, 30):
        for by in (0.0, 0.3, 0.5):

            def holds(rng: Rng, by: float = by, n: int = n) -> bool:
                interval = launch_interval(_dependent(rng, n, by))
                return interval is not None and bool(interval[0] <= MEDIAN <= interval[1])

            yield table.rate(
                "95% interval holds the median", f"{_name(by)}, n = {n}", 0.92, "coverage", holds
            )


def _caveat(table: Table) -> Iterator[Rate]:
    """The caveat that neighbouring launches are similar."""
    for n in (6, 10, 14, 30):
        yield table.rate(
            "launches are said to depend on each other",
            f"independent, n = {n}",
            0.01,
            "false alarm",
            lambda rng, n=n: are_ordered(normal(rng, n)),
        )
    for n, least in ((10, 0.15), (14, 0.3), (30, 0.9)):
        yield table.rate(
            "launches are said to depend on each other",
            f"AR(1) 0.8, n = {n}",
            least,
            "detection",
            lambda rng, n=n: are_ordered(autocorrelated(rng, n, 0.8)),
        )
    yield table.rate(
        "launches are said to depend on each other",
        "each slower than the one before, n = 14",
        1.0,
        "detection",
        lambda rng: are_ordered(np.sort(normal(rng, 14))),
    )


def _equal(table: Table) -> Iterator[Rate]:
    for n in (10, 20, 30):
        for by in (0.3, 0.5):

            def differ(rng: Rng, by: float = by, n: int = n) -> bool:
                sides = SidePair(_dependent(rng, n, by), _dependent(rng, n, by))
                verdict = decide([sides], MARGIN)[0].verdict
                return verdict in ("faster", "slower")

            yield table.rate(
                "two equal sides of one cell are called different",
                f"{_name(by)}, n = {n}",
                0.08,
                "false alarm",
                differ,
            )


def _high(trials: int, seed: int) -> Iterator[Rate]:
    """Cells that stop by precision and get high confidence."""
    for place, (planted, draw, median) in enumerate(_cells()):
        rng = np.random.default_rng((seed, place))
        held = of = 0
        for _ in range(CELLS * trials):
            values = draw(rng, RULE.max_launches)
            taken = next(
                (values[:n] for n in looks(RULE) if not needs_more(values[:n], RULE).more), values
            )
            interval = launch_interval(taken)
            by_precision = needs_more(taken, RULE).stop == "precision"
            if not by_precision or interval is None or not _is_high(taken, interval):
                continue
            of += 1
            held += bool(interval[0] <= median <= interval[1])
        if of >= 20:
            yield Rate(
                "95% interval holds the median, of cells with high confidence",
                f"{planted}, ±1% requested, 6 to 30 launches",
                held,
                of,
                0.93,
                "coverage",
            )
        if "modes" in planted:
            # Six launches of the frequent mode, which nothing distinguishes, are 4.7% and 2.8%.
            yield Rate(
                "confidence is high",
                f"{planted}, ±1% requested, 6 to 30 launches",
                of,
                CELLS * trials,
                0.05,
                "false alarm",
            )


def _is_high(values: np.ndarray, interval: tuple[float, float]) -> bool:
    """As ``questions/common/confidence.py`` judges a verified cell that stopped by precision."""
    summary = MetricSummary(
        unit="s",
        better="less",
        median=float(np.median(values)),
        ci95=interval,
        min=float(values.min()),
        max=float(values.max()),
        p05=float(np.quantile(values, 0.05)),
        p95=float(np.quantile(values, 0.95)),
        cov=float(values.std(ddof=1) / values.mean()),
        cov_samples=None,
        n=values.size,
        samples=values.size,
        stop="precision",
    )
    return not is_too_narrow(summary) and not are_ordered(values)


def _cells() -> Iterator[tuple[str, Draw, float]]:
    """The planted effect, the launches, and their median."""
    for cov in (1.5, 2.0, 2.5, 3.0):
        yield (
            f"normal, CoV {cov:g}%",
            lambda rng, n, cov=cov: MEDIAN * (1.0 + cov / 100.0 * rng.standard_normal(n)),
            MEDIAN,
        )
    for share in (0.4, 0.45):
        yield (
            f"two modes 4% apart, {1 - share:.0%} and {share:.0%}",
            lambda rng, n, share=share: _two_modes(rng, n, share),
            _median_of_modes(share),
        )


def _two_modes(rng: Rng, n: int, share: float) -> np.ndarray:
    return MEDIAN * np.where(rng.random(n) < share, 1.04, 1.0) * (1 + 3e-3 * rng.standard_normal(n))


def _median_of_modes(share: float) -> float:
    """The median of the mixture: where as many of the fast ones lie above as slow ones below."""
    from scipy.stats import norm

    # Modes are thirteen deviations apart, so that the median is a quantile of the fast one.
    return float(MEDIAN * (1.0 + 3e-3 * norm.ppf(0.5 / (1.0 - share))))

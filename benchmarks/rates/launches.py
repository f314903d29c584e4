"""Launches that depend on each other or have modes: intervals, caveats and high confidence

Launches are normal with a coefficient of variation of 2%, unless stated otherwise. Medians are
known: 100, of two modes the median of the mixture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
from draws import COV, Rng, Table, autocorrelated, normal
from rate import Rate
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.replication import Replication
from assay.questions.common.answer import Confidence
from assay.questions.common.confidence import RATES, confidence_in
from assay.questions.common.selection import Point
from assay.stats.cells.agreement import agreement
from assay.stats.cells.caveats import CaveatInputs
from assay.stats.cells.evidence import with_evidence
from assay.stats.cells.launch_rule import looks, needs_more
from assay.stats.compare.verdicts import SidePair, decide
from assay.stats.core.launches import are_ordered, launch_interval
from assay.stats.core.model import CellSummary, MetricSummary, RunAgreement, Stop
from assay.units import counted

MEDIAN, MARGIN = 100.0, 0.01
# Confidence is tried with these numbers of launches, and under these stopping rules.
FIXED = (6, 8, 12, 20, 30)
RULES = tuple(Replication(precision=0.01, min_launches=6, max_launches=most) for most in (12, 30))
# A class counts in a setting if it has at least this share of the cells; a class is right in its
# stated rate less the tolerance.
LEAST_SHARE, TOLERANCE = 0.03, 0.02
# Share of all numbers that may have high confidence and be wrong.
MOST_WRONG = 0.03
# Cells of a run with many cells.
MANY = 20
# Other runs of the machine.
OTHERS = (0, 5, 10)
CELL = Cell("network.barrier", {}, Placement(ppn=2), "fake")


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Every rate that docs/methods/sampling.md states of launches."""
    table = Table(trials, seed)
    yield from _coverage(table)
    yield from _caveat(table)
    yield from _equal(table)
    yield from _confidence(trials, seed)
    yield from _power(trials, seed)


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


def _confidence(trials: int, seed: int) -> Iterator[Rate]:
    """Claims of each class of confidence that are right, by planted launches."""
    for place, planted in enumerate(PLANTED):
        for cells, others in ((1, 0), *((MANY, each) for each in OTHERS)):
            runs = "one cell" if cells == 1 else f"runs of {cells} cells"
            runs += f", {others} other runs known" * (others > 0)
            found = _classes(planted, cells, others, trials, (seed, place, cells, others))
            for confidence, rate in RATES.items():
                right, of = found.claims[confidence]
                if of:
                    yield Rate(
                        f"claims of {confidence} confidence are right",
                        f"{planted.name}, {runs}",
                        right,
                        of,
                        rate - TOLERANCE,
                        "coverage",
                    )
            yield Rate(
                "numbers have high confidence and are wrong",
                f"{planted.name}, {runs}",
                found.high_and_wrong,
                found.all,
                MOST_WRONG,
                "false alarm",
            )


def _power(trials: int, seed: int) -> Iterator[Rate]:
    """Normal, independent launches that get a class or a better one."""
    for cells, rule, others, confidence, least in (
        (1, 20, 0, "medium", 1.0),
        (1, 30, 0, "high", 1.0),
        (1, 6, 5, "medium", 0.55),
        (1, 6, 10, "medium", 0.6),
        (10, 12, 5, "medium", 0.7),
        (40, 6, 5, "medium", 0.7),
        (40, 12, 5, "medium", 0.85),
        (40, 6, 10, "medium", 0.8),
        (40, 6, 7, "high", 0.45),
        (40, 6, 10, "high", 0.35),
        (40, 6, 40, "high", 0.75),
        (40, 30, 0, "high", 0.9),
        (40, RULES[0], 5, "medium", 0.8),
    ):
        rng = np.random.default_rng((seed, cells, 30 if isinstance(rule, int) else 12, others))
        runs = max(trials // cells, 8)
        judged = [each for _ in range(runs) for each in _run(PLANTED[0], cells, rule, rng, others)]
        better = ("high",) if confidence == "high" else ("high", "medium")
        known = f", {others} other runs known" * (others > 0)
        yield Rate(
            f"confidence is at least {confidence}",
            f"normal, independent, {counted(cells, 'cell')}, {_launches(rule)}{known}",
            sum(each in better for each, _ in judged),
            len(judged),
            least,
            "detection",
        )


@dataclass(frozen=True)
class Planted:
    """Launches with a known median."""

    name: str
    #: The launches of this many cells, a row each, from the generator, cells and launches.
    draw: Callable[[Rng, int, int], np.ndarray]
    #: The true median of so many launches.
    median: Callable[[int], float] = lambda _: MEDIAN


@dataclass
class Classes:
    """Claims of each class, right ones and all, of the settings in which it has 3% of the cells."""

    claims: dict[str, tuple[int, int]]
    high_and_wrong: int = 0
    all: int = 0


def _classes(
    planted: Planted, cells: int, others: int, trials: int, seed: tuple[int, ...]
) -> Classes:
    rng = np.random.default_rng(seed)
    found = Classes(dict.fromkeys(RATES, (0, 0)))
    for rule in (*FIXED, *RULES):
        runs = max(trials // 2 if cells == 1 else trials // cells, 8)
        judged = [each for _ in range(runs) for each in _run(planted, cells, rule, rng, others)]
        found.all += len(judged)
        found.high_and_wrong += judged.count(("high", False))
        for confidence, (right, of) in found.claims.items():
            claims = [held for each, held in judged if each == confidence]
            if len(claims) >= LEAST_SHARE * len(judged):
                found.claims[confidence] = right + sum(claims), of + len(claims)
    return found


def _run(
    planted: Planted, cells: int, rule: int | Replication, rng: Rng, others: int
) -> list[tuple[Confidence, bool]]:
    """The confidence in each cell of a run as reports state it, and whether its claim is right.

    ``others``: number of other runs of the machine, in which cells have as many launches.
    """
    if isinstance(rule, int):
        rule = Replication(precision=0.01, min_launches=rule, max_launches=rule)
    taken, stops = [], []
    for values in planted.draw(rng, cells, rule.max_launches):
        size, stop = _stopped(values, rule)
        taken.append(values[:size])
        stops.append(stop)
    found = with_evidence(
        list(map(_summary, taken, stops)),
        [_inputs(values, stop, rule) for values, stop in zip(taken, stops, strict=True)],
        rule,
    )
    known = [planted.draw(rng, cells, rule.max_launches) for _ in range(others)]
    judged = []
    for place, (summary, values) in enumerate(zip(found, taken, strict=True)):
        metric = summary.metrics["time"]
        assert metric.ci95 is not None
        if others:
            medians = np.array([np.median(run[place][: values.size]) for run in known])
            summary = _agreeing(summary, agreement(metric.median, metric.ci95, medians))
        held = metric.ci95[0] <= planted.median(values.size) <= metric.ci95[1]
        judged.append((confidence_in(Point(summary, metric)).confidence, bool(held)))
    return judged


def _agreeing(summary: CellSummary, others: RunAgreement) -> CellSummary:
    assert summary.evidence is not None
    evidence = msgspec.structs.replace(summary.evidence, others=others)
    return msgspec.structs.replace(summary, evidence=evidence)


def _stopped(values: np.ndarray, rule: Replication) -> tuple[int, Stop]:
    """The number of launches after which the rule stops, and why."""
    last = needs_more(values.tolist(), rule)
    for size in looks(rule)[:-1]:
        if "maximum" not in last.why and not needs_more(values[:size].tolist(), rule).more:
            return size, "precision"
    return values.size, last.stop or "launches"


def _summary(values: np.ndarray, stop: Stop) -> CellSummary:
    metric = MetricSummary(
        unit="s",
        better="less",
        median=float(np.median(values)),
        ci95=launch_interval(values),
        min=float(values.min()),
        max=float(values.max()),
        p05=float(values.min()),
        p95=float(values.max()),
        cov=None,
        cov_samples=None,
        n=values.size,
        samples=values.size,
        stop=stop,
    )
    return CellSummary(
        kernel=CELL.kernel,
        id=CELL.id,
        cell=CELL,
        status="ok",
        verified=True,
        parameters={},
        metrics={"time": metric},
        caveats=[],
    )


def _inputs(values: np.ndarray, stop: Stop, rule: Replication) -> CaveatInputs:
    return CaveatInputs(
        cell=CELL,
        measurements=[],
        launches=[],
        medians=values,
        half_width=None,
        precision=rule.precision,
        confidence=rule.confidence,
        stop=stop,
    )


def _launches(rule: int | Replication) -> str:
    if isinstance(rule, int):
        return f"{rule} launches"
    return f"{rule.min_launches} to {rule.max_launches} launches"


def _scaled(values: np.ndarray) -> np.ndarray:
    return MEDIAN * (1.0 + COV * values)


def _autoregressive(by: float) -> Planted:
    def draw(rng: Rng, cells: int, n: int) -> np.ndarray:
        return np.array([autocorrelated(rng, n, by) for _ in range(cells)])

    return Planted(f"AR(1) {by:g}", draw)


def _modes(share: float, lasting: int = 1, shared: bool = False) -> Planted:
    """Two modes 4% apart; ``share``: of the slow one; ``lasting``: launches between draws."""

    def draw(rng: Rng, cells: int, n: int) -> np.ndarray:
        drawn = rng.random((1 if shared else cells, n // lasting + 2)) < share
        begun = rng.integers(0, lasting, (drawn.shape[0], 1))
        slow = np.take_along_axis(drawn, (np.arange(n) + begun) // lasting, axis=1)
        scatter = 1.0 + 3e-3 * rng.standard_normal((cells, n))
        return np.asarray(MEDIAN * np.where(slow, 1.04, 1.0) * scatter)

    # Modes are thirteen deviations apart, so that the median is a quantile of the fast mode; of
    # equal modes it is in the middle between them.
    median = MEDIAN * (1.0 + 3e-3 * float(ndtri(0.5 / (1.0 - share)))) if share < 0.5 else 102.0
    lasts = f" that last {lasting} launches" if lasting > 1 else ""
    name = f"modes {1 - share:.0%} and {share:.0%}{lasts}{' and are common to all cells' * shared}"
    return Planted(name, draw, lambda _: median)


def _outliers(rng: Rng, cells: int, n: int) -> np.ndarray:
    late = rng.random((cells, n)) < 0.1
    return _scaled(0.2 * rng.standard_normal((cells, n)) + 5.0 * late * rng.random((cells, n)))


def _median_with_outliers() -> float:
    """Where the punctual 90% below and the late 10% below add up to one half."""
    late = 5.0 * (np.arange(1000) + 0.5) / 1000

    def excess(at: float) -> float:
        below = 0.9 * ndtr(at / 0.2) + 0.1 * np.mean(ndtr((at - late) / 0.2))
        return float(below) - 0.5

    return MEDIAN * (1.0 + COV * float(brentq(excess, 0.0, 1.0)))


def _sine(rng: Rng, cells: int, n: int) -> np.ndarray:
    phase = 2.0 * np.pi * (np.arange(n) / 10.0 + rng.random((cells, 1)))
    return _scaled(1.4 * np.sin(phase) + 0.3 * rng.standard_normal((cells, n)))


PLANTED = (
    Planted("normal", lambda rng, cells, n: _scaled(rng.standard_normal((cells, n)))),
    Planted("normal, CoV 3%", lambda rng, cells, n: _scaled(1.5 * rng.standard_normal((cells, n)))),
    Planted(
        "lognormal", lambda rng, cells, n: _scaled(np.expm1(0.5 * rng.standard_normal((cells, n))))
    ),
    Planted("t3", lambda rng, cells, n: _scaled(rng.standard_t(3, (cells, n)) / math.sqrt(3.0))),
    Planted("outliers, 10%", _outliers, lambda _: _median_with_outliers()),
    Planted(
        "mixture of two deviations, 70% and 30%",
        lambda rng, cells, n: _scaled(
            np.where(rng.random((cells, n)) < 0.7, 0.2, 1.7) * rng.standard_normal((cells, n))
        ),
    ),
    Planted(
        "linear drift of 3% in 30 launches",
        lambda rng, cells, n: _scaled(
            1.5 * np.arange(n) / 30.0 + 0.3 * rng.standard_normal((cells, n))
        ),
        lambda n: MEDIAN * (1.0 + COV * 1.5 * (n - 1) / 60.0),
    ),
    Planted("sine of period 10", _sine),
    *map(_autoregressive, (0.3, 0.5, 0.7)),
    *(_modes(share) for share in (0.5, 0.4, 0.2, 0.05)),
    *(_modes(share, 5) for share in (0.5, 0.4, 0.2, 0.05)),
    _modes(0.5, 5, shared=True),
)

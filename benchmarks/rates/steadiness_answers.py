"""Sentences of the answer on steadiness, by the stated confidence

Runs of six cells whose launches have planted distributions. A claim is the interval of a cell's
coefficient of variation, a statement on its distribution (steady, modes, a long tail, a drift, a
change of level), an associated cause with the interval of its share, or a factor that changes the
spread or the median. Its class is the confidence of the answer. In runs without kernels
of noise, the part on variation decides it. A statement is right if it was planted, and if its
intervals of size and date hold the planted ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from answers import COV, LEAST, SHAPES, STATED, Factors
from draws import Rng
from rate import Rate

from asking import reply_to
from assay.arrays import Floats
from assay.questions.common.answer import Answer
from assay.questions.common.question import Measured, Reply
from assay.questions.steadiness.factors.findings import FactorComparison
from assay.questions.steadiness.findings import SteadinessFindings
from assay.questions.steadiness.variation.answer import confidence_in, part
from assay.questions.steadiness.variation.cells import STEADY_UPPER, CellVariation
from assay.questions.steadiness.variation.findings import VariationFindings, find
from assay.records.model import RunData
from assay.stats.cells.summarise import summarise_cells
from variation_builder import BEGAN, npb, run_of

CODES = ("cg", "ep", "ft", "is", "lu", "mg")
HOUR = 3600.0
# Launches of each cell and the time from one to the next, s. The last setting is 100 launches in a
# hundred days.
SETTINGS = ((24, 60.0), (30, 3.0 * HOUR), (60, 3.0 * HOUR), (120, 24.0 * HOUR))
# A drift over the whole run, and a step in its middle, in CoVs of the launches.
DRIFT, STEP = 4.0, 6.0
# Share of launches in the mode of slow ones, by the name of the distribution.
_MODES = "modes"
_TAILED = ("t3", "lognormal", "outliers", "two modes, 80%", "two modes, 95%")


@dataclass(frozen=True)
class Planted:
    """A distribution of launches, and what can be said of it."""

    name: str
    draw: Factors
    cov: float
    drift: float = 0.0
    step: float = 0.0

    @property
    def modes(self) -> bool:
        return _MODES in self.name

    @property
    def tail(self) -> bool:
        return self.name.startswith(_TAILED)


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Right claims by planted distribution and confidence; a trial is six cells."""
    runs = max(trials // 25, 2)
    said: dict[str, Counted] = {}
    for place, planted in enumerate(planted_shapes(seed)):
        for launches, every in SETTINGS:
            rng = np.random.default_rng((seed, place, launches))
            numbers = Counted()
            for _ in range(runs):
                factors = planted.draw(rng, len(CODES), launches)
                found = find(Measured(_run(factors, every), []))
                confidence, _ = confidence_in(found)
                numbers.add(confidence, _intervals(found, planted))
                for what, right in _statements(found, planted, every * launches):
                    said.setdefault(what, Counted()).add(confidence, [right])
            where = (
                f"{planted.name}, CoV {planted.cov:.1%}, {launches} launches "
                f"in {_span(launches * every)}"
            )
            what = "the interval of a coefficient of variation holds it"
            yield from numbers.rates(what, where, LEAST // 2)
    for what, counted in said.items():
        yield from counted.rates(f"a cell {what}, as stated", "all distributions and settings", 50)
    yield from _causes(runs * 2, seed)
    yield from _factors(runs * 2, seed)


class Counted:
    """Right and all claims of each confidence."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.made: Counter[str] = Counter()

    def take(self, answer: Answer, claims: Iterable[bool]) -> None:
        """Claims of an answer."""
        self.add(answer.confidence or "", claims)

    def add(self, confidence: str, claims: Iterable[bool]) -> None:
        """Claims of this confidence."""
        for right in claims:
            self.made[confidence] += 1
            self.right[confidence] += right

    def rates(self, what: str, planted: str, least: int = LEAST) -> Iterator[Rate]:
        for confidence, stated in STATED.items():
            if self.made[confidence] >= least:
                yield Rate(
                    f"{what}, {confidence} confidence",
                    planted,
                    self.right[confidence],
                    self.made[confidence],
                    stated,
                    "coverage",
                )


def planted_shapes(seed: int) -> Iterator[Planted]:
    """The distributions of ``answers``, a drift and a step."""
    rng = np.random.default_rng((seed, 7))
    for name, draw in SHAPES.items():
        # The fourth moment of t3 is infinite, so that draws don't show its deviation.
        many = draw(rng, 4000, 500)
        cov = COV if name == "t3" else float(many.std() / many.mean())
        yield Planted(name, draw, cov)
    normal = SHAPES["normal"]
    drift, step = DRIFT * COV, STEP * COV
    yield Planted("normal with a drift", _with(normal, drift, 0.0), _joint(drift**2 / 12.0), drift)
    yield Planted("normal with a step", _with(normal, 0.0, step), _joint(step**2 / 4.0), step=step)


def _joint(variance: float) -> float:
    return float(np.sqrt(COV**2 + variance))


def _with(draw: Factors, drift: float, step: float) -> Factors:
    def factors(rng: Rng, cells: int, launches: int) -> Floats:
        course = 1.0 + drift * np.linspace(-0.5, 0.5, launches)
        course *= np.where(np.arange(launches) >= launches // 2, 1.0 + step, 1.0)
        return np.asarray(draw(rng, cells, launches) * course)

    return factors


def _run(factors: Floats, every: float) -> RunData:
    return run_of(
        [(npb(code), 2.0 * row) for code, row in zip(CODES, factors, strict=True)], every=every
    )


def _reply(run: RunData) -> Reply[SteadinessFindings]:
    return reply_to("steadiness", summarise_cells(run), run)


def _span(seconds: float) -> str:
    return f"{seconds / 60.0:.0f} min" if seconds < HOUR else f"{seconds / 86400.0:.0f} days"


def _intervals(found: VariationFindings, planted: Planted) -> Iterator[bool]:
    stated = part(found)
    for row in stated.evidence if stated else ():
        if row.metric == "cov" and row.ci95 is not None:
            yield row.ci95[0] <= planted.cov <= row.ci95[1]


def _statements(
    found: VariationFindings, planted: Planted, span: float
) -> Iterator[tuple[str, bool]]:
    """What the answer says of each cell's distribution, and whether it is right."""
    for cell in found.varied:
        shape = cell.shape
        for change in shape.changes:
            low, high = change.size_ci95
            dated = change.after_utc <= BEGAN + span / 2.0 <= change.before_utc
            sized = low <= planted.step <= high
            if change.direction != "open":
                yield "has changed its level", planted.step > 0.0 and dated and sized
        if shape.modes:
            yield "has modes", planted.modes and len(shape.modes) == 2
        elif shape.long_tail:
            yield "has a long right tail", planted.tail
        elif not shape.changes and cell.steady:
            yield "is steady", planted.cov <= STEADY_UPPER
        if shape.drifts:
            yield "drifts", planted.drift > 0.0 and _holds_drift(cell, planted.drift)


def _holds_drift(cell: CellVariation, drift: float) -> bool:
    trend = cell.at_one_level.trend
    if trend is None or trend.change_ci95 is None:
        return False
    return trend.change_ci95[0] <= drift <= trend.change_ci95[1]


# ---- causes and factors --------------------------------------------------------------------------


def _causes(runs: int, seed: int) -> Iterator[Rate]:
    """LU loses time to other processes, or not, beside steal time that is measured."""
    for shape in ("normal", "lognormal", "t3", "AR(1) 0.5", "outliers, 5% slower by 10 CoV"):
        counted = Counted()
        for place, (launches, every) in enumerate(SETTINGS[:3]):
            for share in (0.0, 0.3, 0.7):
                rng = np.random.default_rng((seed, 17, place, round(10 * share)))
                for _ in range(runs // 4):
                    run = _stolen(rng, SHAPES[shape], launches, every, share)
                    reply = _reply(run)
                    counted.take(reply.answer, _shares(reply, share))
        yield from counted.rates(
            "a cause is named and the interval of its share holds it",
            f"{shape}; steal time causes none, 30 or 70% of the variance, 24 to 60 launches",
            50,
        )


def _stolen(rng: Rng, draw: Factors, launches: int, every: float, share: float) -> RunData:
    noise = draw(rng, 1, launches)[0] - 1.0
    lost = rng.gamma(2.0, 1.0, launches)
    deviation = COV * np.sqrt(share / (1.0 - share))
    time = 1.0 + noise + deviation * (lost - 2.0) / np.sqrt(2.0)
    run = run_of([(npb("lu"), 2.0 * time)], every=every)
    stolen = 2.0 * deviation / np.sqrt(2.0) * lost if share else 0.01 * lost
    measurements = tuple(
        replace(
            one,
            record=msgspec.structs.replace(
                one.record,
                covariates={"steal_seconds": float(2.0 * each), "sampling_seconds": 2.0},
            ),
        )
        for one, each in zip(run.measurements, stolen, strict=True)
    )
    return replace(run, measurements=measurements)


def _shares(reply: Reply[SteadinessFindings], share: float) -> Iterator[bool]:
    causes = reply.findings.causes
    for cell in causes.cells if causes else ():
        for each in cell.named:
            held = each.ci95[0] <= share <= each.ci95[1]
            yield each.cause == "steal" and share > 0.0 and held


def _factors(runs: int, seed: int) -> Iterator[Rate]:
    """FT with one and two adapters; the second may vary more or take longer."""
    for shape in ("normal", "lognormal", "t3", "AR(1) 0.5", "outliers, 5% slower by 10 CoV"):
        counted = Counted()
        for place, (launches, every) in enumerate(SETTINGS[:3]):
            for wider, slower in ((1.0, 1.0), (3.0, 1.0), (1.0, 1.01)):
                rng = np.random.default_rng((seed, 27, place, round(10 * wider * slower * 10)))
                for _ in range(runs // 4):
                    one, two = SHAPES[shape](rng, 2, launches)
                    cells = [
                        (npb("ft", nodes=2, adapter="eth0"), 2.0 * one),
                        (
                            npb("ft", nodes=2, adapter="eth0,eth1"),
                            2.0 * slower * (1.0 + wider * (two - 1.0)),
                        ),
                    ]
                    reply = _reply(run_of(cells, every=every))
                    counted.take(reply.answer, _compared(reply, wider, slower))
        yield from counted.rates(
            "a factor changes the spread or the median, as stated",
            f"{shape}; two adapters: equal, three times the CoV, or 1% apart, 24 to 60 launches",
            50,
        )


def _compared(reply: Reply[SteadinessFindings], wider: float, slower: float) -> Iterator[bool]:
    factors = reply.findings.factors
    for each in factors.comparisons if factors else ():
        adapter = each.factor == "adapter"
        if each.spread_differs:
            yield adapter and wider > 1.0 and _grows(each)
        if each.median_changes:
            yield adapter and slower > 1.0 and _holds_ratio(each, slower)


def _grows(comparison: FactorComparison) -> bool:
    one, other = comparison.spread.groups
    return (other.cov or 0.0) > (one.cov or 0.0)


def _holds_ratio(comparison: FactorComparison, slower: float) -> bool:
    assert comparison.location is not None
    interval = comparison.location.pairs[0].ratio_ci95
    return interval is not None and interval[0] <= slower <= interval[1]

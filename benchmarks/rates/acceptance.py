"""Acceptance: wrong rejections and wrong acceptances of measurements that stop early.

A contract has five commitments on times, with a margin of 2% and at most 30 launches, and the run
has three more cells. A cell is not measured further when its commitment is decided, unless all
launches are said to be made. Launches have a coefficient of variation of 0.5%, 1% or 2%. The
evidence of dependence comes from the cells of the same simulated run, up to each look. Nothing is
stated for a machine that is 1% slower.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from draws import COV, SHAPES, Draw, Rng, autocorrelated, finishing
from rate import Rate

from assay.acceptance.boundaries import looks_of
from assay.acceptance.contract import PromisedRange
from assay.acceptance.decision import Dependence, PromiseDecision, corrected_outcomes, decide
from assay.acceptance.run_evidence import dependences
from assay.stats.cells.dependence import LaunchSeries

SUPPLIER = BUYER = 0.05
MARGIN, LAUNCHES, COMMITMENTS, OTHERS = 0.02, 30, 5, 3
LIMITS = PromisedRange(None, 100.0)


def lasting_modes(rng: Rng, n: int, stay: float) -> np.ndarray:
    """Two modes of equal shares, 5% apart, that last for ``stay`` launches on average; the median
    is between them, where few launches are."""
    changes = rng.random(n) < 1.0 / stay
    mode = (np.cumsum(changes) + rng.integers(2)) % 2
    return 100.0 * (1.0 + COV * rng.standard_normal(n)) * np.where(mode == 1, 1.05, 1.0)


DEPENDENT: dict[str, Draw] = {
    "AR(1) 0.3": lambda rng, n: autocorrelated(rng, n, 0.3),
    "AR(1) 0.5": lambda rng, n: autocorrelated(rng, n, 0.5),
    "AR(1) 0.7": lambda rng, n: autocorrelated(rng, n, 0.7),
}


@cache
def median_of(name: str) -> float:
    """The true median of a distribution of ``draws``, in s."""
    if name in DEPENDENT:
        return 100.0
    low, high = 90.0, 150.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if finishing(name, middle) > 0.5 else (middle, high)
    return low


@dataclass
class Counted:
    """What happened to the contracts of a row."""

    contracts: int = 0
    commitments: int = 0
    rejected: int = 0
    accepted: int = 0
    any_rejected: int = 0
    all_accepted: int = 0
    early: int = 0
    launches: int = 0

    def add(self, found: list[PromiseDecision]) -> None:
        """Count a contract."""
        outcomes = [each.outcome for each in found]
        self.contracts += 1
        self.commitments += len(outcomes)
        self.rejected += outcomes.count("rejected")
        self.accepted += outcomes.count("accepted")
        self.any_rejected += "rejected" in outcomes
        self.all_accepted += all(each == "accepted" for each in outcomes)
        self.early += sum(e.outcome != "undecided" and e.used < LAUNCHES for e in found)
        self.launches += sum(e.used if e.outcome != "undecided" else LAUNCHES for e in found)


def rates(trials: int, seed: int) -> Iterable[Rate]:
    yield from _contracts(trials, seed)
    yield from _few_cells(trials, seed)
    yield from _lasting(trials, seed)
    yield from _all_launches(trials, seed)
    yield from _one_bad(trials, seed)


class Measuring:
    """A measurement of several cells that ends at the looks of the contract (``ContractStop``).

    ``cells``: the launches that would be made. ``stopping``: whether a decided cell is not
    measured further; otherwise all launches are judged. The first ``commitments`` cells have a
    promise; the others are measured until the end.
    """

    def __init__(self, cells: list[np.ndarray], commitments: int, *, stopping: bool) -> None:
        self._cells, self._commitments = cells, commitments
        self._counts = [LAUNCHES] * len(cells)
        self._limits: dict[int, list[Dependence]] = {}
        self._stopping = stopping

    def result(self) -> list[PromiseDecision]:
        """The decisions when nothing is measured any more."""
        active = set(range(self._commitments))
        found = []
        for size in looks_of(LAUNCHES) if self._stopping else (LAUNCHES,):
            found = self._judge(size)
            for place in sorted(active):
                if found[place].outcome != "undecided":
                    active.discard(place)
                    if self._stopping:
                        self._counts[place] = size
            if not active:
                break
        return found

    def _judge(self, size: int) -> list[PromiseDecision]:
        def at(place: int, risk: float) -> PromiseDecision:
            values = self._cells[place][: min(size, self._counts[place])]
            return decide(
                values, LIMITS, MARGIN, lambda launches: self._until(launches)[place], risk, BUYER,
                LAUNCHES,
            )  # fmt: skip

        weights = [1.0] * self._commitments
        return corrected_outcomes(weights, at, lambda each: each.outcome == "rejected", SUPPLIER)

    def _until(self, launches: int) -> list[Dependence]:
        """What the cells show about each other by this look."""
        if launches not in self._limits:
            sizes = [min(launches, count) for count in self._counts]
            series = [
                LaunchSeries(range(size), each[:size])
                for each, size in zip(self._cells, sizes, strict=True)
            ]
            self._limits[launches] = dependences(series)
        return self._limits[launches]


def judged(
    cells: list[np.ndarray], commitments: int = COMMITMENTS, *, stopping: bool = True
) -> list[PromiseDecision]:
    """The decisions on the first cells, with the evidence that all cells give."""
    return Measuring(cells, commitments, stopping=stopping).result()


def _cells(rng: Rng, name: str, draw: Draw, cov: float, slower: float, count: int) -> list:
    """Launches with a true median of 100 s, or ``slower`` by a share."""
    middle = median_of(name)
    cells = []
    for _ in range(count):
        relative = draw(rng, LAUNCHES) / middle
        cells.append(100.0 * (1.0 + slower) * (1.0 + (relative - 1.0) * cov / COV))
    return cells


def _contracts(trials: int, seed: int) -> Iterator[Rate]:
    number = 0
    for name, draw in {**SHAPES, **DEPENDENT}.items():
        for cov in (0.005, 0.01, 0.02) if name == "normal" else (0.01,):
            for slower in (0.0, 0.01, MARGIN):
                number += 1
                rng = np.random.default_rng((seed, number))
                counted = Counted()
                for _ in range(trials):
                    cells = _cells(rng, name, draw, cov, slower, COMMITMENTS + OTHERS)
                    counted.add(judged(cells))
                yield from _rows(counted, f"{name}, CoV {cov:.1%}", slower)


def _rows(counted: Counted, said: str, slower: float, cells: str = "") -> Iterator[Rate]:
    how = {0.0: "as promised", MARGIN: "2% slower"}.get(slower, f"{slower:.0%} slower")
    said = f"{how}, {said}{cells}"
    stated_r, stated_a = (SUPPLIER if slower == 0.0 else 1.0), (BUYER if slower == MARGIN else 1.0)
    of = counted.commitments
    if slower < MARGIN:
        yield Rate("a commitment is rejected", said, counted.rejected, of, stated_r, "false alarm")
        yield Rate(
            "the contract is rejected", said, counted.any_rejected, counted.contracts, stated_r,
            "false alarm",
        )  # fmt: skip
    if slower > 0.0:
        yield Rate("a commitment is accepted", said, counted.accepted, of, stated_a, "false alarm")
    if slower == 0.0:
        yield Rate("a commitment is accepted", said, counted.accepted, of, 0.0, "detection")
    if slower == MARGIN:
        yield Rate("a commitment is rejected", said, counted.rejected, of, 0.0, "detection")
    yield Rate("a commitment is decided before the last look", said, counted.early, of, 0.0,
               "detection")  # fmt: skip
    saved = of * LAUNCHES - counted.launches
    yield Rate("a launch is not needed", said, saved, of * LAUNCHES, 0.0, "detection")


def _few_cells(trials: int, seed: int) -> Iterator[Rate]:
    """Two cells show nothing about dependence."""
    for place, name in enumerate(("normal", "AR(1) 0.5", "AR(1) 0.7")):
        draw = {**SHAPES, **DEPENDENT}[name]
        for slower in (0.0, MARGIN):
            rng = np.random.default_rng((seed, 1000 + place, int(1000 * slower)))
            counted = Counted()
            for _ in range(trials):
                counted.add(judged(_cells(rng, name, draw, 0.01, slower, 2), 2))
            yield from _rows(counted, f"{name}, CoV 1.0%", slower, ", a run of two cells")


def _lasting(trials: int, seed: int) -> Iterator[Rate]:
    """Levels that last. The true median of both together is half of 5% above the faster one."""
    for number, (stay, cells) in enumerate(((6.0, 5), (6.0, 8), (12.0, 8))):
        rng = np.random.default_rng((seed, 1100 + number))
        counted = Counted()
        for _ in range(trials):
            counted.add(judged([lasting_modes(rng, LAUNCHES, stay) / 1.025 for _ in range(cells)]))
        said = f"two equal levels of 5% that last {stay:.0f} launches, a run of {cells} cells"
        yield from _rows(counted, said, 0.0)


def _all_launches(trials: int, seed: int) -> Iterator[Rate]:
    """The same launches without stopping, as in runs that were measured before."""
    for place, name in enumerate(("normal", "long tail", "AR(1) 0.7")):
        draw = {**SHAPES, **DEPENDENT}[name]
        for slower in (0.0, MARGIN):
            rng = np.random.default_rng((seed, 1200 + place, int(1000 * slower)))
            counted = Counted()
            for _ in range(trials):
                cells = _cells(rng, name, draw, 0.01, slower, COMMITMENTS + OTHERS)
                counted.add(judged(cells, stopping=False))
            yield from _rows(counted, f"{name}, CoV 1.0%", slower, ", all launches made")


def _one_bad(trials: int, seed: int) -> Iterator[Rate]:
    """One commitment is worse by the margin, the others exactly as promised or better."""
    for place, (what, others) in enumerate({"as promised": 0.0, "10% faster": -0.1}.items()):
        for name in ("normal", "long tail", "AR(1) 0.5"):
            draw = {**SHAPES, **DEPENDENT}[name]
            rng = np.random.default_rng((seed, 2000 + place, len(name)))
            accepted = 0
            for _ in range(trials):
                cells = _cells(rng, name, draw, 0.01, others, COMMITMENTS + OTHERS - 1)
                cells = [*_cells(rng, name, draw, 0.01, MARGIN, 1), *cells]
                accepted += all(each.outcome == "accepted" for each in judged(cells))
            said = f"one of five 2% slower, the others {what}, {name}, CoV 1.0%"
            yield Rate("the contract is accepted", said, accepted, trials, BUYER, "false alarm")

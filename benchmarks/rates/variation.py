"""Claims of the answer on cells and factors.

Claims of "how steady is it", over all cells of a run together: for normal data none, for planted
tails, speeds, drifts and factors all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from rate import Rate

from assay.arrays import Floats
from assay.questions.steadiness.variation.cells import DistributionShape, shapes_of
from assay.questions.steadiness.variation.level_changes import CellLevels
from assay.stats.compare.groups import correct, location_differs, spread_differs
from assay.stats.repeats.spread import describe

Draw = Callable[[np.random.Generator], Floats]
_EVERY = 60.0
_SLOW = "of 100 runs slower by 20% in the mean (exponential), CoV 1%"


def rates(trials: int, seed: int) -> Iterable[Rate]:
    rng = np.random.default_rng(seed)
    for cells, n in ((1, 30), (6, 50), (60, 20)):
        draws = [_bell(n)] * cells
        planted = f"{cells} normal cells of {n} runs, CoV 1%"
        shapes = [_shapes(draws, rng) for _ in range(trials if cells < 10 else trials // 4)]
        for what, of in _CLAIMS.items():
            yield Rate(
                f"{what} claimed of any cell",
                planted,
                sum(any(of(shape) for shape in each) for each in shapes),
                len(shapes),
                0.01,
                "false alarm",
            )
    for what, planted, draw, stated in (
        ("a long tail", f"5% {_SLOW}", _tail(0.05), 0.75),
        ("a long tail", f"10% {_SLOW}", _tail(0.1), 0.95),
        ("several speeds", "30% of 100 runs 10% slower, CoV 1%", _speeds, 0.9),
        ("a drift", "2% over 100 runs, CoV 1%", _drift, 0.95),
    ):
        found = sum(_CLAIMS[what](_shapes([draw], rng)[0]) for _ in range(trials))
        yield Rate(f"{what} found", planted, found, trials, stated, "detection")
    yield from _factors(trials, rng)


_CLAIMS: dict[str, Callable[[DistributionShape], bool]] = {
    "a long tail": lambda shape: shape.long_tail,
    "several speeds": lambda shape: bool(shape.modes),
    "a drift": lambda shape: shape.drifts,
}


def _shapes(draws: list[Draw], rng: np.random.Generator) -> list[DistributionShape]:
    times = [draw(rng) for draw in draws]
    spreads = [describe(each, _EVERY * np.arange(each.size)) for each in times]
    return list(shapes_of([CellLevels((), each) for each in times], spreads))


def _bell(n: int) -> Draw:
    return lambda rng: 1.0 + 0.01 * rng.standard_normal(n)


def _tail(share: float) -> Draw:
    def draw(rng: np.random.Generator) -> Floats:
        slow = rng.random(100) < share
        return _bell(100)(rng) * np.where(slow, 1.0 + rng.exponential(0.2, 100), 1.0)

    return draw


def _speeds(rng: np.random.Generator) -> Floats:
    return _bell(100)(rng) * np.where(rng.random(100) < 0.3, 1.1, 1.0)


def _drift(rng: np.random.Generator) -> Floats:
    return _bell(100)(rng) * np.linspace(1.0, 1.02, 100)


def _factors(trials: int, rng: np.random.Generator) -> Iterable[Rate]:
    """Three kernels with two adapters each; in one, or none, the second has an effect."""

    def found(cov: float, shift: float) -> tuple[int, int]:
        spread = location = 0
        for _ in range(trials):
            pairs = [
                {
                    "one": _bell(30)(rng),
                    "two": (1.0 + (shift if k == 0 else 0.0))
                    * (1.0 + (cov if k == 0 else 0.01) * rng.standard_normal(30)),
                }
                for k in range(3)
            ]
            spread += any(
                d.verdict == "differs" for d in correct([spread_differs(pair) for pair in pairs])
            )
            location += any(
                d.verdict == "differs" for d in correct([location_differs(pair) for pair in pairs])
            )
        return spread, location

    clean = found(0.01, 0.0)
    planted = "3 kernels, 2 adapters, 30 runs each, CoV 1%"
    yield Rate("a change of spread claimed", planted, clean[0], trials, 0.05, "false alarm")
    yield Rate("a change of the median claimed", planted, clean[1], trials, 0.05, "false alarm")
    wider = found(0.029, 0.0)
    planted = "the same, in one kernel CoV 1% and 2.9%"
    yield Rate("a change of spread found", planted, wider[0], trials, 0.95, "detection")
    slower = found(0.01, 0.02)
    planted = "the same, in one kernel a median 2% higher"
    yield Rate("a change of the median found", planted, slower[1], trials, 0.95, "detection")

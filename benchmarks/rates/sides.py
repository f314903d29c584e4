"""Two parts of one run compared: equal ones called different, different ones called the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from draws import DRAWS, Draw, Rng, Table, autocorrelated, long_tail, normal, two_modes
from rate import Rate

from assay.stats.compare.verdicts import SidePair, decide

CELLS, LAUNCHES, MARGIN = 30, 6, 0.01
# Deciding on 30 cells takes a third of a second.
SHARE = 0.1


def rates(trials: int, seed: int) -> Iterable[Rate]:
    table = Table(trials, seed)
    yield from _equal(table)
    yield from _unequal(table)
    yield from _sessions(table)


def _differ(pairs: list[SidePair]) -> bool:
    return any(each.verdict in ("faster", "slower") for each in decide(pairs, MARGIN))


def _equal(table: Table) -> Iterator[Rate]:
    """Two equal runs in which any cell is called different."""
    stated: dict[str, tuple[Draw, float]] = {
        **{name: (draw, 0.05) for name, draw in DRAWS.items()},
        "long tail": (long_tail, 0.05),
        "two modes": (two_modes, 0.05),
        # Six launches per cell show dependence only in part.
        "AR(1) 0.3": (lambda rng, n: autocorrelated(rng, n, 0.3), 0.10),
        "AR(1) 0.5": (lambda rng, n: autocorrelated(rng, n, 0.5), 0.10),
    }
    for name, (draw, most) in stated.items():

        def differ(rng: Rng, draw: Draw = draw) -> bool:
            return _differ(
                [SidePair(draw(rng, LAUNCHES), draw(rng, LAUNCHES)) for _ in range(CELLS)]
            )

        yield table.rate(
            "a cell is called different",
            f"two equal runs of {CELLS} cells, {name}, n = {LAUNCHES}",
            most,
            "false alarm",
            differ,
            SHARE,
        )


def _unequal(table: Table) -> Iterator[Rate]:
    """A cell whose sides differ by slightly more than the margin."""
    for name, draw in DRAWS.items():
        for n in (12, 60):

            def same(rng: Rng, draw: Draw = draw, n: int = n) -> bool:
                one, other = draw(rng, n), 1.0101 * draw(rng, n)
                return decide([SidePair(one, other)], MARGIN)[0].verdict == "same"

            yield table.rate(
                "a cell is called the same",
                f"it differs by 1.01%, CoV 2%, {name}, n = {n}",
                0.05,
                "false alarm",
                same,
            )


def _sessions(table: Table) -> Iterator[Rate]:
    """Sessions of equal machines differ by 2%; their medians are compared."""

    def differ(rng: Rng) -> bool:
        def medians() -> np.ndarray:
            levels = normal(rng, 6) / 100.0
            return np.array([float(np.median(level * normal(rng, 6))) for level in levels])

        return _differ([SidePair(medians(), medians(), unit="sessions") for _ in range(CELLS)])

    yield table.rate(
        "a cell is called different",
        f"two equal machines, {CELLS} cells, 6 sessions with levels of CoV 2%",
        0.05,
        "false alarm",
        differ,
        SHARE,
    )

"""Two runs of one machine compared: equal ones called different, and a slower one found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from draws import COV, DRAWS, Draw, Rng, Table, autocorrelated, long_tail, normal, two_modes
from rate import Rate

from assay.stats.compare.run_scatter import run_scatter
from assay.stats.compare.verdicts import PairDecision, SidePair, decide

CELLS, LAUNCHES, MARGIN = 10, 6, 0.01
# Deciding on 10 cells takes some 30 ms.
SHARE = 0.3
# Factors of the level of successive runs, relative to the scatter of launches.
States = Callable[[Rng, int], np.ndarray]


def rates(trials: int, seed: int) -> Iterable[Rate]:
    table = Table(trials, seed)
    yield from _equal(table)
    yield from _equal_beside_others(table)
    yield from _slower(table)
    yield from _unequal(table)


def _alike(rng: Rng, n: int) -> np.ndarray:
    return np.ones(n)


def _normal(by: float) -> States:
    return lambda rng, n: np.exp(by * COV * rng.standard_normal(n))


def _skewed(rng: Rng, n: int) -> np.ndarray:
    """One in five runs is late by four times the scatter of launches."""
    return 1.0 + 4.0 * COV * (rng.random(n) < 0.2) + COV * np.abs(rng.standard_normal(n))


def _drifting(rng: Rng, n: int) -> np.ndarray:
    """An autocorrelation of 0.5 from run to run, and twice the scatter of launches."""
    return 1.0 + 2.0 * (autocorrelated(rng, n, 0.5) / 100.0 - 1.0)


def _pair(rng: Rng, draw: Draw, states: States, others: int, slower: float = 1.0) -> SidePair:
    """Speeds of the last two of successive runs of a machine; the other runs show its scatter."""
    runs = [level / draw(rng, LAUNCHES) for level in states(rng, others + 2)]
    return SidePair(
        runs[-2],
        runs[-1] / slower,
        separate=True,
        scatter=run_scatter([runs[:-2]]) if others else None,
    )


def _differ(found: Iterable[PairDecision]) -> bool:
    return any(each.verdict in ("faster", "slower") for each in found)


def _called_different(
    table: Table,
    planted: str,
    cells: int,
    others: int,
    draw: Draw,
    states: States,
    most: float = 0.05,
    share: float = SHARE,
) -> Rate:
    def differ(rng: Rng) -> bool:
        return _differ(decide([_pair(rng, draw, states, others) for _ in range(cells)], MARGIN))

    known = f"{others} other runs" if others else "no other runs"
    return table.rate(
        "a cell is called different",
        f"two equal runs, {known}, cells: {cells}, launches: {LAUNCHES}, {planted}",
        most,
        "false alarm",
        differ,
        share,
    )


def _equal(table: Table) -> Iterator[Rate]:
    """Without other runs: runs are equal, or scatter as much as launches, as assay assumes."""
    draws: dict[str, Draw] = {
        **DRAWS,
        "long tail": long_tail,
        "two modes": two_modes,
        "AR(1) 0.3": lambda rng, n: autocorrelated(rng, n, 0.3),
        "AR(1) 0.7": lambda rng, n: autocorrelated(rng, n, 0.7),
    }
    for name, draw in draws.items():
        share = 1.0 if name == "normal" else SHARE
        yield _called_different(table, f"{name}, runs alike", CELLS, 0, draw, _alike, share=share)
    for cells in (1, 3, CELLS):
        yield _called_different(
            table, "AR(1) 0.3, runs alike", cells, 0, draws["AR(1) 0.3"], _alike
        )
        yield _called_different(
            table, "runs scatter as launches do", cells, 0, normal, _normal(1.0)
        )


def _equal_beside_others(table: Table) -> Iterator[Rate]:
    """Runs that scatter more than launches; other runs show by how much."""
    launches = _normal(1.0)
    states = {
        "runs alike": _alike,
        "runs scatter as launches do": launches,
        "runs scatter three times as much as launches": _normal(3.0),
        "one run in five is late": _skewed,
        "runs drift, AR(1) 0.5": _drifting,
    }
    for name, of_runs in states.items():
        for others in (5, 20):
            # Of five runs none is late in a third of the cases, and Student's t then errs.
            most = 0.25 if of_runs is _skewed and others == 5 else 0.05
            share = 1.0 if others == 20 and of_runs in (_alike, launches) else SHARE
            yield _called_different(
                table, f"normal, {name}", CELLS, others, normal, of_runs, most, share
            )
    yield _called_different(table, "t3, runs alike", CELLS, 8, DRAWS["t3"], _alike)
    yield _called_different(
        table, "two modes, runs scatter as launches do", CELLS, 8, two_modes, _normal(1.0)
    )


def _slower(table: Table) -> Iterator[Rate]:
    """One cell takes 3% longer; launches scatter by 1%, and runs do not differ."""

    def quieter(rng: Rng, n: int) -> np.ndarray:
        return 100.0 + (normal(rng, n) - 100.0) / 2.0

    def first(rng: Rng, cells: int, others: int, slower: float) -> PairDecision:
        pairs = [_pair(rng, quieter, _alike, others, slower)]
        pairs += [_pair(rng, quieter, _alike, others) for _ in range(cells - 1)]
        return decide(pairs, MARGIN)[0]

    for cells, others, slower, stated in (
        (1, 6, 0.03, 0.80),
        (1, 10, 0.03, 0.90),
        (CELLS, 10, 0.03, 0.60),
        (CELLS, 20, 0.03, 0.80),
        (1, 0, 0.03, 0.30),
        (1, 0, 0.06, 0.90),
        (CELLS, 0, 0.10, 0.95),
    ):

        def found(
            rng: Rng, cells: int = cells, others: int = others, slower: float = slower
        ) -> bool:
            return first(rng, cells, others, 1.0 + slower).verdict == "slower"

        yield table.rate(
            "the slower cell is called slower",
            f"{slower:.0%}, CoV 1%, {LAUNCHES} launches, {cells} cells, {others} other runs",
            stated,
            "detection",
            found,
            SHARE if cells > 1 else 1.0,
        )
    for cells in (1, CELLS):

        def said(rng: Rng, cells: int = cells) -> bool:
            each = first(rng, cells, 0, 1.03)
            return each.verdict == "slower" or each.runs is not None

        yield table.rate(
            "it is called slower, or the note says how many runs per side it takes",
            f"3%, CoV 1%, {LAUNCHES} launches, {cells} cells, no other runs",
            0.95,
            "detection",
            said,
            SHARE if cells > 1 else 1.0,
        )

    def decided(rng: Rng) -> bool:
        """By sessions: each side has the proposed number."""
        number = first(rng, CELLS, 0, 1.03).runs or 0
        if number < 3:
            return False
        medians = [
            np.array([float(np.median(1.0 / quieter(rng, LAUNCHES))) for _ in range(number)])
            for _ in range(2 * CELLS)
        ]
        medians[1] /= 1.03
        pairs = [
            SidePair(one, other, unit="sessions")
            for one, other in zip(medians[::2], medians[1::2], strict=True)
        ]
        return decide(pairs, MARGIN)[0].verdict == "slower"

    yield table.rate(
        "the proposed number of runs per side decides it",
        f"3%, CoV 1%, {LAUNCHES} launches, {CELLS} cells, no other runs",
        0.80,
        "detection",
        decided,
        SHARE,
    )


def _unequal(table: Table) -> Iterator[Rate]:
    """A cell whose true ratio is slightly outside of the margin."""
    for name, draw in DRAWS.items():
        for by, others in ((0.0, 0), (1.0, 0), (1.0, 12)):

            def same(rng: Rng, draw: Draw = draw, by: float = by, others: int = others) -> bool:
                # A tenth of the scatter, so that the interval can lie within the margin.
                def calm(rng: Rng, n: int) -> np.ndarray:
                    return 100.0 + (draw(rng, n) - 100.0) / 10.0

                pair = _pair(rng, calm, _normal(by / 10.0), others, 1.0101)
                return decide([pair], MARGIN)[0].verdict == "same"

            runs = "scatter as launches do" if by else "are alike"
            yield table.rate(
                "a cell is called the same",
                f"it differs by 1.01%, CoV 0.2%, {name}, runs {runs}, {others} other runs",
                0.05,
                "false alarm",
                same,
            )

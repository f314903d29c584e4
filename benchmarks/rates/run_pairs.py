"""Two runs of one machine compared: equal ones called different, and a slower one found.

``_claims`` and ``_story`` ask for whole answers, with their confidence, as `assay compare` gives
them beside the other runs of a folder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from draws import COV, DRAWS, Draw, Rng, Table, autocorrelated, long_tail, normal, two_modes
from rate import Rate

from assay.questions.common.answer import Confidence
from assay.questions.common.question import Measured
from assay.questions.steadiness.variation.findings import find as variation
from assay.stats.changes.scan import FIRST
from assay.stats.compare.chosen import chosen_interval
from assay.stats.compare.group_tests import LEVEL
from assay.stats.compare.run_scatter import run_difference, run_scatter
from assay.stats.compare.verdicts import PairDecision, SidePair, decide
from assay.stats.core.intervals import Estimate
from assay.stats.core.multiple import corrected
from assay.subjects.compare.answer import answer
from assay.subjects.compare.model import CompareFindings
from planted_runs import compare_planted, planted_courses, planted_side, planted_times

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
    yield from _claims(table)
    yield from _extreme(table)
    yield from _story(table)


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
        for others in (5, 10, 20):
            if others == 10 and of_runs is not _skewed:
                continue
            # Of five runs none is late in a third of the cases, and of ten in a tenth; Student's t
            # then errs.
            most = {5: 0.25, 10: 0.15, 20: 0.05}[others] if of_runs is _skewed else 0.05
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
        (1, 10, 0.02, 0.55),
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


def _claims(table: Table) -> Iterator[Rate]:
    """Two equal runs whose states scatter this many times as much as their launches.

    They are the first and the last of the runs, so that a change which the history of equal runs
    finds by mistake lies between them.
    """
    for ratio in (1.0, 1.5, 2.0, 3.0):
        scatter = f"runs scatter {ratio:g} times as launches"
        # Low confidence: no rate is stated for it, and these are the rates found.
        low = {1.0: 0.10, 1.5: 0.40, 2.0: 0.65, 3.0: 0.97}[ratio]
        answers = [
            _compared(np.random.default_rng((table.seed, int(10 * ratio), trial)), ratio)
            for trial in range(max(int(SHARE * table.trials), 1))
        ]
        planted = f"two equal runs of {CELLS} cells, {scatter}, no other runs"
        different = sum(differ for differ, _ in answers)
        yield Rate(
            "called different in these two runs, with low confidence",
            planted, different, len(answers), low, "false alarm",
        )  # fmt: skip
        claims = sum(confidence != "low" for _, confidence in answers)
        yield Rate(
            "a claim with medium or high confidence",
            planted, claims, len(answers), 0.0, "false alarm",
        )  # fmt: skip
        for cells, others, share in (
            (CELLS, 4, 2.0),
            (CELLS, 10, 1.0),
            (60, 4, 1.0),
            (60, 10, 0.5),
        ):

            def differ(
                rng: Rng, cells: int = cells, others: int = others, ratio: float = ratio
            ) -> bool:
                return _called(rng, (others + 2, cells, LAUNCHES), ratio)

            yield table.rate(
                "called different, with medium or high confidence",
                f"two equal runs of {cells} cells, {scatter}, {others} other runs",
                0.05,
                "false alarm",
                differ,
                share,
            )


def _compared(rng: Rng, ratio: float) -> tuple[bool, Confidence | None]:
    """Whether the answer on two runs has a difference, and its confidence."""
    times = planted_times(rng, (2, CELLS, LAUNCHES), between=ratio * COV, within=COV)
    found = compare_planted(times, 0, 1)
    return _differ_in(found), answer(found).confidence


def _called(rng: Rng, shape: tuple[int, int, int], ratio: float) -> bool:
    """Whether the first and the last run are called different, beside the runs in between.

    Differences of launches and of runs must both be significant. Launches are compared only where
    runs differ, or where the history of these runs has a change.
    """
    times = planted_times(rng, shape, between=ratio * COV, within=COV)
    changed = shape[0] > FIRST and any(
        course.changes.changes for course in planted_courses(times).values()
    )
    if not changed and min(corrected([_p_of_runs(of_cell) for of_cell in times.swapaxes(0, 1)])) > (
        LEVEL
    ):
        return False
    return _differ_in(compare_planted(times, 0, shape[0] - 1))


def _p_of_runs(times: np.ndarray) -> float:
    """p of the difference of the first and the last run, by the runs between them."""
    half = times.shape[0] // 2
    near = [list(times[1:half]), list(times[half:-1])]
    scatter = run_scatter(near) or run_scatter([list(times[1:-1])])
    found = run_difference(times[0], times[-1], scatter)
    assert found is not None
    return found.p


def _differ_in(found: CompareFindings) -> bool:
    return any(cell.verdict in ("faster", "slower") for cell in found.cells)


def _extreme(table: Table) -> Iterator[Rate]:
    """The cell that the sentence names, of cells that are all 5% slower in the last run."""
    true = 1.0 / 1.05
    for cells in (CELLS, 30):

        def covered(rng: Rng, cells: int = cells) -> bool:
            times = planted_times(rng, (14, cells, LAUNCHES), between=0.005, within=0.005)
            times[-1] *= 1.05
            speeds = [
                Estimate(cell.speed or 1.0, cell.speed_ci95)
                for cell in compare_planted(times, 12, 13).cells
                if cell.speed
            ]
            extreme = max(range(len(speeds)), key=lambda place: abs(math.log(speeds[place].value)))
            low, high = chosen_interval(speeds, extreme)[0] or (0.0, math.inf)
            return low <= true <= high

        yield table.rate(
            "the interval of the cell that differs most holds its ratio",
            f"{cells} cells, all 5% slower, CoV 0.5% of runs and of launches, 12 other runs",
            0.93,
            "coverage",
            covered,
            0.3 if cells == CELLS else 0.1,
        )


def _story(table: Table) -> Iterator[Rate]:
    """Fourteen runs of a cell that takes 15% longer from the ninth on."""
    for between in (0.01, 0.02):

        def alike(rng: Rng, between: float = between) -> bool:
            times = planted_times(rng, (14, 1, LAUNCHES), between=between, within=0.01)
            times[8:] *= 1.15
            courses = planted_courses(times)
            (course,) = courses.values()
            steps = [change for change in course.changes.changes if change.kind == "step"]
            (cell,) = compare_planted(times, 0, 13).cells
            runs = [planted_side(times, number).run for number in range(3, 14)]
            measured = Measured(runs[-1], [], runs[:-1], courses=courses)
            (varied,) = variation(measured).varied
            changes = varied.shape.changes
            return (
                len(steps) == 1
                and cell.verdict == "slower"
                and cell.holds_for == "machines"
                and len(changes) == 1
                and changes[0].direction == "more"
                and math.isclose(changes[0].size, steps[0].size)
                and not varied.shape.modes
            )

        yield table.rate(
            "history, compare and steadiness report the same step",
            f"15% from the ninth of 14 runs on, CoV {between:.0%} of runs, 1% of launches",
            0.95,
            "detection",
            alike,
        )

        def modes(rng: Rng, between: float = between) -> bool:
            times = planted_times(rng, (14, 1, LAUNCHES), between=between, within=0.01)
            times[8:] *= 1.15
            runs = [planted_side(times, number).run for number in range(3, 14)]
            measured = Measured(runs[-1], [], runs[:-1], courses=planted_courses(times))
            return bool(variation(measured).varied[0].shape.modes)

        yield table.rate(
            "steadiness calls the step modes",
            f"15% from the ninth of 14 runs on, CoV {between:.0%} of runs, 1% of launches",
            0.01,
            "false alarm",
            modes,
        )
